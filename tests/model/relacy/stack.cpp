/* The stack of submissions and of requests that come home (core/os/stack.h).
 * CLAIM  What is pushed is taken once, with all that its thread wrote before,
 * and oldest first within a thread.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"


//@ core/os/stack.h: wf_stack_link{next} wf_stack wf_stack_push
//@ core/os/stack.h: wf_stack_has_items
//@ core/os/stack.h: wf_stack_reverse wf_stack_take_all

enum { PUSHERS = 2, EACH = 2 };

struct item {
    struct wf_stack_link link; /* first */
    plain<int> value;
};

struct stack_holds : rl::test_suite<stack_holds, PUSHERS + 1> {
    struct wf_stack stack;
    struct item items[PUSHERS][EACH];
    int last[PUSHERS], taken;

    void take()
    {
        struct wf_stack_link *next, *l = wf_stack_take_all(&stack);

        for (l = wf_stack_reverse(l); l; l = next, taken++) {
            int value = ((struct item *)l)->value;
            next = l->next;
            RL_ASSERT(value > last[value / 8]);
            last[value / 8] = value;
            ((struct item *)l)->value = 0; /* it may be used again */
        }
    }

    void before()
    {
        taken = 0;
        for (int i = 0; i < PUSHERS; i++)
            last[i] = 0;
    }

    void thread(unsigned me)
    {
        if (me == PUSHERS) {
            take();
            take();
            return;
        }
        for (int i = 0; i < EACH; i++) {
            items[me][i].value = 8 * me + i + 1;
            wf_stack_push(&stack, &items[me][i].link);
        }
    }

    void after()
    {
        take();
        RL_ASSERT(taken == PUSHERS * EACH);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<stack_holds>();
}

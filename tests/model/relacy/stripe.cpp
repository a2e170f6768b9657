/* Stripes of window memory (core/rma/stripe.h): short locks by which wide
 * elements are changed, one of which has an owner that is gone.
 * CLAIM  Nobody reads half of an element, no change is lost, and the stripe of
 * the dead is taken over once.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { MEMBERS = 3, DEAD = 9 };
enum { WF_RMA_STRIPE_SPINS = 1, WF_RMA_STRIPE_YIELDS = 1 };
#define sched_yield() rl::yield(1, $)

//@ core/rma/header.h: wf_rma_stripe
//@ core/rma/stripe.h: wf_rma_domain
//@ core/rma/stripe.h: wf_rma_stripe_recover wf_rma_stripe_wait
//@ core/rma/stripe.h: wf_rma_stripe_enter wf_rma_stripe_leave

static bool is_gone(void *, uint32_t member) { return member == DEAD; }

template <bool OWNED>
struct stripe_holds : rl::test_suite<stripe_holds<OWNED>, MEMBERS> {
    struct wf_rma_stripe stripe;
    plain<int> half[2];

    void before()
    {
        half[0] = half[1] = 0;
        stripe.owner.store(OWNED ? DEAD + 1 : 0, rl::mo_relaxed, $);
    }

    void thread(unsigned me)
    {
        struct wf_rma_domain d = {};

        d.me = me + 1;
        d.is_dead = is_gone;
        for (int i = 0; i < 2; i++) {
            wf_rma_stripe_enter(&stripe, &d);
            RL_ASSERT(half[0] == half[1]);
            half[0] = half[0] + 1;
            half[1] = half[1] + 1;
            wf_rma_stripe_leave(&stripe);
        }
    }

    void after() { RL_ASSERT(half[0] == 2 * MEMBERS); }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !(does_hold<stripe_holds<false>>() &&
             does_hold<stripe_holds<true>>());
}

/* The end of a bias (core/os/mutex.h), in every order that two processors with
 * store buffers can give it: an owner that enters and leaves a few times, and
 * one revoker that sleeps.
 *
 * This is a model, not the code: one step for each load, store and call. A
 * store waits in its thread's buffer until any later step takes it to memory; a
 * load sees the thread's own buffer first. membarrier empties the caller's
 * buffer, then the owner's. Each premise of the proof is taken away in turn,
 * and then the search must find a failure.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OWNER, INSIDE, VARIABLES };  /* memory */
enum { ENTRIES = 3, BUFFER = 2 * ENTRIES, STATES = 1 << 14 };
enum flaw { NONE, NO_MEMBARRIER, NO_WAKE, NO_SECOND_LOOK, NO_COMPARE };

enum owner_pc { O_LOOK, O_STORE, O_TEST, O_IN, O_LEFT, O_BACK, O_WAKE, O_END };
enum revoker_pc { R_CLAIM, R_BARRIER, R_AWAIT, R_LOOK, R_SLEEP, R_ASLEEP, R_IN,
                  R_END };

struct buffer {
    uint8_t n, var[BUFFER], val[BUFFER];
};

/* No padding: compared as bytes. */
struct state {
    uint8_t memory[VARIABLES], owner, revoker, entries;
    struct buffer ob, rb;
};

static struct state todo[STATES], seen[STATES];
static int todo_n, seen_n;
static bool both_in, lost;

static void reach_peer(const struct state *s)
{
    for (int i = 0; i < seen_n; i++)
        if (memcmp(&seen[i], s, sizeof *s) == 0)
            return;
    assert_true(seen_n < STATES);
    seen[seen_n++] = todo[todo_n++] = *s;
}

static void store_item(struct buffer *b, int var, int val)
{
    assert_true(b->n < BUFFER);
    b->var[b->n] = (uint8_t)var;
    b->val[b->n++] = (uint8_t)val;
}

static void drain_one(struct state *s, struct buffer *b)
{
    s->memory[b->var[0]] = b->val[0];
    b->n--;
    memmove(b->var, b->var + 1, BUFFER - 1);
    memmove(b->val, b->val + 1, BUFFER - 1);
    b->var[BUFFER - 1] = b->val[BUFFER - 1] = 0;
    if (b->n < BUFFER)
        b->var[b->n] = b->val[b->n] = 0;
}

static void drain_events(struct state *s, struct buffer *b)
{
    while (b->n)
        drain_one(s, b);
}

static int load_file(const struct state *s, const struct buffer *b, int var)
{
    for (int i = b->n; i-- > 0;)
        if (b->var[i] == var)
            return b->val[i];
    return s->memory[var];
}

static void step_owner(struct state s, enum flaw flaw)
{
    bool mine = load_file(&s, &s.ob, OWNER);

    switch (s.owner) {
    case O_LOOK:
        s.owner = mine && s.entries < ENTRIES ? O_STORE : O_END;
        break;
    case O_STORE:
        store_item(&s.ob, INSIDE, 1);
        s.entries++;
        s.owner = flaw == NO_SECOND_LOOK ? O_IN : O_TEST;
        break;
    case O_TEST:
        s.owner = mine ? O_IN : O_BACK;
        break;
    case O_IN:
        store_item(&s.ob, INSIDE, 0);
        s.owner = O_LEFT;
        break;
    case O_LEFT:
        s.owner = mine ? O_LOOK : O_WAKE;
        break;
    case O_BACK:
        store_item(&s.ob, INSIDE, 0);
        s.owner = O_WAKE;
        break;
    case O_WAKE:
        drain_events(&s, &s.ob); /* the kernel's own barrier */
        if (s.revoker == R_ASLEEP && flaw != NO_WAKE)
            s.revoker = R_LOOK;
        s.owner = O_LOOK;
        break;
    default:
        return;
    }
    reach_peer(&s);
}

static void step_revoker(struct state s, enum flaw flaw)
{
    switch (s.revoker) {
    case R_CLAIM:
        store_item(&s.rb, OWNER, 0);
        s.revoker = flaw == NO_MEMBARRIER ? R_LOOK : R_BARRIER;
        break;
    case R_BARRIER:
        drain_events(&s, &s.rb);
        s.revoker = R_AWAIT;
        break;
    case R_AWAIT: /* the owner's processor has heard of it */
        drain_events(&s, &s.ob);
        s.revoker = R_LOOK;
        break;
    case R_LOOK:
        s.revoker = load_file(&s, &s.rb, INSIDE) ? R_SLEEP : R_IN;
        break;
    case R_SLEEP:
        drain_events(&s, &s.rb);
        s.revoker = s.memory[INSIDE] || flaw == NO_COMPARE ? R_ASLEEP : R_LOOK;
        break;
    case R_IN:
        s.revoker = R_END;
        break;
    default:
        return;
    }
    reach_peer(&s);
}

static void judge_carrier(const struct state *s)
{
    both_in = both_in || (s->owner == O_IN && s->revoker == R_IN);
    lost = lost || (s->owner == O_END && s->revoker == R_ASLEEP);
}

static void search_states(enum flaw flaw)
{
    struct state first = {.memory = {[OWNER] = 1}};

    todo_n = seen_n = 0;
    both_in = lost = false;
    reach_peer(&first);
    while (todo_n) {
        struct state s = todo[--todo_n], t = s;
        judge_carrier(&s);
        step_owner(s, flaw);
        step_revoker(s, flaw);
        if (s.ob.n) {
            drain_one(&t, &t.ob);
            reach_peer(&t);
        }
        t = s;
        if (s.rb.n) {
            drain_one(&t, &t.rb);
            reach_peer(&t);
        }
    }
}

static void test_the_protocol_is_safe(void **state)
{
    (void)state;
    search_states(NONE);
    assert_in_range(seen_n, 100, STATES);
    assert_false(both_in);
    assert_false(lost);
}

static void test_each_premise_is_needed(void **state)
{
    (void)state;
    search_states(NO_MEMBARRIER);
    assert_true(both_in);
    search_states(NO_SECOND_LOOK);
    assert_true(both_in);
    search_states(NO_WAKE);
    assert_true(lost);
    search_states(NO_COMPARE);
    assert_true(lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_protocol_is_safe),
        cmocka_unit_test(test_each_premise_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

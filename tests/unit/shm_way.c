/* plugins/shm: which way large payloads are copied.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_fake.h"

#include "plugins/shm/shm.h"

enum { MB = 1 << 20 };

static struct shm_line line;
static struct shm_in in;
static uint64_t now = 1;

static void begin(void)
{
    in = (struct shm_in){.line = &line};
    wf_shm_way_start(&in);
}

static enum shm_way told(void)
{
    return atomic_load_explicit(&line.way, memory_order_relaxed);
}

/* A message of a MB after a while, whose sender has heard; whether it was
 * timed. */
static bool message_after(uint64_t gap, const uint64_t ns[SHM_WAYS])
{
    bool timed = wf_shm_way_tried(&in, MB);
    uint64_t since = now += gap;
    in.choice.theirs = told();
    now += ns[told()];
    if (timed)
        wf_shm_way_timed(&in, MB, since, now);
    return timed;
}

static bool message(const uint64_t ns[SHM_WAYS])
{
    return message_after(1000000000, ns);
}

/* Messages until one is timed, then until one is not. */
static int rest(const uint64_t ns[SHM_WAYS])
{
    int n = 0;
    while (!message(ns))
        n++;
    return n;
}

static int trial(const uint64_t ns[SHM_WAYS])
{
    int n = 1; /* the one that rest() has seen */
    while (message(ns))
        n++;
    return n;
}

/* Nanoseconds by memcpy and by the loop. */
static void the_faster_way_stays(void **state)
{
    const uint64_t loop[] = {30000, 20000}, copy[] = {20000, 30000};
    (void)state;
    begin();
    assert_int_equal(told(), SHM_BY_MEMCPY);
    rest(loop);
    trial(loop);
    assert_int_equal(told(), SHM_BY_LOOP);
    rest(copy);
    trial(copy);
    assert_int_equal(told(), SHM_BY_MEMCPY);
}

static void the_loop_has_to_be_clearly_faster(void **state)
{
    const uint64_t ns[] = {20000, 19000};
    (void)state;
    begin();
    rest(ns);
    trial(ns);
    assert_int_equal(told(), SHM_BY_MEMCPY);
}

static void a_trial_is_short_beside_what_follows(void **state)
{
    const uint64_t ns[] = {20000, 25000};
    (void)state;
    begin();
    rest(ns);
    int tried = trial(ns);
    assert_true(tried >= 12 && tried <= 20);
    assert_true(rest(ns) >= 12 * tried);
}

/* Where each line takes a quarter of a microsecond, the loop takes three times
 * as long: it gets no second turn, and no whole first one. */
static void a_hopeless_way_is_not_tried_to_the_end(void **state)
{
    const uint64_t ns[] = {20000, 90000};
    (void)state;
    begin();
    rest(ns);
    assert_true(trial(ns) <= 4 + 2 + 1);
    assert_int_equal(told(), SHM_BY_MEMCPY);
    assert_true(rest(ns) >= 200);
}

/* A message that was interrupted costs its way one turn of two. */
static void one_pause_does_not_decide(void **state)
{
    const uint64_t ns[] = {20000, 30000}, paused[] = {5000000, 30000};
    (void)state;
    begin();
    while (!wf_shm_way_tried(&in, MB))
        continue;
    assert_int_equal(told(), SHM_BY_MEMCPY);
    message(paused);
    trial(ns);
    assert_int_equal(told(), SHM_BY_MEMCPY);
}

static void what_went_the_former_way_is_not_counted(void **state)
{
    const uint64_t ns[] = {20000, 30000};
    (void)state;
    begin();
    rest(ns);
    while (told() == SHM_BY_MEMCPY)
        message(ns);
    for (int i = 0; i < 100; i++) { /* the sender has not heard */
        assert_true(wf_shm_way_tried(&in, MB));
        in.choice.theirs = SHM_BY_MEMCPY;
        wf_shm_way_timed(&in, MB, now, now + 1);
        now += 1000;
    }
    assert_int_equal(told(), SHM_BY_LOOP);
    trial(ns);
    assert_int_equal(told(), SHM_BY_MEMCPY);
}

/* The receiver has its part sooner, but then waits for the sender. */
static void in_a_stream_the_gaps_count(void **state)
{
    const uint64_t ns[] = {20000, 15000}, gap[] = {1000, 10000};
    (void)state;
    begin();
    rest(ns);
    while (message_after(gap[told()], ns))
        continue;
    assert_int_equal(told(), SHM_BY_MEMCPY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_stays),
        cmocka_unit_test(the_loop_has_to_be_clearly_faster),
        cmocka_unit_test(a_trial_is_short_beside_what_follows),
        cmocka_unit_test(a_hopeless_way_is_not_tried_to_the_end),
        cmocka_unit_test(one_pause_does_not_decide),
        cmocka_unit_test(what_went_the_former_way_is_not_counted),
        cmocka_unit_test(in_a_stream_the_gaps_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

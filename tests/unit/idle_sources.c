/* Idle sources: a waiter that several sources can serve asks rarely for those
 * that take long to poll and have had no news (core/progress/idle_sources.c).
 *
 * The clock is the test's: a look at it and each poll take their time, and
 * nothing else does. "fast" is polled in no time, the others as long as a
 * system call takes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "config/config.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/wait.h"

enum {
    CLOCK_NS = 20, FAST_NS = 10, SLOW_NS = 600, ASK_NS = 300, US = 1000,
    SLOWS = 4, SOURCES = SLOWS + 1, /* number 0 is the fast one */
    ROUNDS = 10000, FEW = 4,
    MOST_NS = WF_OTHERS_APART_MOST_NS
};

struct thing {
    struct wf_event_source source;
    unsigned takes; /* ns for a poll */
    int polls, arms;
    uint64_t came;  /* news came then; 0: there is none */
    uint64_t found; /* when the last news was found */
    uint64_t arrivals;
    uint64_t deadline; /* that arm() names */
    bool refuses;      /* to be armed */
};

static struct thing things[SOURCES];
static struct thing *const fast = &things[0], *const slow = &things[1];
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_core_options options;
static uint64_t now;

static uint64_t clock_now(void *clock)
{
    return now += CLOCK_NS;
}

static struct thing *thing_of(wf_source_object *object)
{
    return (struct thing *)object;
}

static int poll_thing(wf_source_object *object, int budget)
{
    struct thing *t = thing_of(object);
    uint64_t count;

    now += t->takes;
    t->polls++;
    if (!t->came || now < t->came)
        return 0;
    if (t->source.fd >= 0)
        (void)!read(t->source.fd, &count, sizeof count);
    t->came = 0;
    t->refuses = false;
    t->found = now;
    t->arrivals++;
    return 1;
}

static int arm_thing(wf_source_object *object, uint64_t *deadline)
{
    struct thing *t = thing_of(object);

    now += ASK_NS / SLOWS;
    t->arms++;
    *deadline = t->deadline;
    return t->refuses ? WEFT_EAGAIN : WEFT_OK;
}

static void add_thing(int i, unsigned takes, bool has_descriptor)
{
    struct thing *t = &things[i];

    *t = (struct thing){.takes = takes};
    t->source.name = "thing";
    t->source.object = (wf_source_object *)t;
    t->source.poll = poll_thing;
    t->source.blind = !has_descriptor;
    t->source.fd =
        has_descriptor ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
    if (has_descriptor)
        t->source.arm = arm_thing;
    assert_int_equal(wf_source_add(&wf, &t->source, i), 0);
    wf_source_count_arrivals(&wf, &t->source, &t->arrivals);
}

static void open_rig(int slows, bool have_descriptors)
{
    wf_rank = (struct wf_rank){.home = &wf, .options = &options,
                               .cpus = 2, .own_cpus = 2};
    options.spin = WF_AUTO;
    wf = (struct wf_instance){.rank = &wf_rank, .now_ns = clock_now};
    now = 1000 * MOST_NS;
    memset(things, 0, sizeof things);
    assert_int_equal(wf_progress_init(&wf), 0);
    add_thing(0, FAST_NS, true);
    for (int i = 1; i <= slows; i++)
        add_thing(i, SLOW_NS, have_descriptors);
}

static void close_rig(void)
{
    for (int i = 0; i < SOURCES; i++) {
        wf_source_remove(&wf, &things[i].source);
        if (things[i].source.poll && things[i].source.fd >= 0)
            close(things[i].source.fd);
    }
    wf_progress_fini(&wf);
}

static void let_come(struct thing *t)
{
    t->came = now;
    if (t->source.fd >= 0) {
        uint64_t one = 1;
        assert_int_equal(write(t->source.fd, &one, sizeof one), sizeof one);
    }
}

static void poll_all(void)
{
    wf_progress_poll_asked(&wf, WF_SOURCES_ENDPOINTS, WF_IDLE_ROUNDS, true);
}

/* Rounds without news, or with news of the fast source in each. */
static void poll_times(int rounds, bool fast_is_busy)
{
    for (int i = 0; i < rounds; i++) {
        if (fast_is_busy)
            fast->came = now;
        poll_all();
    }
}

static void forget_counts(void)
{
    for (int i = 0; i < SOURCES; i++)
        things[i].polls = things[i].arms = 0;
}

/* ns until news of the source is found. */
static uint64_t wait_for(struct thing *t)
{
    uint64_t start = now;

    let_come(t);
    while (t->came) {
        poll_all();
        assert_true(now - start < 100 * MOST_NS);
    }
    return t->found - start;
}

/* ---- what idle sources cost ---------------------------------------------- */

static void idle_sources_are_hardly_ever_asked(void **state)
{
    open_rig(SLOWS, true);
    for (int busy = 0; busy <= 1; busy++) {
        poll_times(ROUNDS, busy);
        forget_counts();
        poll_times(ROUNDS, busy);
        assert_true(fast->polls >= ROUNDS);
        for (int i = 1; i <= SLOWS; i++)
            assert_true(things[i].polls + things[i].arms < ROUNDS / 100);
    }
    close_rig();
}

/* As many looks at the kernel, whatever the number of idle sources. */
static void one_look_is_for_all_idle_sources(void **state)
{
    int looks[SLOWS + 1];

    for (int n = 1; n <= SLOWS; n += SLOWS - 1) {
        open_rig(n, true);
        poll_times(ROUNDS, true);
        forget_counts();
        poll_times(ROUNDS, true);
        looks[n] = slow->arms;
        for (int i = 1; i <= n; i++) {
            assert_int_equal(things[i].arms, slow->arms);
            assert_in_range(things[i].polls, 0, ROUNDS / 1024 + 1);
        }
        close_rig();
    }
    assert_true(looks[SLOWS] > 0);
    assert_true(looks[SLOWS] <= looks[1]);
}

/* A named receive: the others cannot complete it, but want to be polled. */
static void so_it_is_for_a_waiter_that_only_one_can_serve(void **state)
{
    open_rig(SLOWS, true);
    for (int pass = 0; pass < 2; pass++) {
        forget_counts();
        for (int i = 0; i < 100 * ROUNDS; i++)
            wf_progress_poll_asked(&wf, 1, WF_IDLE_ROUNDS, true);
    }
    assert_true(slow->arms > 0);
    assert_int_equal(things[SLOWS].arms, slow->arms);
    assert_int_equal(slow->polls, 0);
    close_rig();
}

static void a_source_that_cannot_be_armed_is_polled_rarely(void **state)
{
    open_rig(1, false);
    poll_times(ROUNDS, true);
    forget_counts();
    poll_times(ROUNDS, true);
    assert_in_range(slow->polls, 1, ROUNDS / 50);
    assert_true(wait_for(slow) < MOST_NS + WF_IDLE_ROUNDS * US);
    close_rig();
}

/* ---- how soon their news is found ---------------------------------------- */

/* The pause grows with the time since the last news: whoever waits for an
 * answer waits an eighth longer, and as long as some rounds and polls take. */
static void news_waits_for_a_part_of_the_time_it_took(void **state)
{
    static const unsigned after[] = {2, 7, 20, 50, 100, 1000, 10000};
    enum { SLACK = WF_IDLE_ROUNDS * (FAST_NS + CLOCK_NS) + 2 * SLOW_NS };

    open_rig(1, true);
    poll_times(ROUNDS, true);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        uint64_t took;
        wait_for(slow);
        while (now < slow->found + after[i] * US)
            poll_times(1, true);
        took = wait_for(slow);
        assert_true(took <= after[i] * US / WF_IDLE_PART + SLACK);
        assert_true(took <= WF_IDLE_COSTS * SLOW_NS + SLACK);
    }
    close_rig();
}

static void a_busy_fast_source_starves_none(void **state)
{
    open_rig(SLOWS, true);
    for (int i = 1; i <= SLOWS; i++) {
        poll_times(ROUNDS, true);
        let_come(&things[i]);
        for (uint64_t start = now; things[i].came;) {
            poll_times(1, true);
            assert_true(now - start < 2 * MOST_NS);
        }
    }
    close_rig();
}

static void a_busy_slow_source_starves_no_fast_one(void **state)
{
    open_rig(1, true);
    poll_times(ROUNDS, false);
    for (int i = 0; i < ROUNDS; i++) {
        int polls = fast->polls;
        slow->came = now;
        poll_all();
        assert_true(fast->polls > polls);
    }
    assert_true(wait_for(fast) < 2 * SLOW_NS + 10 * CLOCK_NS);
    close_rig();
}

static void the_source_that_had_news_last_is_always_polled(void **state)
{
    enum { SOME = 2 * WF_IDLE_ROUNDS };

    open_rig(SLOWS, true);
    poll_times(ROUNDS, true);
    poll_times(WF_IDLE_ROUNDS, false); /* then "fast" has had its news */
    wait_for(&things[2]);
    poll_times(WF_IDLE_ROUNDS, false);
    forget_counts();
    poll_times(ROUNDS, false);
    assert_true(things[2].polls >= ROUNDS);
    assert_true(slow->polls < ROUNDS / 50);
    wait_for(fast);
    poll_times(WF_IDLE_ROUNDS, false);
    forget_counts();
    poll_times(SOME, false);
    assert_true(things[2].polls <= SOME / WF_IDLE_ROUNDS);
    close_rig();
}

static void test_times(int times)
{
    for (int i = 0; i < times; i++)
        wf_progress_poll_for_test(&wf, WF_SOURCES_ENDPOINTS, NULL);
}

/* A program that tests in vain does not pay for it for ever. */
static void but_by_tests_only_until_it_has_long_been_idle(void **state)
{
    open_rig(SLOWS, true);
    wait_for(slow);
    test_times(ROUNDS);
    forget_counts();
    test_times(ROUNDS);
    assert_true(fast->polls >= ROUNDS);
    assert_true(slow->polls + slow->arms < ROUNDS / 100);
    close_rig();
}

/* A message that is taken past the poll, too. */
static void arrivals_are_news(void **state)
{
    open_rig(SLOWS, true);
    poll_times(ROUNDS, true);
    poll_times(WF_IDLE_ROUNDS, false); /* then "fast" has had its news */
    things[3].arrivals++;
    poll_times(WF_IDLE_ROUNDS, false);
    forget_counts();
    poll_times(WF_IDLE_ROUNDS, false);
    assert_true(things[3].polls >= WF_IDLE_ROUNDS);
    close_rig();
}

static void a_source_that_refuses_to_be_armed_is_polled(void **state)
{
    open_rig(SLOWS, true);
    poll_times(ROUNDS, true);
    slow->refuses = true;
    slow->came = now; /* no descriptor tells */
    for (uint64_t start = now; slow->came;) {
        poll_times(1, true);
        assert_true(now - start < 2 * MOST_NS);
    }
    close_rig();
}

static void an_armed_source_is_polled_when_its_time_comes(void **state)
{
    open_rig(SLOWS, true);
    poll_times(ROUNDS, true);
    slow->came = slow->deadline = now + 10 * MOST_NS;
    while (slow->came) {
        poll_times(1, true);
        assert_true(now < slow->deadline + 2 * MOST_NS);
    }
    assert_true(slow->found >= slow->deadline);
    close_rig();
}

/* A program that computes and asks now and then asks for all of them. */
static void a_test_after_a_pause_polls_or_asks(void **state)
{
    open_rig(SLOWS, true);
    test_times(ROUNDS);
    forget_counts();
    for (int i = 1; i <= 10; i++) {
        now += MOST_NS;
        let_come(&things[SLOWS]);
        wf_progress_poll_for_test(&wf, WF_SOURCES_ENDPOINTS, NULL);
        assert_true(!things[SLOWS].came);
        now += MOST_NS;
        let_come(&things[SLOWS]); /* which these tests do not ask for */
        for (int k = 0; k < FEW; k++)
            wf_progress_poll_for_test(&wf, 1, NULL);
        assert_true(!things[SLOWS].came);
    }
    close_rig();
}

/* Its bit may have been that of another. */
static void a_new_source_is_polled_as_if_there_had_been_none(void **state)
{
    open_rig(1, true);
    poll_times(ROUNDS, true);
    wf_source_remove(&wf, &slow->source);
    close(slow->source.fd);
    add_thing(1, FAST_NS, true);
    forget_counts();
    poll_times(ROUNDS, true);
    assert_true(slow->polls >= ROUNDS - WF_IDLE_ROUNDS);
    close_rig();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_sources_are_hardly_ever_asked),
        cmocka_unit_test(one_look_is_for_all_idle_sources),
        cmocka_unit_test(so_it_is_for_a_waiter_that_only_one_can_serve),
        cmocka_unit_test(a_source_that_cannot_be_armed_is_polled_rarely),
        cmocka_unit_test(news_waits_for_a_part_of_the_time_it_took),
        cmocka_unit_test(a_busy_fast_source_starves_none),
        cmocka_unit_test(a_busy_slow_source_starves_no_fast_one),
        cmocka_unit_test(the_source_that_had_news_last_is_always_polled),
        cmocka_unit_test(but_by_tests_only_until_it_has_long_been_idle),
        cmocka_unit_test(arrivals_are_news),
        cmocka_unit_test(a_source_that_refuses_to_be_armed_is_polled),
        cmocka_unit_test(an_armed_source_is_polled_when_its_time_comes),
        cmocka_unit_test(a_test_after_a_pause_polls_or_asks),
        cmocka_unit_test(a_new_source_is_polled_as_if_there_had_been_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

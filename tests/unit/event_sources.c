/* Event sources that are no endpoints: whatever has a descriptor, a word or a
 * time can be polled and slept on without the progress engine knowing what it
 * is (core/progress/source.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/config.h"
#include "os/tuning.h"
#include "progress/wait.h"
#include "wait_rig.h"

#include <limits.h>
#include <poll.h>

enum { ROUNDS = 4 * WF_OTHERS_EVERY, MANY = 20 };

/* A thing with news. LOCK  the API section, but the words. */
struct thing {
    struct wf_event_source source;
    int polls, arms, disarms;
    wf_atomic_u64 word;
    wf_atomic_u32 asked;  /* to announce the next change of the word */
    bool changes;         /* the word changes while it is armed */
    uint64_t deadline_in; /* ns from arm(): then something is there */
    uint64_t due;
    struct thing *removes; /* when it is polled */
    wf_atomic_u32 *flag;   /* set by its news */
};

static struct thing *thing_of(wf_source_object *object)
{
    return (struct thing *)object;
}

static bool drain_descriptor(struct thing *t)
{
    uint64_t count;

    return t->source.fd >= 0 &&
           read(t->source.fd, &count, sizeof count) == sizeof count;
}

static bool take_word(struct thing *t)
{
    uint64_t value = wf_load_acquire(&t->word);
    bool changed = value != t->source.seen;

    t->source.seen = value;
    return changed;
}

static int poll_thing(wf_source_object *object, int budget)
{
    struct thing *t = thing_of(object);
    bool news = drain_descriptor(t) | take_word(t);

    t->polls++;
    if (t->removes)
        wf_source_remove(&wf, &t->removes->source);
    if (t->due && wf_now(&wf) >= t->due)
        news = true;
    if (news && t->flag)
        set_flag(t->flag);
    return news;
}

static int arm_thing(wf_source_object *object, uint64_t *deadline)
{
    struct thing *t = thing_of(object);

    t->arms++;
    wf_store_release(&t->asked, 1);
    if (t->changes)
        wf_add_acq_rel(&t->word, 1);
    t->changes = false;
    if (t->deadline_in)
        *deadline = t->due = wf_now(&wf) + t->deadline_in;
    return WEFT_OK;
}

static void disarm_thing(wf_source_object *object)
{
    thing_of(object)->disarms++;
}

static void init_thing(struct thing *t, wf_atomic_u32 *flag)
{
    *t = (struct thing){.flag = flag,
                        .source = {.name = "thing",
                                   .object = (wf_source_object *)t,
                                   .poll = poll_thing,
                                   .arm = arm_thing,
                                   .disarm = disarm_thing,
                                   .fd = -1}};
}

static void add_thing(struct thing *t)
{
    assert_int_equal(wf_source_add(&wf, &t->source, WF_SOURCE_BIT_ANY), 0);
}

static void ring_source(const struct thing *t)
{
    uint64_t one = 1;

    assert_int_equal(write(t->source.fd, &one, sizeof one), sizeof one);
}

static void do_nothing(void *unused)
{
}

/* The writer of the word, which announces the change through an endpoint if it
 * was asked to. */
static void write_word(struct thing *t)
{
    wf_add_acq_rel(&t->word, 1);
    if (is_flagged(&t->asked))
        announce_arrival(&fabrics[0], do_nothing, NULL);
}

/* ---- waking -------------------------------------------------------------- */

static void a_descriptor_wakes_a_sleeper(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[0].done);
    t.source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    add_thing(&t);
    start_sleepers(1);
    assert_true(t.arms > 0 && t.source.state == WF_SOURCE_ARMED);
    ring_source(&t);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    close(t.source.fd);
    nothing_was_missed();
}

static void a_word_wakes_a_sleeper_by_what_announces_it(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[0].done);
    t.source.word = &t.word;
    add_thing(&t);
    start_sleepers(1);
    write_word(&t);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

/* Two threads, neither of which polls any more. */
static void a_word_wakes_the_follower_that_waits_for_it(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[1].done);
    t.source.word = &t.word;
    add_thing(&t);
    start_sleepers(2);
    write_word(&t);
    until_woken(1);
    set_flag(&sleepers[0].done);
    wf_progress_notify(&wf);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

/* The writer was asked and has announced something, which a thread received
 * that does not wait for the word: the writer must be asked again. */
static void a_word_is_armed_again_by_whoever_hears_its_writer(void **state)
{
    struct thing t;

    init_thing(&t, NULL);
    t.source.word = &t.word;
    add_thing(&t);
    start_sleepers(1);
    fabrics[0].blind = true; /* so that the leader learns nothing of it */
    announce_arrival(&fabrics[0], do_nothing, NULL);
    wf_store_release(&t.asked, 0);
    assert_int_equal(wf_progress_poll(&wf, 1), 1);
    fabrics[0].blind = false;
    assert_true(is_flagged(&t.asked));
    t.flag = &sleepers[0].done;
    write_word(&t);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

static void *sleep_through(void *mask)
{
    sleepers[0].mask = *(uint32_t *)mask;
    return sleep_until_flagged(&sleepers[0]);
}

/* It polls endpoint 0 only, so that only the look after arm() can tell. */
static void run_sleeper(void)
{
    uint32_t mask = 1;

    wf_cs_enter(&wf.api);
    assert_int_equal(
        pthread_create(&sleepers[0].thread, NULL, sleep_through, &mask), 0);
    until_woken(0);
}

static void a_word_that_changes_while_it_is_armed_keeps_awake(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[0].done);
    t.source.word = &t.word;
    t.changes = true;
    add_thing(&t);
    run_sleeper();
    assert_true(wf.progress->sleeps == 0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

static void the_time_that_a_source_wants_ends_the_sleep(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[0].done);
    t.deadline_in = 5000000;
    add_thing(&t);
    run_sleeper();
    assert_true(wf.progress->sleeps > 0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

static void a_time_far_away_is_a_long_sleep(void **state)
{
    struct thing t;
    int timeout = -1;

    init_thing(&t, NULL);
    t.deadline_in = UINT64_C(1) << 62;
    add_thing(&t);
    assert_true(wf_source_arm(&wf, &t.source, &timeout));
    assert_int_equal(timeout, INT_MAX);
    wf_source_remove(&wf, &t.source);
}

static void a_source_that_wakes_nobody_is_polled_meanwhile(void **state)
{
    struct thing t;

    init_thing(&t, &sleepers[0].done);
    t.source.blind = true;
    add_thing(&t);
    start_sleepers(1);
    wf_add_acq_rel(&t.word, 1);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

/* The leader sleeps on the bell alone, beside a thread that polls. */
static void a_word_is_armed_for_a_leader_on_its_bell(void **state)
{
    struct thing t;

    init_thing(&t, NULL);
    t.source.word = &t.word;
    add_thing(&t);
    wf.progress->prefers_bell = true;
    start_sleepers(1);
    assert_true(t.arms > 0);
    set_flag(&sleepers[0].done);
    wf_progress_notify(&wf);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    nothing_was_missed();
}

/* ---- registering and removing while others sleep ------------------------- */

static void a_source_that_comes_later_is_armed_for_the_sleeper(void **state)
{
    struct thing t;

    start_sleepers(1);
    init_thing(&t, &sleepers[0].done);
    t.source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    add_thing(&t);
    wf_progress_end_polling(&wf);
    assert_int_equal(t.arms, 1);
    ring_source(&t);
    until_woken(0);
    wf_source_remove(&wf, &t.source);
    close(t.source.fd);
    nothing_was_missed();
}

static void a_source_that_is_removed_wakes_nobody(void **state)
{
    struct pollfd asleep_on = {.fd = wf.progress->epoll, .events = POLLIN};
    struct thing t;

    init_thing(&t, NULL);
    t.source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    add_thing(&t);
    start_sleepers(1);
    wf_source_remove(&wf, &t.source);
    wf_source_remove(&wf, &t.source); /* it is already */
    assert_int_equal(t.disarms, 1);
    t.polls = t.arms = 0;
    ring_source(&t);
    assert_int_equal(poll(&asleep_on, 1, 0), 0);
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    until_woken(0);
    assert_true(wf.progress->sleeps == 1);
    assert_int_equal(t.polls + t.arms, 0);
    close(t.source.fd);
    nothing_was_missed();
}

static void what_was_never_armed_is_not_disarmed(void **state)
{
    struct thing t;

    init_thing(&t, NULL);
    add_thing(&t);
    wf_source_remove(&wf, &t.source);
    assert_int_equal(t.disarms, 0);
}

static void a_descriptor_that_cannot_be_slept_on_is_refused(void **state)
{
    struct thing t;

    init_thing(&t, NULL);
    t.source.fd = fabrics[0].fd; /* it is an endpoint's already */
    assert_int_equal(wf_source_add(&wf, &t.source, WF_SOURCE_BIT_ANY),
                     WEFT_ESYS);
    assert_int_equal(t.source.state, WF_SOURCE_REMOVED);
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(t.polls, 0);
}

/* ---- polling ------------------------------------------------------------- */

static void a_waiter_polls_the_source_of_its_choice_in_each_round(void **state)
{
    struct thing chosen, other;

    init_thing(&chosen, NULL);
    init_thing(&other, NULL);
    add_thing(&chosen);
    add_thing(&other);
    for (int i = 0; i < ROUNDS; i++)
        wf_progress_poll(&wf, wf_source_mask(&chosen.source));
    assert_int_equal(chosen.polls, ROUNDS);
    assert_in_range(other.polls, 1, ROUNDS / WF_OTHERS_EVERY);
    wf_progress_poll(&wf, WF_SOURCES_ENDPOINTS);
    assert_int_equal(chosen.polls, ROUNDS);
    wf_source_remove(&wf, &chosen.source);
    wf_source_remove(&wf, &other.source);
}

/* More than there are bits. */
static void sources_without_a_bit_of_their_own_are_polled_together(void **state)
{
    static struct thing things[MANY];

    for (int i = 0; i < MANY; i++) {
        init_thing(&things[i], NULL);
        add_thing(&things[i]);
    }
    assert_int_equal(things[MANY - 1].source.bit, WF_SOURCE_BIT_SHARED);
    wf_progress_poll(&wf, wf_source_mask(&things[MANY - 1].source));
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(things[MANY - 1].polls, 2);
    assert_int_equal(things[MANY - 2].polls, 2);
    assert_int_equal(things[0].polls, 1);
    for (int i = 0; i < MANY; i++)
        wf_source_remove(&wf, &things[i].source);
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(things[MANY - 1].polls, 2);
    add_thing(&things[0]); /* the bits are free again */
    assert_true(things[0].source.bit < WF_SOURCE_BIT_SHARED);
}

/* The first of two neighbours removes the second, then itself. */
static void remove_while_polling(struct thing *first, struct thing *second)
{
    first->removes = second;
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(second->polls, 0);
    assert_int_equal(first->polls, 1);
    first->removes = first;
    wf_progress_poll(&wf, UINT32_MAX);
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(first->polls, 2);
}

static void a_poll_may_remove_sources(void **state)
{
    static struct thing things[MANY];

    for (int i = 0; i < MANY; i++)
        init_thing(&things[i], NULL);
    add_thing(&things[0]);
    add_thing(&things[1]);
    remove_while_polling(&things[0], &things[1]);
    for (int i = 2; i < MANY; i++)
        add_thing(&things[i]);
    assert_int_equal(things[MANY - 2].source.bit, WF_SOURCE_BIT_SHARED);
    remove_while_polling(&things[MANY - 2], &things[MANY - 1]);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(a_descriptor_wakes_a_sleeper),
        RULE(a_word_wakes_a_sleeper_by_what_announces_it),
        RULE(a_word_wakes_the_follower_that_waits_for_it),
        RULE(a_word_is_armed_again_by_whoever_hears_its_writer),
        RULE(a_word_that_changes_while_it_is_armed_keeps_awake),
        RULE(the_time_that_a_source_wants_ends_the_sleep),
        RULE(a_time_far_away_is_a_long_sleep),
        RULE(a_source_that_wakes_nobody_is_polled_meanwhile),
        RULE(a_word_is_armed_for_a_leader_on_its_bell),
        RULE(a_source_that_comes_later_is_armed_for_the_sleeper),
        RULE(a_source_that_is_removed_wakes_nobody),
        RULE(what_was_never_armed_is_not_disarmed),
        RULE(a_descriptor_that_cannot_be_slept_on_is_refused),
        RULE(a_waiter_polls_the_source_of_its_choice_in_each_round),
        RULE(sources_without_a_bit_of_their_own_are_polled_together),
        RULE(a_poll_may_remove_sources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Several engines of a rank use one connection to the launcher.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "process/rank.h"
#include "progress/engines.h"
#include "progress/launcher.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/match.h"
#include "protocol/queues.h"
#include "route/links.h"

enum { ENGINES = 2, RANKS = 4, ROUNDS = 5000 };

/* A launcher whose connection breaks when two threads use it at a time. */
static struct {
    struct wf_boot boot;
    atomic_int users; /* threads inside */
    atomic_int mixed; /* times that there were several */
    atomic_int waits; /* a get is waiting */
    atomic_int reply; /* it may end */
    int lines;        /* of all threads; no atomic on purpose */
    uint32_t losers[RANKS];
} launcher;

static struct wf_rank wf_rank;
static struct wf_instance instances[ENGINES];
static struct wf_engine engines[ENGINES];
static struct weft_loc *nobody[RANKS];
static struct wf_links links = {.own = {.size = RANKS, .of = nobody}};
static struct wf_engines table;

static void enter_launcher(void)
{
    if (atomic_fetch_add(&launcher.users, 1))
        atomic_fetch_add(&launcher.mixed, 1);
    launcher.lines++;
}

static void leave_launcher(void)
{
    atomic_fetch_sub(&launcher.users, 1);
}

static int hear_nothing(struct wf_boot *b)
{
    enter_launcher();
    sched_yield();
    leave_launcher();
    return 0;
}

static void give_one_up(struct wf_boot *b, uint32_t rank)
{
    enter_launcher();
    sched_yield();
    leave_launcher();
}

static int get_late(struct wf_boot *b, const char *key, void **value, size_t *n)
{
    enter_launcher();
    atomic_store(&launcher.waits, 1);
    while (!atomic_load(&launcher.reply))
        sched_yield();
    leave_launcher();
    return 0;
}

static const struct wf_boot_ops ops = {
    .hear = hear_nothing, .give_up = give_one_up, .get = get_late};

static int begin_job(void **state)
{
    memset(&launcher, 0, sizeof launcher);
    memset(&table, 0, sizeof table);
    launcher.boot.ops = &ops;
    launcher.boot.given_up_by = launcher.losers;
    table.count = ENGINES;
    memset(&wf_rank, 0, sizeof wf_rank);
    wf_rank.home = &instances[0];
    wf_rank.boot = &launcher.boot;
    wf_rank.job.size = RANKS;
    for (unsigned i = 0; i < ENGINES; i++) {
        memset(&instances[i], 0, sizeof instances[i]);
        memset(&engines[i], 0, sizeof engines[i]);
        engines[i].wf = &instances[i];
        wf_match_init(&engines[i].match);
        instances[i].engine = &engines[i];
        instances[i].rank = &wf_rank;
        instances[i].links = &links;
        instances[i].number = i;
        table.all[i] = &instances[i];
    }
    wf_store_release(&wf_rank.engines, &table);
    return 0;
}

static int end_job(void **state)
{
    for (int i = 0; i < ENGINES; i++)
        free(engines[i].dead);
    return 0;
}

/* Each engine ends what it has with a process that has given this one up. */
static void each_engine_learns_who_has_given_this_process_up(void **state)
{
    launcher.losers[0] = 2;
    launcher.boot.given_up_by_count = 1;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ENGINES; i++) {
            wf_failure_watch(&instances[i]);
            assert_true(wf_proc_is_dead(&instances[i], wf_rank.id));
            assert_int_equal(engines[i].deaths, 1);
        }
}

static void *watch_often(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        wf_failure_watch(arg);
        wf_launcher_give_up(arg, 3);
    }
    return NULL;
}

static void engines_do_not_mix_their_lines(void **state)
{
    pthread_t thread;

    assert_int_equal(
        pthread_create(&thread, NULL, watch_often, &instances[1]), 0);
    watch_often(&instances[0]);
    pthread_join(thread, NULL);
    assert_int_equal(launcher.mixed, 0);
}

static void *get_value(void *arg)
{
    void *value;
    size_t n;

    wf_launcher_get(arg, "weft.card.1", &value, &n);
    return NULL;
}

/* A process whose address is asked for may start minutes later. */
static void nobody_waits_for_the_answer_to_another_engine(void **state)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, get_value, &instances[1]),
                     0);
    while (!atomic_load(&launcher.waits))
        sched_yield();
    wf_launcher_hear(&instances[0]);
    assert_false(wf_launcher_give_up(&instances[0], 3));
    assert_int_equal(launcher.lines, 1);
    atomic_store(&launcher.reply, 1);
    pthread_join(thread, NULL);
    assert_true(wf_launcher_give_up(&instances[0], 3));
    assert_int_equal(launcher.mixed, 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, begin_job, end_job)
    static const struct CMUnitTest tests[] = {
        T(each_engine_learns_who_has_given_this_process_up),
        T(engines_do_not_mix_their_lines),
        T(nobody_waits_for_the_answer_to_another_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

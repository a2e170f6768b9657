/* How large pieces are copied into a team's stage.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coll/shm/staging.h"
#include "process/rank.h"

enum { PIECE = 16 << 10, TRIAL = 2, ROUND = 64 };

static unsigned char from[PIECE], to[PIECE + 64];

/* A clock on which every copy that is timed takes what it is said to: by
 * memcpy, and around the caches, in turn. */
struct clock {
    uint64_t now, takes[2];
    int asked;
};

static uint64_t tell_peer(void *arg)
{
    struct clock *c = arg;

    if (c->asked++ % 2)
        c->now += c->takes[c->asked / 2 % 2 == 0];
    return c->now;
}

static struct clock ticks;
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_comm comm;
static struct wf_shmcoll team;

static void begin_case(void)
{
    ticks = (struct clock){0};
    wf.now_ns = tell_peer;
    wf.clock = &ticks;
    comm.wf = &wf;
    team = (struct wf_shmcoll){.comm = &comm};
}

static void copy_pieces(int pieces, uint64_t memcpys, uint64_t around)
{
    ticks.takes[0] = memcpys;
    ticks.takes[1] = around;
    while (pieces-- > 0)
        wf_staging_copy_in(&team, to, from, PIECE);
}

static void a_much_faster_way_is_used_until_the_next_trial(void **state)
{
    (void)state;
    begin_case();
    copy_pieces(TRIAL, 8000, 900);
    assert_true(team.nontemporal);
    copy_pieces(ROUND - TRIAL, 8000, 900);
    assert_true(team.nontemporal);
    copy_pieces(TRIAL, 700, 690);
    assert_false(team.nontemporal);
    assert_int_equal(ticks.asked, 2 * 2 * TRIAL);
}

static void a_little_faster_is_not_enough(void **state)
{
    (void)state;
    begin_case();
    copy_pieces(ROUND, 1800, 700);
    assert_false(team.nontemporal);
}

static void small_pieces_are_not_timed(void **state)
{
    (void)state;
    begin_case();
    for (int i = 0; i < 2 * ROUND; i++)
        wf_staging_copy_in(&team, to, from, 4096);
    assert_int_equal(ticks.asked, 0);
}

/* Either way, wherever it begins. */
static void the_bytes_arrive_and_no_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + i / 251);
    begin_case();
    ticks.takes[0] = 10000;
    ticks.takes[1] = 1000;
    for (size_t shift = 0; shift < 64; shift++) {
        size_t n = sizeof from - 67 * shift;

        memset(to, 0xee, sizeof to);
        wf_staging_copy_in(&team, to + shift, from, n);
        assert_memory_equal(to + shift, from, n);
        for (size_t i = 0; i < shift; i++)
            assert_int_equal(to[i], 0xee);
        for (size_t i = shift + n; i < sizeof to; i++)
            assert_int_equal(to[i], 0xee);
    }
    assert_true(team.nontemporal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_much_faster_way_is_used_until_the_next_trial),
        cmocka_unit_test(a_little_faster_is_not_enough),
        cmocka_unit_test(small_pieces_are_not_timed),
        cmocka_unit_test(the_bytes_arrive_and_no_others)};
    return cmocka_run_group_tests_name("team copy", tests, NULL, NULL);
}

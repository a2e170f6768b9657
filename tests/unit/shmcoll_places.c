/* The places of contributions to shared-memory collectives, and the calls that
 * all members must have completed before one is used again.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coll/shm/shmcoll.h"
#include "coll/shm/sizes.h"

enum { CALLS = 20000, MEMBERS = 16, RANK = 3, SIZES = 8 };

/* The bytes that the member has written in a call. */
struct use {
    unsigned char *from, *to;
};

static struct wf_shmcoll team;
static struct use uses[CALLS];

/* Begins behind that call; block_call is as at set-up. */
static void begin_case(uint32_t first, bool many)
{
    uint32_t block = block_bytes_for(MEMBERS),
             piece = block / (WF_SHMCOLL_LINES_MAX / WF_SHMCOLL_BLOCKS_MAX);
    const struct wf_shmcoll_places few_places = {WF_SHMCOLL_LINES,
                                                 WF_SHMCOLL_BLOCKS, 0},
                                   many_places = {WF_SHMCOLL_LINES_MAX,
                                                  WF_SHMCOLL_BLOCKS_MAX, piece};

    free(team.shared);
    team = (struct wf_shmcoll){.call = first,
                               .block_call = first,
                               .size = MEMBERS,
                               .rank = RANK,
                               .block_bytes = block,
                               .places = many ? many_places : few_places};
    team.shared = aligned_alloc(PAGE, segment_bytes(MEMBERS));
    assert_non_null(team.shared);
    team.blocks = (unsigned char *)team.shared + head_bytes(MEMBERS);
}

static uint32_t draw_size(void)
{
    const uint32_t sizes[SIZES] = {8,
                                   WF_SHMCOLL_INLINE_BYTES,
                                   WF_SHMCOLL_INLINE_BYTES + 1,
                                   64,
                                   team.places.piece_bytes,
                                   team.places.piece_bytes + 1,
                                   team.block_bytes - 1,
                                   team.block_bytes};

    return sizes[rand() % SIZES];
}

/* Returns the number of calls since an earlier one wrote to the place of call
 * i; 0: none has. */
static int age_of_last_use(int i)
{
    for (int age = 1; age <= i; age++)
        if (uses[i - age].from < uses[i].to && uses[i].from < uses[i - age].to)
            return age;
    return 0;
}

/* Makes a call with a contribution of so many bytes. Returns how many calls ago
 * was the newest one that all must have completed. */
static int write_contribution(int i, uint64_t bytes)
{
    uint32_t again;

    team.call++;
    again = wf_shmcoll_take_place(&team, bytes);
    uses[i].from = wf_shmcoll_data_of(&team, RANK, bytes);
    uses[i].to = uses[i].from + bytes;
    return (int)(team.call - again);
}

/* `most`: calls with contributions of one size before that changes. */
static void check_random_calls(int most)
{
    unsigned char *own =
        team.blocks + (size_t)RANK * WF_SHMCOLL_BLOCKS_MAX *
                          wf_shmcoll_block_stride(team.block_bytes);
    uint32_t bytes = 0;

    srand(1);
    for (int i = 0, left = 0; i < CALLS; i++, left--) {
        int waits, age;

        if (left == 0) {
            left = 1 + rand() % most;
            bytes = draw_size();
        }
        waits = write_contribution(i, bytes);
        age = age_of_last_use(i);
        assert_true(waits > 0 && (!age || waits <= age));
        assert_true(waits >= (int)team.places.blocks &&
                    waits <= (int)team.places.lines);
        if (bytes > WF_SHMCOLL_INLINE_BYTES)
            assert_true(uses[i].from >= own &&
                        uses[i].to <= own + WF_SHMCOLL_BLOCKS_MAX *
                                                wf_shmcoll_block_stride(
                                                    team.block_bytes));
    }
}

static void no_place_is_used_again_before_its_last_use_is_read(void **state)
{
    (void)state;
    for (int most = 1; most <= 400; most *= 20) {
        begin_case(0, false);
        check_random_calls(most);
        begin_case(UINT32_MAX - CALLS / 2, true);
        check_random_calls(most);
    }
}

static void pieces_are_as_many_as_lines(void **state)
{
    (void)state;
    begin_case(0, true);
    for (int i = 0; i < 3 * WF_SHMCOLL_LINES_MAX; i++) {
        int waits = write_contribution(i, i % 2 ? 64 : team.places.piece_bytes);

        if (i < WF_SHMCOLL_LINES_MAX) { /* for no call at all */
            assert_true(waits > i);
            assert_int_equal(age_of_last_use(i), 0);
        } else {
            assert_int_equal(waits, WF_SHMCOLL_LINES_MAX);
            assert_int_equal(age_of_last_use(i), WF_SHMCOLL_LINES_MAX);
        }
    }
}

/* A whole block of long ago, or in calls whose numbers have gone round. */
static void a_whole_block_counts_until_its_line_is_used_again(void **state)
{
    (void)state;
    begin_case(0, true);
    write_contribution(0, team.block_bytes);
    for (int i = 1; i < WF_SHMCOLL_LINES_MAX; i++)
        assert_int_equal(write_contribution(i, 64),
                         i < WF_SHMCOLL_BLOCKS_MAX ? WF_SHMCOLL_BLOCKS_MAX : i);
    write_contribution(0, 64);
    for (int i = 0; i < 5; i++) {
        team.call += UINT32_MAX / 4;
        assert_int_equal(write_contribution(0, 64), WF_SHMCOLL_LINES_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_place_is_used_again_before_its_last_use_is_read),
        cmocka_unit_test(pieces_are_as_many_as_lines),
        cmocka_unit_test(a_whole_block_counts_until_its_line_is_used_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Where pieces of large collectives stand in a member's part of the stage.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coll/shm/staging.h"

enum { CHUNK = 64, PIECES = 20000 };

static struct wf_shmcoll team;

static void begin_case(uint32_t lap)
{
    uint32_t chunks = lap / CHUNK;

    team = (struct wf_shmcoll){.chunk_bytes = CHUNK,
                               .chunk_count = chunks > WF_SHMCOLL_CHUNKS_MIN
                                                  ? chunks
                                                  : WF_SHMCOLL_CHUNKS_MIN,
                               .ring_bytes = lap};
}

/* The piece before may still be read, and behind the part is another's. */
static void a_piece_stands_beside_the_newest_one(void **state)
{
    (void)state;
    for (uint32_t lap = 0; lap <= 8 * CHUNK; lap += CHUNK) {
        begin_case(lap);
        srand(1);
        for (int i = 0; i < PIECES; i++) {
            uint32_t at = team.ring_pos, end = team.ring_end;

            wf_staging_advance_ring(&team, 1 + (uint32_t)rand() % CHUNK);
            assert_true(team.ring_pos >= end || team.ring_end <= at);
            assert_true(team.ring_end <= team.chunk_count * CHUNK);
        }
    }
}

static void short_pieces_go_through_all_lines_of_a_lap(void **state)
{
    (void)state;
    begin_case(8 * CHUNK);
    for (uint32_t i = 0; i < 3 * 8 * CHUNK; i++) {
        wf_staging_advance_ring(&team, 1);
        assert_int_equal(team.ring_pos, i % (8 * CHUNK));
    }
}

static void two_places_take_turns_where_there_is_no_lap(void **state)
{
    (void)state;
    for (uint32_t room = 1; room <= CHUNK; room++) {
        begin_case(0);
        for (uint32_t i = 0; i < 6; i++) {
            wf_staging_advance_ring(&team, room);
            assert_int_equal(team.ring_pos, i % 2 * room);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_stands_beside_the_newest_one),
        cmocka_unit_test(short_pieces_go_through_all_lines_of_a_lap),
        cmocka_unit_test(two_places_take_turns_where_there_is_no_lap)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* plugins/shm: large payloads begin in a ring of few chunks, and a larger one
 * follows where that is worth its memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 32 << 10, FIRST = SHM_FIRST_CHUNKS * CHUNK, LARGE = 8 * CHUNK };

static off_t machine_has = INT32_MAX; /* bytes */
static off_t taken, most_taken;       /* by all calls, by one */

/* In the place of the C library's. */
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    if (taken + bytes > machine_has) {
        errno = ENOSPC;
        return -1;
    }
    taken += bytes;
    if (bytes > most_taken)
        most_taken = bytes;
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

static void settle_all(void)
{
    for (int i = 0; i < 10000 && b.loc[0].got < a.loc[1].sent; i++)
        progress_both();
    assert_int_equal(b.loc[0].got, a.loc[1].sent);
    for (int i = 0; i < 10000 && (b.loc[0].sinking || a.loc[1].peer->out.tx);
         i++)
        progress_both();
    assert_false(b.loc[0].sinking);
}

static void send_now(uint32_t len)
{
    assert_true(fake_send(&a, 1, len, 0) >= 0);
}

static void send_all(uint32_t len, int times)
{
    for (int i = 0; i < times; i++) {
        send_now(len);
        settle_all();
    }
}

/* Connected, on so many CPUs. */
static void start_on(uint32_t cpus)
{
    struct fake_config config = fake_defaults();

    fake_cpus = cpus;
    fake_pair(&a, &b, &config);
    a.answer = b.answer = SINK_ONE;
    fake_connect(&a, &b, 0, 0);
    settle_all();
    taken = most_taken = 0;
}

static int start_case(void **state)
{
    (void)state;
    start_on(2);
    return 0;
}

static int stop_case(void **state)
{
    (void)state;
    settle_all();
    assert_int_equal(b.loc[0].rx_bad, 0);
    close_both();
    return 0;
}

static uint32_t sends_through(void)
{
    return a.loc[1].peer->out.bulk.size;
}

static uint32_t receives_from(void)
{
    return b.loc[0].peer->in.bulk.size;
}

static void assert_both_use(uint32_t bytes)
{
    assert_int_equal(sends_through(), bytes);
    assert_int_equal(receives_from(), bytes);
}

static void a_pair_begins_with_a_few_chunks(void **state)
{
    (void)state;
    send_all(CHUNK, 3);
    assert_both_use(FIRST);
}

/* Those of the next message are got behind it. */
static void a_message_takes_no_more_pages_than_it_has(void **state)
{
    (void)state;
    send_all(CHUNK / 4, 1);
    assert_int_equal(taken, CHUNK / 4 + CHUNK);
    send_all(CHUNK, 1);
    assert_int_equal(taken, CHUNK / 4 + 2 * CHUNK);
    send_all(CHUNK - 100, 2 * FIRST / CHUNK);
    assert_true(most_taken <= CHUNK);
    assert_both_use(FIRST);
}

/* The pages of the large ring come in small steps. */
static void a_longer_container_brings_the_large_ring(void **state)
{
    (void)state;
    send_all(FIRST + 1, LARGE / (FIRST / SHM_GROW_PART) + 1);
    assert_both_use(LARGE);
    assert_true(most_taken <= CHUNK);
    assert_int_equal(taken, FIRST + LARGE);
}

static void fill_the_ring(void)
{
    for (int i = 0; i <= SHM_FIRST_CHUNKS; i++)
        send_now(CHUNK);
}

/* Its sender waits, and the receiver takes nothing. */
static void poll_the_sender(void)
{
    for (int i = 0; i < SHM_FULL_POLLS + LARGE / SHM_GROW_FULL; i++)
        fake_progress(&a);
}

static void a_container_without_room_brings_it_too(void **state)
{
    (void)state;
    fill_the_ring();
    poll_the_sender();
    assert_int_equal(sends_through(), LARGE);
    settle_all();
    assert_both_use(LARGE);
    assert_true(most_taken <= CHUNK);
}

static void containers_in_the_first_ring_are_taken_from_there(void **state)
{
    (void)state;
    for (uint32_t len = CHUNK - 1; len > CHUNK - 4; len--)
        send_now(len);
    send_now(2 * LARGE);
    assert_int_equal(receives_from(), FIRST);
    settle_all(); /* checks every byte */
    send_all(2 * LARGE, SHM_GROW_PART);
    assert_both_use(LARGE);
}

static void a_refused_container_is_found_again(void **state)
{
    (void)state;
    b.answer = PAUSE;
    for (int i = 0; i <= SHM_FIRST_CHUNKS; i++)
        send_now(CHUNK - 7);
    poll_the_sender();
    settle_all();
    assert_both_use(LARGE);
    send_all(CHUNK, 20);
}

static void much_traffic_brings_the_large_ring_too(void **state)
{
    (void)state;
    send_all(CHUNK, SHM_GROW_PART * LARGE / CHUNK - 1);
    assert_both_use(FIRST);
    send_all(CHUNK, 2);
    assert_both_use(LARGE);
    assert_true(most_taken <= CHUNK);
    send_all(CHUNK / 3, 50);
    assert_int_equal(taken, FIRST + LARGE);
}

/* Its two ends are in the same cache. */
static void much_traffic_does_not_where_ranks_share_cpus(void **state)
{
    (void)state;
    start_on(1);
    send_all(CHUNK, 5 * LARGE / CHUNK);
    assert_both_use(FIRST);
    stop_case(NULL);
}

static void there_a_ring_often_full_brings_it(void **state)
{
    (void)state;
    start_on(1);
    for (int i = 0; i < 4 * LARGE / SHM_PAGE; i++) {
        fill_the_ring();
        settle_all();
    }
    assert_both_use(FIRST);
    fill_the_ring();
    poll_the_sender();
    settle_all();
    assert_both_use(LARGE);
    stop_case(NULL);
}

static void without_memory_the_first_ring_stays(void **state)
{
    (void)state;
    machine_has = FIRST;
    send_all(3 * LARGE, 3);
    machine_has = INT32_MAX;
    send_all(3 * LARGE, 1); /* nobody asks again */
    assert_both_use(FIRST);
    assert_int_equal(a.loc[1].down, 0);
}

/* There was some for a part of it. */
static void with_too_little_memory_the_first_ring_stays(void **state)
{
    (void)state;
    machine_has = FIRST + LARGE / 2;
    send_all(CHUNK, SHM_GROW_PART * LARGE / CHUNK);
    machine_has = INT32_MAX;
    send_all(CHUNK, SHM_GROW_PART * LARGE / CHUNK);
    assert_both_use(FIRST);
    assert_int_equal(a.loc[1].down, 0);
    assert_int_equal(a.loc[1].peer->memory, -1);
}

static void without_memory_for_any_ring_the_link_goes_down(void **state)
{
    (void)state;
    machine_has = FIRST - 1;
    fake_send(&a, 1, 3 * LARGE, 0);
    machine_has = INT32_MAX;
    for (int i = 0; i < 10000 && a.loc[1].down == 0; i++)
        fake_progress(&a);
    assert_int_equal(a.loc[1].down, 1);
    assert_non_null(strstr(a.loc[1].why, "lower chunk"));
    fake_close(&a, NULL);
    fake_close(&b, NULL);
}

static void a_ring_of_few_chunks_has_no_other(void **state)
{
    struct fake_config config = fake_defaults();

    (void)state;
    config.chunks = SHM_FIRST_CHUNKS;
    fake_pair(&a, &b, &config);
    a.answer = b.answer = SINK_ONE;
    fake_connect(&a, &b, LARGE, 0);
    settle_all();
    assert_both_use(FIRST);
    assert_int_equal(a.loc[1].peer->memory, -1);
    stop_case(NULL);
}

/* A processor that copies one fetches lines beyond its end ahead of time. */
static void payloads_that_end_within_a_page_have_a_gap_behind_them(void **state)
{
    const struct shm_bytes *cells = &a.loc[1].peer->out.cells;
    uint32_t at = cells->at;

    (void)state;
    send_all(1024, 1);
    assert_int_equal(cells->at - at, 1024 + SHM_GAP);
    assert_int_equal(shm_bytes_taken(1000), 1024 + 384);
    assert_int_equal(shm_bytes_taken(128), 128);
    assert_int_equal(shm_bytes_taken(2 * SHM_PAGE), 2 * SHM_PAGE);
    assert_int_equal(shm_bytes_taken(2 * SHM_PAGE - 70), 2 * SHM_PAGE);
}

/* Whatever the sender has written. */
static void invalid_offsets_do_not_leave_the_segment(void **state)
{
    weft_peer *p = b.loc[0].peer;
    struct shm_bytes before;
    unsigned char *at;

    (void)state;
    atomic_store(&p->in.line->bulk_large, SHM_LARGE | 12345);
    send_all(CHUNK, 2);
    assert_int_equal(receives_from(), FIRST);
    atomic_store(&p->in.line->bulk_large, UINT64_MAX);
    send_all(CHUNK, 2);
    assert_int_equal(receives_from(), FIRST);
    before = p->in.bulk;
    for (int i = 0; i < 3 * LARGE / CHUNK; i++) { /* again and again */
        atomic_store(&p->in.line->bulk_large, SHM_LARGE | p->in.bulk.at);
        at = wf_shm_take_bulk(p, CHUNK);
        assert_in_range(at - p->base, shm_reserved_bytes(&p->geometry),
                        shm_segment_bytes(&p->geometry) - CHUNK);
    }
    p->in.bulk = before; /* what was published lies there */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_case, stop_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pair_begins_with_a_few_chunks),
        TEST(a_message_takes_no_more_pages_than_it_has),
        TEST(a_longer_container_brings_the_large_ring),
        TEST(a_container_without_room_brings_it_too),
        TEST(containers_in_the_first_ring_are_taken_from_there),
        TEST(a_refused_container_is_found_again),
        TEST(much_traffic_brings_the_large_ring_too),
        cmocka_unit_test(much_traffic_does_not_where_ranks_share_cpus),
        cmocka_unit_test(there_a_ring_often_full_brings_it),
        TEST(without_memory_the_first_ring_stays),
        TEST(with_too_little_memory_the_first_ring_stays),
        cmocka_unit_test_setup(without_memory_for_any_ring_the_link_goes_down,
                               start_case),
        cmocka_unit_test(a_ring_of_few_chunks_has_no_other),
        TEST(payloads_that_end_within_a_page_have_a_gap_behind_them),
        TEST(invalid_offsets_do_not_leave_the_segment)};

    return cmocka_run_group_tests_name("shm bulk", tests, NULL, NULL);
}

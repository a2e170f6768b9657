/* The memory of stored messages is used again (core/protocol/unexpected.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/engine.h"
#include "protocol/queues.h"
#include "protocol/unexpected.h"

enum { BURST = 20, LARGEST = 64 << 10 };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_progress progress;
static struct wf_core_options options;
static struct weft_loc loc;
static struct wf_message *stored[BURST];

static int open_engine(void **state)
{
    options = (struct wf_core_options){.credits = 16 << 20};
    wf_rank =
        (struct wf_rank){.home = &wf, .options = &options, .job.size = 1};
    wf = (struct wf_instance){.rank = &wf_rank, .progress = &progress};
    loc = (struct weft_loc){.wf = &wf};
    return wf_engine_init(&wf);
}

static int close_engine(void **state)
{
    wf_engine_fini(&wf);
    return 0;
}

static void store_burst(size_t bytes)
{
    struct wf_wire head = {.plen = (uint32_t)bytes};

    for (int i = 0; i < BURST; i++) {
        stored[i] = wf_unexpected_create(&loc, &head, bytes, bytes, bytes);
        assert_non_null(stored[i]);
        memset(stored[i]->data, i, bytes);
    }
    for (int i = 0; i < BURST; i++) {
        assert_int_equal(stored[i]->data[0], i);
        assert_int_equal(stored[i]->data[bytes - 1], i);
    }
}

static void take_burst(void)
{
    for (int i = 0; i < BURST; i++)
        wf_unexpected_free(stored[i]);
}

static uint32_t count_slabs(void)
{
    uint32_t n = 0;

    for (int i = 0; i < WF_MESSAGE_SIZES; i++)
        n += wf.engine->messages[i].slab_count;
    return n;
}

static void the_next_burst_uses_the_memory_of_the_last(void **state)
{
    for (size_t bytes = 1; bytes <= LARGEST; bytes *= 2) {
        uint32_t before = count_slabs(), after;
        store_burst(bytes);
        after = count_slabs();
        assert_true(after > 0 && after >= before);
        take_burst();
        for (int i = 0; i < 3; i++) {
            store_burst(bytes);
            assert_int_equal(count_slabs(), after);
            take_burst();
        }
    }
    assert_int_equal(wf.engine->unexpected_bytes, 0);
}

/* malloc would give it to the kernel, and the next burst would fetch it page by
 * page. */
static void memory_of_the_largest_messages_stays_too(void **state)
{
    uint32_t before = count_slabs();

    store_burst(LARGEST);
    assert_true(count_slabs() > before);
    take_burst();
    assert_true(count_slabs() > before);
}

static void larger_messages_have_memory_of_their_own(void **state)
{
    store_burst(LARGEST + WF_CACHE_LINE);
    assert_int_equal(count_slabs(), 0);
    take_burst();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            the_next_burst_uses_the_memory_of_the_last, open_engine,
            close_engine),
        cmocka_unit_test_setup_teardown(
            memory_of_the_largest_messages_stays_too, open_engine,
            close_engine),
        cmocka_unit_test_setup_teardown(
            larger_messages_have_memory_of_their_own, open_engine,
            close_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

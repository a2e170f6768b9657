/* The event sources of a protocol engine besides its endpoints: the watch for
 * the launcher and dead peers, and the timers of ordered pairs
 * (core/protocol/sources.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/boot.h"
#include "config/config.h"
#include "order_rig.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/carrier.h"
#include "protocol/failure.h"
#include "protocol/queues.h"
#include "protocol/sources.h"
#include "route/route.h"

enum { ROUNDS = 1000 };

static int heard; /* how often the launcher's notices were read */
static int connected;

static int hear_nothing(struct wf_boot *boot)
{
    heard++;
    return 0;
}

static const struct wf_boot_ops silent = {0}, noticing = {.hear = hear_nothing};
static struct wf_engine engine;
static struct wf_boot launcher;

/* One ordered pair, and a launcher. */
static void begin_case(const struct wf_boot_ops *ops)
{
    static const struct wf_route_failover two = {.several = true,
                                                 .timeout = 60000 * MS};

    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    links.orders = order;
    wf_orders_maintain(&wf);
    launcher = (struct wf_boot){.ops = ops};
    wf.rank->boot = &launcher;
    engine = (struct wf_engine){.wf = &wf};
    wf.engine = &engine;
    heard = 0;
    assert_int_equal(wf_progress_init(&wf), 0);
    wf_engine_add_sources(&wf);
}

static void end_case(void)
{
    wf_engine_remove_sources(&engine);
    assert_int_equal(engine.timers.state, WF_SOURCE_REMOVED);
    assert_int_equal(engine.watch.state, WF_SOURCE_REMOVED);
    wf_progress_fini(&wf);
    close_order();
}

/* Ten seconds in rounds of 10 ms. */
static void whoever_polls_reads_notices_four_times_a_second(void **state)
{
    begin_case(&noticing);
    for (int i = 0; i < ROUNDS; i++) {
        now += 10 * MS;
        wf_progress_poll(&wf, UINT32_MAX);
    }
    assert_in_range(heard, 39, 41);
    end_case();
}

/* It polls nothing else, for the launcher is in no waiter's mask. */
static void so_does_one_that_waits_for_an_endpoint(void **state)
{
    begin_case(&noticing);
    for (int i = 0; i < 100 * ROUNDS; i++) {
        now += MS / 10;
        wf_progress_poll(&wf, 1);
    }
    assert_in_range(heard, 20, 41);
    end_case();
}

static int connect_peer(weft_peer *p)
{
    connected++;
    return WEFT_OK;
}

/* Nothing was ever sent to the sender of what is waited for: only a connection
 * tells whether it can be reached. */
static void one_that_only_polls_looks_for_the_sender_once_a_second(void **state)
{
    static const weft_ops dialling = {.size = sizeof dialling,
                                      .connect = connect_peer};
    struct weft_core core = {.wf = &wf, .ops = &dialling};
    struct weft_loc sender = {.wf = &wf, .lanes = 1, .lane[0].core = &core};
    struct wf_flag_wait wait = {.loc = &sender};

    begin_case(&silent);
    connected = 0;
    wf_flag_wait_begin(&wf, &wait);
    for (int i = 0; i < 100 * ROUNDS; i++) {
        now += MS / 10;
        wf_progress_poll(&wf, 1);
    }
    assert_in_range(connected, 5, 11);
    wf_flag_wait_end(&wf, &wait);
    end_case();
}

/* An acknowledgement is owed for a millisecond. */
static void the_time_of_a_pair_ends_the_sleep(void **state)
{
    int timeout;

    begin_case(&silent);
    order->owed = 1;
    assert_true(wf_progress_arm(&wf, UINT32_MAX, &timeout));
    assert_int_equal(timeout, 1);
    assert_false(wf_progress_is_resume_requested(&wf));
    end_case();
}

static void a_poll_of_all_sources_serves_the_pairs(void **state)
{
    int timeout;

    begin_case(&silent);
    order->owed = 1;
    assert_true(wf_progress_arm(&wf, UINT32_MAX, &timeout));
    wf_progress_poll(&wf, WF_SOURCES_ENDPOINTS);
    assert_int_equal(order->owed, 1);
    wf_progress_poll(&wf, UINT32_MAX); /* sees that one is owed, and since */
    now += 2 * MS;
    wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(order->owed, 0);
    end_case();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_polls_reads_notices_four_times_a_second),
        cmocka_unit_test(so_does_one_that_waits_for_an_endpoint),
        cmocka_unit_test(
            one_that_only_polls_looks_for_the_sender_once_a_second),
        cmocka_unit_test(the_time_of_a_pair_ends_the_sleep),
        cmocka_unit_test(a_poll_of_all_sources_serves_the_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

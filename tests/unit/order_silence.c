/* When an ordered pair leaves a carrier on which nothing is acknowledged: the
 * other one answers, and by this one nothing passes either.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "process/rank.h"
#include "route/route.h"
#include "order_rig.h"
#include "protocol/carrier.h"
#include "protocol/carrier_control.h"

static const struct wf_route_failover two = {.several = true,
                                             .timeout = 60000 * MS};

/* A message that the peer does not acknowledge. */
static void send_one(void)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    assert_int_equal(
        wf_order_send_short((weft_peer *)order, (const weft_hdr *)&w, "x", 1,
                            0),
        WEFT_DONE);
}

/* Time goes on, on the first carrier something passes every `each` ms, and the
 * second one answers. Returns the ms after which the pair has moved; `most`: it
 * has not. */
static int run_case(int most, int each)
{
    for (int ms = 0; ms < most; ms++, now += MS) {
        if (each && ms % each == 0)
            fakes[0].traffic++;
        wf_orders_maintain(&wf);
        if (order->at == 1)
            return ms;
        if (fakes[1].pings) {
            fakes[1].pings = 0;
            take_pong(1);
        }
    }
    return most;
}

static void a_dead_carrier_is_left_soon(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_in_range(run_case(1000, 0), 50, 80);
    close_order();
}

static void a_slow_carrier_is_not_left(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run_case(2000, 10), 2000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    assert_int_equal(fakes[0].pings, 0); /* nor asked */
    close_order();
}

static void a_slow_carrier_that_dies_is_left_soon(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run_case(300, 5), 300);
    assert_in_range(run_case(1000, 0), 50, 130);
    close_order();
}

/* It gives no sign for 50 ms, is asked, and then it does: a gap was
 * repaired. */
static void a_carrier_is_not_left_after_a_pause_of_this_process(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run_case(60, 0), 60);
    assert_int_equal(fakes[0].pings, 1);
    assert_int_equal(run_case(1000, 10), 1000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    close_order();
}

/* By the carrier that it came by, and once. */
static void a_question_is_answered(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    for (int n = 1; n <= 3; n++) {
        take_ping(1);
        assert_int_equal(run_case(3, 1), 3);
        assert_int_equal(fakes[0].pongs, 0);
        assert_int_equal(fakes[1].pongs, n);
    }
    close_order();
}

/* A peer that sends by the other one knows why. */
static void the_peers_choice_counts_more(void **state)
{
    assert_int_equal(open_order(&two, 1 << 20, 1 << 20), 0);
    send_one();
    assert_int_equal(run_case(100, 10), 100);
    order->carrier[1].state = WF_CARRIER_TRIED;
    wf_carrier_note_heard(order, &links.eps[1], 1);
    assert_in_range(run_case(1000, 10), 20, 30);
    close_order();
}

/* ---- the peer's life ----------------------------------------------------- */

static const struct wf_route_failover brief = {.several = true,
                                               .timeout = 2000 * MS};
static struct wf_engine engine;
static struct weft_loc *nobody[1]; /* no process to tell that one is gone */

static void setup_brief(void)
{
    assert_int_equal(open_order(&brief, 1 << 20, 1 << 20), 0);
    memset(&engine, 0, sizeof engine);
    wf_match_init(&engine.match);
    wf.engine = &engine;
    links.locs = nobody;
    wf.rank->nprocs = 1;
}

static void end_brief(void)
{
    free(loc->down_reason);
    free(engine.dead);
    close_order();
}

/* From now on the carriers that can tell hear nothing of the peer, for so many
 * ms or until it counts as gone: how many that were. It answers questions on
 * the carriers from `answers` on. */
static int fall_silent_but(int most, int carriers, int answers)
{
    uint64_t begun = now;

    for (int ms = 0; ms < most; ms++, now += MS) {
        for (int k = 0; k < carriers; k++)
            fakes[k].silent = now - begun;
        wf_orders_maintain(&wf);
        if (order->failed)
            return ms;
        for (int k = answers; k < CARRIERS; k++)
            if (fakes[k].pings) {
                fakes[k].pings = 0;
                take_pong(k);
            }
    }
    return most;
}

static int fall_silent(int most, int carriers)
{
    return fall_silent_but(most, carriers, CARRIERS);
}

static void a_peer_without_a_sign_is_gone_in_time(void **state)
{
    for (int busy = 0; busy < 2; busy++) {
        setup_brief();
        if (busy)
            send_one();
        assert_in_range(fall_silent(9000, CARRIERS), 2000, 2110);
        end_brief();
    }
}

/* A process that computes: nobody answers, but its host. */
static void a_host_that_answers_by_any_carrier_is_a_sign(void **state)
{
    setup_brief();
    send_one();
    wf_carrier_request_probe(order, 1);
    fakes[1].silent = 0;
    assert_int_equal(fall_silent(9000, 1), 9000);
    end_brief();
}

/* The pair only waits, so nothing has called the second carrier yet; and it has
 * nothing that a move would send. */
static void a_peer_that_answers_another_carrier_lives(void **state)
{
    setup_brief();
    assert_int_equal(fall_silent_but(9000, 1, 1), 9000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    /* until it does not any more */
    assert_in_range(fall_silent(9000, 1), 1800, 2110);
    end_brief();
}

/* A host that answers by the second carrier, once that is called. */
static void a_carrier_that_was_never_used_is_asked_before(void **state)
{
    setup_brief();
    fakes[1].silent = 0;
    assert_int_equal(fall_silent(9000, 1), 9000);
    assert_in_range(fakes[1].pings, 1, 1);
    end_brief();
}

/* The first carrier has been silent for long, and nothing answers. Returns the
 * ms after which the peer counts as gone; `most`: it does not. */
static int stay_silent(int most)
{
    fakes[0].silent = 5000 * MS;
    for (int ms = 0; ms < most; ms++, now += MS) {
        wf_orders_maintain(&wf);
        if (order->failed)
            return ms;
    }
    return most;
}

/* The first look at a silence finds that it is over: the others get their
 * time. */
static void no_peer_is_gone_before_other_carriers_had_time(void **state)
{
    setup_brief();
    assert_in_range(stay_silent(9000), 500, 620);
    assert_int_equal(fakes[1].pings, 1);
    end_brief();
}

/* Time in which this process was elsewhere gave them none. */
static void only_watched_time_counts_for_other_carriers(void **state)
{
    setup_brief();
    assert_int_equal(stay_silent(100), 100);
    now += 60000 * MS;
    assert_in_range(stay_silent(9000), 150, 420);
    end_brief();
}

/* A peer that lives costs no second connection. */
static void other_carriers_are_not_asked_early(void **state)
{
    setup_brief();
    assert_int_equal(fall_silent(1000, 1), 1000);
    assert_int_equal(fakes[1].pings, 0);
    fakes[0].silent = 0;
    assert_int_equal(fall_silent(1000, 1), 1000);
    assert_int_equal(fakes[1].pings, 0);
    end_brief();
}

/* The process computes; the first path is dead, and the host hides behind a
 * firewall on the second, but its kernel confirms what is sent there. For so
 * many ms, as fall_silent_but(). */
static int compute_behind_a_firewall(int most, bool confirms)
{
    uint64_t begun = now;

    for (int ms = 0; ms < most; ms++, now += MS) {
        fakes[0].silent = now - begun;
        wf_orders_maintain(&wf);
        if (order->failed)
            return ms;
        if (confirms && fakes[1].pings)
            fakes[1].traffic += (uint64_t)fakes[1].pings;
        fakes[1].pings = 0;
    }
    return most;
}

static void a_confirmation_by_another_carrier_is_a_sign(void **state)
{
    setup_brief();
    assert_int_equal(compute_behind_a_firewall(20000, true), 20000);
    assert_int_equal(order->counts[WF_ORDER_MOVES], 0);
    end_brief();
}

/* Its host has died with the path, or does later. */
static void a_carrier_that_confirms_nothing_is_no_sign(void **state)
{
    setup_brief();
    assert_in_range(compute_behind_a_firewall(9000, false), 2000, 2110);
    end_brief();
    setup_brief();
    assert_int_equal(compute_behind_a_firewall(5000, true), 5000);
    assert_in_range(compute_behind_a_firewall(9000, false), 900, 2110);
    end_brief();
}

/* Where nobody can tell a peer that computes from a dead one. */
static void a_carrier_that_cannot_tell_is_believed(void **state)
{
    setup_brief();
    wf_carrier_note_heard(order, &links.eps[0], 0);
    send_one();
    assert_int_equal(fall_silent(9000, 0), 9000);
    end_brief();
}

/* Nothing shows that its host has ever been there. */
static void a_peer_that_was_never_heard_is_gone_in_time(void **state)
{
    for (int sends = 0; sends < 2; sends++) {
        setup_brief();
        if (sends)
            send_one();
        else
            wf_carrier_connect(order);
        assert_in_range(fall_silent(9000, 0), 2000, 2110);
        end_brief();
    }
}

static void a_peer_that_nothing_called_is_not_gone(void **state)
{
    setup_brief();
    assert_int_equal(fall_silent(9000, 0), 9000);
    end_brief();
}

/* The current carrier breaks while the peer computes, which was heard on the
 * second one before. */
static void break_first(void)
{
    setup_brief();
    order->carrier[1].state = WF_CARRIER_TRIED;
    wf_carrier_note_heard(order, &links.eps[1], 0);
    assert_true(
        wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "timed out"));
}

static void a_connection_whose_host_answers_leads_to_the_peer(void **state)
{
    break_first();
    fakes[1].silent = 0;
    assert_int_equal(fall_silent(9000, 1), 9000);
    assert_int_equal(order->at, -1);
    assert_in_range(fall_silent(9000, 2), 1900, 2110);
    end_brief();
}

static void a_confirming_connection_behind_a_firewall_does_too(void **state)
{
    break_first();
    assert_int_equal(compute_behind_a_firewall(9000, true), 9000);
    assert_int_equal(order->at, -1);
    assert_in_range(compute_behind_a_firewall(9000, false), 900, 2110);
    end_brief();
}

/* A host that answers is no way to a process which was not heard there. */
static void a_host_that_answers_is_no_connection(void **state)
{
    setup_brief();
    fakes[1].silent = 0;
    assert_true(
        wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "timed out"));
    assert_in_range(fall_silent(9000, 1), 1900, 2110);
    end_brief();
}

/* The clock runs on when the carrier breaks of the silence, late. */
static void a_break_does_not_start_the_clock_again(void **state)
{
    setup_brief();
    send_one();
    assert_int_equal(fall_silent(1000, CARRIERS), 1000);
    assert_true(
        wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "timed out"));
    assert_in_range(fall_silent(9000, 0), 950, 1010);
    end_brief();
}

/* A break after a long life, however, leaves time for another way, and a
 * process that was itself away has seen no silence. */
static void time_that_was_not_watched_is_no_silence(void **state)
{
    setup_brief();
    assert_int_equal(fall_silent(100, CARRIERS), 100);
    now += 60000 * MS;
    fakes[0].silent = 0;
    assert_true(
        wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "reset"));
    assert_in_range(fall_silent(9000, 0), 1500, 2010);
    end_brief();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_carrier_is_left_soon),
        cmocka_unit_test(a_slow_carrier_is_not_left),
        cmocka_unit_test(a_slow_carrier_that_dies_is_left_soon),
        cmocka_unit_test(a_carrier_is_not_left_after_a_pause_of_this_process),
        cmocka_unit_test(a_question_is_answered),
        cmocka_unit_test(the_peers_choice_counts_more),
        cmocka_unit_test(a_peer_without_a_sign_is_gone_in_time),
        cmocka_unit_test(a_host_that_answers_by_any_carrier_is_a_sign),
        cmocka_unit_test(a_peer_that_answers_another_carrier_lives),
        cmocka_unit_test(a_carrier_that_was_never_used_is_asked_before),
        cmocka_unit_test(no_peer_is_gone_before_other_carriers_had_time),
        cmocka_unit_test(only_watched_time_counts_for_other_carriers),
        cmocka_unit_test(other_carriers_are_not_asked_early),
        cmocka_unit_test(a_confirmation_by_another_carrier_is_a_sign),
        cmocka_unit_test(a_carrier_that_confirms_nothing_is_no_sign),
        cmocka_unit_test(a_carrier_that_cannot_tell_is_believed),
        cmocka_unit_test(a_peer_that_was_never_heard_is_gone_in_time),
        cmocka_unit_test(a_peer_that_nothing_called_is_not_gone),
        cmocka_unit_test(a_connection_whose_host_answers_leads_to_the_peer),
        cmocka_unit_test(a_confirming_connection_behind_a_firewall_does_too),
        cmocka_unit_test(a_host_that_answers_is_no_connection),
        cmocka_unit_test(a_break_does_not_start_the_clock_again),
        cmocka_unit_test(time_that_was_not_watched_is_no_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

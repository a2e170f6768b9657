/* Hosts that answer while their process does not: the launcher says whether the
 * process is in MPI, or computes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "order_rig.h"

#include "boot/boot.h"
#include "process/rank.h"
#include "route/route.h"

static const struct wf_route_failover brief = {.several = true,
                                               .timeout = 3000 * MS};
static struct wf_engine engine;
static struct weft_loc *nobody[1]; /* no process to tell that one is gone */

/* A launcher that replies to a question when it is heard next. */
static struct {
    struct wf_boot boot;
    struct wf_boot_word said[1];
    bool inside; /* the peer is in MPI */
    int asked;
} launcher;

static void ask_state(struct wf_boot *b, uint32_t rank)
{
    assert_int_equal(rank, 0);
    launcher.asked++;
}

static int hear_reply(struct wf_boot *b)
{
    struct wf_boot_word *w = launcher.said;

    b->said = launcher.said;
    for (; launcher.asked; launcher.asked--) {
        w->replies++;
        w->answers += launcher.inside;
    }
    return 0;
}

static const struct wf_boot_ops launcher_ops = {.hear = hear_reply,
                                                .ask_state = ask_state};

static void begin_case(enum wf_boot_state says)
{
    assert_int_equal(open_order(&brief, 1 << 20, 1 << 20), 0);
    memset(&engine, 0, sizeof engine);
    memset(&launcher, 0, sizeof launcher);
    launcher.boot.ops = &launcher_ops;
    launcher.said[0].state = says;
    wf_match_init(&engine.match);
    wf.engine = &engine;
    links.own.of = nobody;
    links.own.size = 1;
    wf.rank->job.size = 1;
    wf.rank->boot = &launcher.boot;
}

static void end_case(void)
{
    free(loc->down_reason);
    free(engine.dead);
    close_order();
}

/* The first carrier hears nothing from now on, unless the time began earlier;
 * on the second, which is only called, the host answers. Returns the ms after
 * which the peer counts as gone; `most`: it does not. */
static int call_for(int most, uint64_t silent_since)
{
    for (int ms = 0; ms < most; ms++, now += MS) {
        fakes[0].silent = now - silent_since;
        fakes[1].silent = 0;
        wf_orders_maintain(&wf);
        if (order->failed)
            return ms;
    }
    return most;
}

static void lose_first(void)
{
    assert_true(
        wf_carrier_handle_down(loc, &links.eps[0], WEFT_ELINK, "timed out"));
    order->carrier[1].state = WF_CARRIER_TRIED;
}

/* A plugin whose call has failed knows nothing at first. */
static void a_call_that_begins_anew_changes_nothing(void **state)
{
    begin_case(WF_BOOT_CALLED);
    for (int ms = 0; ms < 20000; ms++, now += MS) {
        fakes[0].silent = (uint64_t)ms * MS;
        fakes[1].silent = ms % 1000 < 300 ? UINT64_MAX : 0;
        wf_orders_maintain(&wf);
        assert_false(order->failed);
    }
    end_case();
}

static void a_process_that_computes_is_waited_for(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        begin_case(WF_BOOT_CALLED);
        if (lost)
            lose_first();
        assert_int_equal(call_for(20000, now), 20000);
        end_case();
    }
}

static void one_in_mpi_that_cannot_be_reached_is_gone(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        begin_case(WF_BOOT_CALLED);
        launcher.inside = true;
        if (lost)
            lose_first();
        assert_in_range(call_for(9000, now), 3000, 3160);
        end_case();
    }
}

static void it_is_so_when_it_comes_back(void **state)
{
    for (int lost = 0; lost < 2; lost++) {
        uint64_t begun;
        begin_case(WF_BOOT_CALLED);
        begun = now;
        if (lost)
            lose_first();
        assert_int_equal(call_for(10000, begun), 10000);
        launcher.inside = true;
        assert_in_range(call_for(9000, begun), 2800, 3360);
        end_case();
    }
}

/* The launcher counts what the peer has answered others, long ago. */
static void old_answers_say_nothing(void **state)
{
    begin_case(WF_BOOT_CALLED);
    lose_first();
    assert_int_equal(call_for(100, now), 100);
    order->at = 0; /* as when it is adopted again */
    order->asked_since = 0;
    launcher.said[0].answers += 5;
    lose_first();
    assert_int_equal(call_for(20000, now), 20000);
    assert_int_equal(order->present_at, 0);
    end_case();
}

/* Nobody waits for ever on the word of a host alone. */
static void without_a_word_of_the_launcher_it_is_gone(void **state)
{
    static const enum wf_boot_state says[] = {WF_BOOT_RUNS, WF_BOOT_UNKNOWN};

    for (int i = 0; i < 2; i++) {
        begin_case(says[i]);
        lose_first();
        assert_in_range(call_for(9000, now), 2990, 3160);
        end_case();
    }
}

static void one_that_has_ended_is_gone_at_once(void **state)
{
    begin_case(WF_BOOT_ENDED);
    lose_first();
    assert_in_range(call_for(9000, now), 0, 210);
    end_case();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_begins_anew_changes_nothing),
        cmocka_unit_test(a_process_that_computes_is_waited_for),
        cmocka_unit_test(one_in_mpi_that_cannot_be_reached_is_gone),
        cmocka_unit_test(it_is_so_when_it_comes_back),
        cmocka_unit_test(old_answers_say_nothing),
        cmocka_unit_test(without_a_word_of_the_launcher_it_is_gone),
        cmocka_unit_test(one_that_has_ended_is_gone_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

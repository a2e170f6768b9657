/* When a process counts as gone whose host refuses all calls.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"
#include "order_rig.h"

#include "boot/boot.h"
#include "process/rank.h"
#include "protocol/carrier.h"

static const struct wf_route_failover brief = {.several = true,
                                               .timeout = 5000 * MS};
static struct wf_engine engine;
static struct weft_loc *nobody[1]; /* no process to tell that one is gone */

/* A launcher that answers a question when it is heard next. */
static struct {
    struct wf_boot boot;
    struct wf_boot_word said[1];
    enum wf_boot_state says; /* UNKNOWN: it does not answer */
    int asked;
} launcher;

static void ask_state(struct wf_boot *b, uint32_t rank)
{
    assert_int_equal(rank, 0);
    launcher.asked++;
}

static int hear_peer(struct wf_boot *b)
{
    if (launcher.asked)
        launcher.said[0].state = launcher.says;
    b->said = launcher.said;
    return 0;
}

static const struct wf_boot_ops launcher_ops = {.hear = hear_peer,
                                                .ask_state = ask_state};

static void begin_case(bool launched, enum wf_boot_state says)
{
    assert_int_equal(open_order(&brief, 1 << 20, 1 << 20), 0);
    memset(&engine, 0, sizeof engine);
    memset(&launcher, 0, sizeof launcher);
    launcher.boot.ops = &launcher_ops;
    launcher.says = says;
    wf_match_init(&engine.match);
    wf.engine = &engine;
    links.own.of = nobody;
    links.own.size = 1;
    wf.rank->job.size = 1;
    wf.rank->boot = launched ? &launcher.boot : NULL;
}

static void end_case(void)
{
    free(loc->down_reason);
    free(engine.dead);
    close_order();
}

static void refuse_all(void)
{
    for (int k = 0; k < CARRIERS; k++) {
        loc->peers[k] = (weft_peer *)&fakes[k]; /* was called again */
        order->carrier[k].state = WF_CARRIER_TRIED;
        assert_true(
            wf_carrier_handle_down(loc, &links.eps[k], WEFT_EPEER, "refused"));
        order->carrier[k].again_at = now + 20 * MS; /* not by the turn */
    }
}

/* All calls are refused, one in 10 ms, at most `calls` of them. Returns the ms
 * after which the process counts as gone; `most`: it does not. */
static int refuse_for(int most, int calls)
{
    for (int ms = 0; ms < most; ms++, now += MS) {
        if (ms % 10 == 0 && calls-- > 0)
            refuse_all();
        for (int k = 0; k < CARRIERS; k++)
            order->carrier[k].again_at = now + 20 * MS;
        wf_orders_maintain(&wf);
        if (order->failed)
            return ms;
    }
    return most;
}

/* Five calls are refused within 50 ms, but a listener may be opened again. */
static void without_a_launcher_refusals_for_a_second_are_needed(void **state)
{
    begin_case(false, WF_BOOT_UNKNOWN);
    assert_in_range(refuse_for(9000, 9000), 1000, 1010);
    end_case();
}

static void a_launcher_that_does_not_answer_is_none(void **state)
{
    begin_case(true, WF_BOOT_UNKNOWN);
    assert_in_range(refuse_for(9000, 9000), 1000, 1010);
    assert_in_range(launcher.asked, 8, 12);
    end_case();
}

/* The process that calls had no processor itself. */
static void a_second_without_calls_proves_nothing(void **state)
{
    begin_case(false, WF_BOOT_UNKNOWN);
    assert_int_equal(refuse_for(10, 1), 10);
    now += 1500 * MS;
    assert_int_equal(refuse_for(20, 1), 20);
    assert_in_range(refuse_for(9000, 9000), 10, 50);
    end_case();
}

static void the_launcher_knows_who_has_ended(void **state)
{
    begin_case(true, WF_BOOT_ENDED);
    assert_in_range(refuse_for(9000, 9000), 0, 5);
    end_case();
}

/* A process that computes, and its socket was ended: until the timeout. */
static void the_launcher_knows_who_runs(void **state)
{
    begin_case(true, WF_BOOT_RUNS);
    assert_in_range(refuse_for(9000, 9000), 5000, 5010);
    end_case();
}

/* A process is dead before the launcher has seen it. */
static void the_launcher_is_asked_again(void **state)
{
    begin_case(true, WF_BOOT_RUNS);
    assert_int_equal(refuse_for(1500, 9000), 1500);
    launcher.says = WF_BOOT_ENDED;
    assert_in_range(refuse_for(9000, 9000), 0, 105);
    end_case();
}

static void without_refusals_the_launcher_is_not_asked(void **state)
{
    begin_case(true, WF_BOOT_ENDED);
    for (int k = 0; k < CARRIERS; k++)
        assert_true(
            wf_carrier_handle_down(loc, &links.eps[k], WEFT_ELINK, "reset"));
    assert_int_equal(refuse_for(1000, 0), 1000);
    assert_int_equal(launcher.asked, 0);
    end_case();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_launcher_refusals_for_a_second_are_needed),
        cmocka_unit_test(a_launcher_that_does_not_answer_is_none),
        cmocka_unit_test(a_second_without_calls_proves_nothing),
        cmocka_unit_test(the_launcher_knows_who_has_ended),
        cmocka_unit_test(the_launcher_knows_who_runs),
        cmocka_unit_test(the_launcher_is_asked_again),
        cmocka_unit_test(without_refusals_the_launcher_is_not_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

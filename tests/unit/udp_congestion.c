/* udp-reliable: how patient a flow is with packets that are overtaken, and how
 * its window grows (plugins/udp-reliable/flow_congestion.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../plugins/udp-reliable/flow.h"

enum { PACKET = 1000, MANY = 2000 /* packets, after which it takes stock */ };

static void the_tolerance_of_reordering_grows_and_shrinks_again(void **state)
{
    struct wf_udp_flow f = {.reorder = 3};
    uint32_t before;

    for (int i = 0; i < 50; i++)
        wf_udp_flow_note_reordering(&f);
    assert_in_range(f.reorder, 128, 192);
    for (int i = 0; i < MANY; i++) /* what was late lately */
        wf_udp_flow_count_packet(&f, false);
    for (int n = 0; n < 30; n++) {
        before = f.reorder;
        for (int i = 0; i < MANY; i++)
            wf_udp_flow_count_packet(&f, false);
        assert_true(f.reorder < before || before == 3);
        assert_true(f.reorder >= 3);
    }
    assert_int_equal(f.reorder, 3);
}

/* The time by which CUBIC is back at the window that filled the path: RFC 9438,
 * 4.2, with C = 0.4 packets per s^3. */
static void the_window_recovers_in_the_time_of_the_curve(void **state)
{
    for (uint64_t gap = 0; gap < 16000; gap += 1 + gap / 7) {
        struct wf_udp_flow f = {.cfg.packet = PACKET,
                                .congestion = 10 * PACKET,
                                .full = (10 + gap) * PACKET};
        uint64_t k;
        wf_udp_flow_grow_window(&f, 1, 10 * PACKET);
        k = (uint64_t)f.curve_ms;
        assert_true(k * k * k <= gap * 2500000000u);
        assert_true((k + 1) * (k + 1) * (k + 1) > gap * 2500000000u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tolerance_of_reordering_grows_and_shrinks_again),
        cmocka_unit_test(the_window_recovers_in_the_time_of_the_curve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

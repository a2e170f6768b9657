/* A section entered in a wrong order is caught where it happens, with its name
 * and those that the thread is inside (core/os/section.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"

#ifndef WF_CHECK_SECTIONS
#define WF_CHECK_SECTIONS
#endif
#include "os/section.c"

struct place {
    struct wf_lock outer, inner;
};

WF_LOCK_SECTION(outer, struct place, outer, WF_RANK_API)
WF_LOCK_SECTION(inner, struct place, inner, WF_RANK_CODES)

static struct place here, there;

static void in_order(void)
{
    WF_SECTION(outer, &here)
        WF_SECTION(inner, &here)
            ;
}

static void inner_first(void)
{
    WF_SECTION(inner, &here)
        WF_SECTION(outer, &here)
            ;
}

/* As two threads would do it to each other. */
static void two_of_a_rank(void)
{
    WF_SECTION(outer, &here)
        WF_SECTION(outer, &there)
            ;
}

static void left_twice(void)
{
    WF_SECTION(outer, &here)
        ;
    wf_leave_outer(&here);
}

static void the_order_is_allowed(void **state)
{
    char said[256];

    assert_int_equal(run_in_child(in_order, said, sizeof said), 0);
    assert_string_equal(said, "");
}

static void other_orders_end_the_program(void **state)
{
    char said[256];

    assert_int_equal(run_in_child(inner_first, said, sizeof said), SIGABRT);
    assert_non_null(strstr(said, "out of order: entering API"));
    assert_non_null(strstr(said, "inside CODES"));
    assert_int_equal(run_in_child(two_of_a_rank, said, sizeof said), SIGABRT);
    assert_non_null(strstr(said, "inside API"));
    assert_int_equal(run_in_child(left_twice, said, sizeof said), SIGABRT);
    assert_non_null(strstr(said, "leaving what was not entered"));
}

static void a_held_section_is_known(void **state)
{
    assert_false(wf_section_held(&here.outer));
    WF_SECTION(outer, &here) {
        assert_true(wf_section_held(&here.outer));
        assert_false(wf_section_held(&there.outer));
    }
    assert_false(wf_section_held(&here.outer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_allowed),
        cmocka_unit_test(other_orders_end_the_program),
        cmocka_unit_test(a_held_section_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Assertions: they end a build that checks them, and are not even evaluated in
 * one that does not.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base.h"
#include "child.h"
#include "os/mutex.h"
#include "process/rank.h"
#include "weft_assert.h"

static int evaluated;

static bool note_and_return(bool value)
{
    evaluated++;
    return value;
}

static void fail_in_core(void)
{
    static struct wf_rank rank = {.id = 7};
    static struct wf_instance wf = {.rank = &rank};

    wf_thread_instance = &wf;
    WF_ASSERT(note_and_return(true));
    WF_ASSERT(note_and_return(1 + 1 == 3));
}

static void fail_in_plugin(void)
{
    setenv("PMI_RANK", "5", 1);
    WEFT_ASSERT(note_and_return(true));
    WEFT_ASSERT(note_and_return(2 + 2 == 5));
}

static void unlock_what_is_free(void)
{
    static struct wf_mutex m;

    wf_mutex_unlock(&m);
}

#ifdef WEFT_ASSERTIONS
static void check_death(void (*what)(void), const char *rank,
                        const char *function, const char *condition)
{
    char said[512];

    assert_int_equal(run_in_child(what, said, sizeof said), SIGABRT);
    assert_ptr_equal(strstr(said, rank), said);
    assert_non_null(strstr(said, "assertions.c:"));
    assert_non_null(strstr(said, function));
    assert_non_null(strstr(said, condition));
}

static void a_failure_says_where_what_and_who(void **state)
{
    check_death(fail_in_core, "weft[7]: ", " fail_in_core: assertion '",
                "'note_and_return(1 + 1 == 3)' does not hold");
    check_death(fail_in_plugin, "weft[5]: ", " fail_in_plugin: assertion '",
                "'note_and_return(2 + 2 == 5)' does not hold");
}

static void they_are_in_the_library(void **state)
{
    char said[512];

    assert_int_equal(run_in_child(unlock_what_is_free, said, sizeof said),
                     SIGABRT);
    assert_non_null(strstr(said, "mutex.c:"));
}

static void those_that_hold_change_nothing(void **state)
{
    evaluated = 0;
    WF_ASSERT(note_and_return(true));
    WEFT_ASSERT(note_and_return(true));
    assert_int_equal(evaluated, 2);
}
#else
static void a_failure_says_where_what_and_who(void **state)
{
    skip();
}

static void they_are_in_the_library(void **state)
{
    char said[512];

    assert_int_equal(run_in_child(unlock_what_is_free, said, sizeof said), 0);
    assert_string_equal(said, "");
}

static void those_that_hold_change_nothing(void **state)
{
    char said[512];

    assert_int_equal(run_in_child(fail_in_core, said, sizeof said), 0);
    assert_int_equal(run_in_child(fail_in_plugin, said, sizeof said), 0);
    evaluated = 0;
    WF_ASSERT(note_and_return(false));
    WEFT_ASSERT(note_and_return(false));
    assert_int_equal(evaluated, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_says_where_what_and_who),
        cmocka_unit_test(they_are_in_the_library),
        cmocka_unit_test(those_that_hold_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

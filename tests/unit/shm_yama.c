/* These tests check what weft-info says of the kernel's copy between processes,
 * with and without Yama. tests/jobs/helper_yama.c checks that its rule is met.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* */
#include <cmocka.h>

#include "shm_fake.h"
#include "../fake/yama_scope.h"

static char said[256];

static void keep_object(weft_core *core, int level, const char *fmt, ...)
{
    va_list ap;

    (void)core;
    assert_int_equal(level, 2);
    va_start(ap, fmt);
    vsnprintf(said, sizeof said, fmt, ap);
    va_end(ap);
}

static const char *probe_reading(char s, int ptracer)
{
    struct fake_config cfg = fake_defaults();
    weft_host host = {.size = sizeof host, .log = keep_object};
    weft_open o = {.size = sizeof o, .host = &host, .cfg = &cfg,
                   .local_count = 2};
    weft_attr attr = {.size = sizeof attr};

    scope = s;
    cfg.ptracer = ptracer;
    assert_int_equal(weft_plugin_2_shm.ops->probe(&o, &attr), WEFT_OK);
    return said;
}

static void weft_info_names_the_rule_of_yama(void **state)
{
    (void)state;
    if (strcmp(probe_reading(0, 0), "cma: refused by the kernel") == 0)
        skip(); /* this one lets nobody */
    assert_string_equal(
        probe_reading(0, 0),
        "cma: for processes of the user (kernel.yama.ptrace_scope 0)");
    assert_string_equal(
        probe_reading('1', 0),
        "cma: for processes of one launcher (kernel.yama.ptrace_scope 1)");
    assert_string_equal(
        probe_reading('1', 1),
        "cma: for processes of the user (kernel.yama.ptrace_scope 1)");
    assert_string_equal(probe_reading('1', 2),
                        "cma: for nobody (kernel.yama.ptrace_scope 1)");
    assert_string_equal(
        probe_reading('2', 0),
        "cma: refused by the kernel (kernel.yama.ptrace_scope)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weft_info_names_the_rule_of_yama)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

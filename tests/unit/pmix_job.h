/* A job of a PMIx server that is in this process (fake_pmix.h), for unit tests.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PMIX_JOB_H
#define PMIX_JOB_H

#include "boot/boot.h"
#include "boot/by_plugin.h"
#include "tests/fake/fake_pmix.h"

extern const weft_bootstrap weft_boot_1_pmix;

static char err[512];

static inline struct wf_boot *try_to_open(int *rc)
{
    struct wf_boot *b = NULL;

    err[0] = 0;
    *rc = wf_boot_by_plugin_open(&weft_boot_1_pmix, &b, err, sizeof err);
    return b;
}

/* A job of four processes on two nodes: a and c, b and d. */
static inline struct wf_boot *open_job(uint32_t rank)
{
    struct wf_boot *b;
    int rc;

    fake_reset(rank, 4);
    pmix.nodes = "0,1";
    pmix.peers[0] = "ac";
    pmix.peers[1] = "bd";
    b = try_to_open(&rc);
    assert_int_equal(rc, 0);
    return b;
}

static inline void end_job(struct wf_boot *b)
{
    assert_int_equal(b->ops->finalize(b), 0);
    wf_boot_close(b);
    assert_int_equal(pmix.finalizes, pmix.inits);
    assert_int_equal(pmix.handlers, 0);
    assert_int_equal(pmix.unwiped, 0);
}

static inline int clear_values(void **state)
{
    fake_reset(0, 0);
    return 0;
}

#define CASE(name) cmocka_unit_test_teardown(name, clear_values)

#endif

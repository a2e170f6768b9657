/* Endpoints are closed one after the other, and their peers before them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "process/rank.h"
#include "route/links.h"
#include "route/location.h"
#include "process/endpoint.h"
#include "protocol/endpoints.h"

enum { ENDPOINTS = 2, PROCESSES = 3 };

static int peers[ENDPOINTS][PROCESSES];
static int abrupt_ones, left, closed;

/* One that has something to say yet would stay. */
static int delete_object(weft_peer *p, int abrupt)
{
    if (!abrupt)
        return WEFT_EAGAIN;
    abrupt_ones++;
    left--;
    return WEFT_OK;
}

static void close_it(weft_ep *ep)
{
    assert_int_equal(left % PROCESSES, 0); /* none of its own */
    closed++;
}

static void peers_go_at_once_whatever_is_under_way(void **state)
{
    static const weft_ops ops = {.size = sizeof ops, .peer_del = delete_object,
                                 .close = close_it};
    struct weft_loc *locs[PROCESSES];
    struct wf_rank rank = {.job.size = PROCESSES};
    struct wf_links links = {.own = {.size = PROCESSES, .of = locs},
                             .ep_count = ENDPOINTS};
    struct wf_instance wf = {.rank = &rank, .links = &links};

    for (int i = 0; i < PROCESSES; i++)
        locs[i] = calloc(1, (sizeof **locs + 63) / 64 * 64);
    for (int k = 0; k < ENDPOINTS; k++) {
        links.eps[k] = (struct weft_core){.wf = &wf, .ops = &ops, .index = k};
        for (int i = 0; i < PROCESSES; i++, left++)
            locs[i]->peers[k] = (weft_peer *)&peers[k][i];
    }
    wf_endpoints_close(&wf);
    assert_int_equal(abrupt_ones, ENDPOINTS * PROCESSES);
    assert_int_equal(closed, ENDPOINTS);
    assert_int_equal(links.ep_count, 0);
    for (int i = 0; i < PROCESSES; i++) {
        for (int k = 0; k < ENDPOINTS; k++)
            assert_null(locs[i]->peers[k]);
        free(locs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_go_at_once_whatever_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Fuzz target: any bytes as the state page of a process
 * (tools/mpirun/state_report.h).
 *
 * Whatever stands there gives a line for each rank, which ends within its room
 * and has nothing in it that a terminal would obey.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "state_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RANKS = 2, ROOM = 8 };

uint64_t wf_job_now(void)
{
    return 1000000000;
}

static void check_text(const char *text, size_t size)
{
    size_t n = strnlen(text, size);

    if (n == size || n == 0)
        abort();
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~')
            abort();
}

static void say_something(const struct rank_state *w)
{
    struct job job = {.size = RANKS};
    struct rank rank = {.rank_count = RANKS, .awaited_rank = -1};
    char text[512], small[40];

    for (int brief = 0; brief < 2; brief++) {
        wf_state_report_text(&job, &rank, w, brief, text, sizeof text);
        check_text(text, sizeof text);
        wf_state_report_text(&job, &rank, w, brief, small, sizeof small);
        check_text(small, sizeof small);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = wf_state_bytes(RANKS);
    struct wf_state_head *page = calloc(1, bytes);
    struct rank_state all[ROOM];
    int n;

    if (!page)
        return 0;
    memcpy(page, data, size < bytes ? size : bytes);
    for (int place = 0; place < RANKS; place++) {
        if (!wf_state_report_judge(page, RANKS, place, 2000000000, all, ROOM,
                                   &n) ||
            n < 1 || n > ROOM)
            abort();
        for (int i = 0; i < n; i++)
            say_something(&all[i]);
    }
    free(page);
    return 0;
}

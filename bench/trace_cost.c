/* The cost of an event of a trace (core/report/trace.h): processor time per
 * event written to the ring, and of that the time to read the counter.
 *
 *   trace_cost FILE [EVENTS]      FILE is made, and stays
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "report/trace.h"

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    struct wf_trace_params p = {.path = argc > 1 ? argv[1] : "trace_cost.trace",
                                .bytes = 1 << 20,
                                .ranks = 1,
                                .host = "here"};
    uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 0) : 4000000, sum = 0;
    struct wf_trace *t;
    double start, written, read;

    if (wf_trace_open(&p, &t) != 0)
        return 1;
    start = cpu_ns();
    for (uint64_t i = 0; i < events; i++) {
        struct wf_trace_record r = {.ticks = wf_trace_ticks(), .bytes = i};
        wf_trace_add(t, &r, WF_TRACE_MATCH);
    }
    written = cpu_ns();
    for (uint64_t i = 0; i < events; i++)
        sum += wf_trace_ticks();
    read = cpu_ns();
    printf("%.1f ns per event, of which the counter %.1f ns%s\n",
           (written - start) / (double)events,
           (read - written) / (double)events, sum ? "" : " (it stands still)");
    wf_trace_close(t);
    return 0;
}

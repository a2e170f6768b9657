/* The events of a rank: events.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/events.h"

#include "config/config.h"
#include "os/section.h"
#include "process/process.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "protocol/fastpath.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "report/trace_note.h"

/* Starts and stops of a rank's recording exclude each other. */
static struct recording {
    struct wf_lock lock;
} recording;

WF_LOCK_SECTION(recording, struct recording, lock, WF_RANK_START)

/* Tells whether core.trace names a file. */
static bool has_file(const struct wf_rank *rank)
{
    const char *path = rank->options->trace;

    return WF_TRACE && path && strcmp(path, "off") != 0;
}

int wf_events_open(struct wf_instance *wf)
{
    const struct wf_rank *rank = wf->rank;
    bool file = has_file(rank);
    struct wf_trace_params p = {.path = file ? rank->options->trace : NULL,
                                .bytes = file ? rank->options->trace_size : 0,
                                .rank = rank->id,
                                .ranks = rank->job.size,
                                .host = rank->host};

    /* pairs with the release of the tool that observes */
    if (!file && !(WF_TRACE && wf_load_acquire(&wf_process_state.observer)))
        return 0;
    return wf_trace_open(&p, &wf->trace);
}

/* Make the ring, unless the rank has one. Returns true if it was made here. */
static bool make_ring(struct wf_instance *home, int *r)
{
    bool made = false;

    WF_SECTION(api, home)
        if (!home->trace) {
            *r = wf_events_open(home);
            made = home->trace != NULL;
        }
    return made;
}

static int start_engines(struct wf_instance *home)
{
    int r = 0;

    if (!make_ring(home, &r))
        return r;
    for (struct wf_instance *e = home; r == 0 && e; e = wf_engine_after(e)) {
        WF_SECTION(api, e) {
            e->trace = home->trace;
            r = wf_traced_start(e);
            wf_fastpath_update(e);
        }
    }
    return r;
}

static void stop_engine(struct wf_instance *wf)
{
    WF_SECTION(api, wf) {
        wf_traced_stop(wf);
        wf->trace = NULL;
        wf_fastpath_update(wf);
    }
}

static void stop_engines(struct wf_instance *home)
{
    struct wf_trace *trace = home->trace;

    if (!trace || !trace->in_memory)
        return;
    for (struct wf_instance *e = wf_engine_after(home); e;
         e = wf_engine_after(e))
        stop_engine(e);
    stop_engine(home);
    wf_trace_close(trace);
}

int wf_events_start(struct wf_instance *wf)
{
    int r = WEFT_ENOTSUP;

    WF_SECTION(recording, &recording)
        if (WF_TRACE) {
            r = start_engines(wf_home(wf));
            if (r != 0)
                stop_engines(wf_home(wf));
        }
    return r;
}

void wf_events_stop(struct wf_instance *wf)
{
    WF_SECTION(recording, &recording)
        stop_engines(wf_home(wf));
}

/* The short path's rare cases: see short.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/short.h"

#include "env/errhandler.h"

const struct wf_comm *wf_short_world = &wf_comm_nobody;
bool wf_short_on;

void wf_short_update(struct wf_instance *wf)
{
    bool on = wf && !wf->api.on;
    const struct wf_comm *world =
        on && wf->world ? wf->world : &wf_comm_nobody;

    if (wf != wf_load_relaxed(&wf_process_instance))
        return; /* one of many in a simulation */
    /* others may read them: written only when they change, which is while no
     * other thread may be inside */
    if (wf_short_on != on)
        wf_short_on = on;
    if (wf_short_world != world)
        wf_short_world = world;
}

static void undo(struct weft_loc *loc, uint64_t n)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    loc->credit += (int64_t)(n + WF_MESSAGE_OVERHEAD);
    l->bytes -= n;
    l->seq--;
}

static const char *name_of(bool large, bool request)
{
    if (request)
        return large ? "MPI_Isend_c" : "MPI_Isend";
    return large ? "MPI_Send_c" : "MPI_Send";
}

/* The type was contiguous: the same message as bytes. */
int wf_short_late(struct weft_core *core, struct weft_loc *loc, uint64_t h0,
                  uint64_t h1, uint64_t h2, const void *data)
{
    struct wf_comm *comm = (struct wf_comm *)(loc->late & ~(uintptr_t)7);
    bool large = loc->late & WF_LATE_LARGE;
    struct wf_req **request = loc->late_request, *req;
    int rc;

    undo(loc, h0 >> 32);
    if (!comm)
        return WEFT_EAGAIN;
    rc = wf_isend_queued(comm, data, h0 >> 32, wf_type_of(MPI_BYTE),
                         (int)(uint32_t)h1, wf_env_tag(h2), WF_SPACE_P2P,
                         WF_SEND_STANDARD, request ? request : &req);
    if (!rc && !request)
        rc = wf_wait(&req, MPI_STATUS_IGNORE);
    return rc ? wf_raise(comm->wf, comm, name_of(large, request), rc)
              : MPI_SUCCESS;
}

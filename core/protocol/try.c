/* Messages of the library that are tried without a request: they move at once
 * or not at all. The caller falls back to a request where a try fails.
 *
 * The envelopes are ones that no other receive can have, wildcards included:
 * a space of the library's own and a tag of this operation. So it does not
 * matter which receives the program has posted, or which messages are stored
 * for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/try.h"

#include "object/status.h"
#include "protocol/comm_route.h"
#include "protocol/fastpath.h"
#include "protocol/receive.h"
#include "route/location.h"

bool wf_try_send(struct wf_comm *comm, const void *data, uint64_t bytes,
                 int dest, int tag, enum wf_space space)
{
    struct weft_loc *loc = wf_contact_of(comm, dest);

    return wf_likely(loc != NULL) && !wf_comm_route_keys(comm, space) &&
           wf_fastpath_try_send(
               loc, data, bytes,
               wf_env0(space, comm->send_context, (uint32_t)dest),
               wf_env1((uint32_t)comm->rank, (uint32_t)tag), false) == WEFT_OK;
}

bool wf_try_recv(struct wf_comm *comm, void *buf, uint64_t bytes, int source,
                 int tag, enum wf_space space, struct wf_try_result *now)
{
    struct weft_loc *loc = wf_contact_of(comm, source);
    uint64_t mask = wf_match_mask(source, tag);
    struct wf_expected what = {
        .env0 = wf_env0(space, comm->context, (uint32_t)comm->rank),
        .env1 = wf_env1((uint32_t)source, (uint32_t)tag),
        .mask = mask,
        .buf = buf,
        .bytes = bytes,
        .comm = comm,
    };
    MPI_Status status;

    if (WF_TRACING(comm->wf)) /* by a request, which has records */
        return false;
    if (!wf_receive_now(comm, loc, &what, &status, &now->error))
        return false;
    now->bytes = now->error ? 0 : wf_status_bytes(&status);
    return true;
}

/* The events of shared-memory collectives in the trace of the rank.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/record.h"

#include "coll/coll.h"
#include "process/instance.h"
#include "report/state.h"

void wf_shmcoll_note_call(const struct wf_comm *comm)
{
    struct wf_trace_collective c = {.name = wf_call_name,
                                    .algorithm = "shared_memory",
                                    .reason = "all ranks map one segment",
                                    .context = comm->context,
                                    .engine = comm->wf->number};

    wf_trace_add_collective(comm->wf->trace, &c);
}

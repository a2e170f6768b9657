/* Where the process stands between MPI_Init and MPI_Finalize; the API section.
 *
 * The end leaves no instance to ask, so this is one of the few facts that
 * belong to the process (instance.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

wf_atomic_u32 wf_process_phase;

void wf_api_lock(struct wf_cs *cs)
{
    wf_cs_enter(cs);
}

void wf_api_unlock(struct wf_cs *cs)
{
    wf_cs_leave(cs);
}

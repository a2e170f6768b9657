/* Where the process stands between MPI_Init and MPI_Finalize; the API section.
 *
 * The end leaves no instance to ask, so this is one of the few facts that
 * belong to the process (instance.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

wf_atomic_u32 wf_process_finished;

enum wf_phase wf_api_phase(void)
{
    if (wf_current())
        return WF_PHASE_INSIDE;
    /* pairs with the release in wf_api_finished */
    return wf_load_acquire(&wf_process_finished) ? WF_PHASE_AFTER
                                                 : WF_PHASE_BEFORE;
}

void wf_api_finished(void)
{
    wf_store_release(&wf_process_finished, 1);
}

void wf_api_lock(struct wf_cs *cs)
{
    wf_cs_enter(cs);
}

void wf_api_unlock(struct wf_cs *cs)
{
    wf_cs_leave(cs);
}

/* The process as the program sees it, and the API section.
 *
 * Where it stands between MPI_Init and MPI_Finalize is known while there is no
 * instance, so it belongs to the process (instance.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

struct wf_process wf_process_state;
_Thread_local struct wf_process *wf_thread_process WF_TLS_NEAR;

void wf_api_lock(struct wf_cs *cs)
{
    wf_cs_enter(cs);
}

void wf_api_unlock(struct wf_cs *cs)
{
    wf_cs_leave(cs);
}

int wf_api_end(struct wf_instance *wf, void *on, const char *function, int rc)
    WF_LEAVES(wf->api) WF_UNANALYSED
{
    wf_api_unlock(&wf->api);
    return wf_unlikely(rc) ? wf_raise(wf, on, function, rc) : MPI_SUCCESS;
}

void wf_api_enter_early(struct wf_instance *wf)
    WF_ENTERS(wf->api) WF_UNANALYSED
{
    if (wf && wf->api.threads)
        wf_api_lock(&wf->api);
}

void wf_api_leave_early(struct wf_instance *wf)
    WF_LEAVES(wf->api) WF_UNANALYSED
{
    if (wf && wf->api.threads)
        wf_api_unlock(&wf->api);
}

/* The record of the process (struct wf_process), and the API section out of
 * line.
 *
 * The phase (before MPI_Init, inside, after MPI_Finalize) must be known while
 * there is no instance, so it belongs to the process (process.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "process/instance.h"
#include "process/process.h"

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

/* The instances that wf_current finds: that of the process, and that of a
 * thread which is a rank of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "process/instance.h"

struct wf_instance *_Atomic wf_process_instance;
_Thread_local struct wf_instance *wf_thread_instance WF_TLS_NEAR;

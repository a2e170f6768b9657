/* The rare parts of critical sections: see critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lock/critical.h"

_Thread_local struct wf_cs_deferred_unlock wf_cs_deferred_unlock WF_TLS_NEAR;

void wf_cs_finish_deferred_unlock(void) WF_UNANALYSED
{
    struct wf_cs_deferred_unlock pending = wf_cs_deferred_unlock;

    wf_cs_deferred_unlock = (struct wf_cs_deferred_unlock){NULL, NULL};
    if (pending.failed_bias_slot)
        wf_mutex_wake_revoker(pending.failed_bias_slot);
    if (pending.inside)
        wf_cs_unlock(pending.inside);
}

bool wf_cs_enable_locking(struct wf_cs *cs)
{
    wf_mutex_lock(&cs->mutex);
    if (wf_cs_is_alone(cs))
        wf_cs_set_mode(cs, WF_CS_SHARED);
    wf_mutex_unlock(&cs->mutex);
    return true;
}

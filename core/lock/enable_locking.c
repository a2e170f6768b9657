/* Switching on the lock of a section that one thread had to itself: see
 * critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lock/enable_locking.h"

#include "lock/critical.h"

bool wf_cs_enable_locking(struct wf_cs *cs)
{
    wf_mutex_lock(&cs->mutex);
    if (wf_cs_is_alone(cs))
        wf_cs_set_mode(cs, WF_CS_SHARED);
    wf_mutex_unlock(&cs->mutex);
    return true;
}

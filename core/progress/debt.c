/* The deferred unlock of the fast path: see wf_cs_take_again in critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/critical.h"

_Thread_local struct wf_cs_debt wf_cs_debt WF_TLS_NEAR;

void wf_cs_pay(void) WF_UNANALYSED
{
    struct wf_cs_debt debt = wf_cs_debt;

    wf_cs_debt = (struct wf_cs_debt){NULL, NULL};
    if (debt.failed_bias_slot)
        wf_mutex_left(debt.failed_bias_slot);
    if (debt.inside)
        wf_cs_give(debt.inside);
}

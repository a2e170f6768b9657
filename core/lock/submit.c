/* Running what was submitted, by the submitter or by a thread that leaves: see
 * critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "lock/submit.h"

#include "lock/critical.h"

void wf_cs_try_run_submitted(struct wf_cs *cs) WF_UNANALYSED
{
    do {
        wf_fence_full(); /* pairs with the fence in wf_mutex_pass_ticket */
        if (!wf_mutex_try_revoking(&cs->mutex))
            /* the holder of the ticket checks after it has passed it on */
            return;
        wf_section_entering(WF_RANK_API, cs);
        cs->run(cs);
        wf_mutex_unlock(&cs->mutex);
        wf_section_left(WF_RANK_API, cs);
    } while (wf_stack_has_items(&cs->submitted));
}

/* Running what was submitted, by the submitter or by a thread that leaves: see
 * critical.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_LOCK_SUBMIT_H
#define WF_LOCK_SUBMIT_H

#include "base.h"

struct wf_cs;

/* Run what is submitted, unless another thread is inside. */
void wf_cs_try_run_submitted(struct wf_cs *);

#endif

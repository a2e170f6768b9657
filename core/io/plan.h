/* The plan of a two-phase access.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_PLAN_H
#define WF_IO_PLAN_H

#include "base.h"

struct wf_exchange;
struct wf_twophase;

/* Makes the memory that a plan needs. False: out of memory. */
bool wf_exchange_init(struct wf_exchange *, int members);
void wf_exchange_fini(struct wf_exchange *);
/* Chooses whether the access goes in two phases, by what all have told, and
 * divides the file. False: it does not. */
bool wf_exchange_plan(struct wf_twophase *);

#endif

/* The plan of a two-phase access.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_PLAN_H
#define WF_IO_PLAN_H

#include "base.h"

struct wf_exchange;
struct wf_twophase;

/* Makes the memory of an access that has so many members, with what its plan
 * needs; free() frees it. NULL: out of memory. */
struct wf_twophase *wf_twophase_allocate(int members);
/* Frees what an access has got, and makes it ready for another one. */
void wf_exchange_reset(struct wf_exchange *);
/* Chooses whether the access goes in two phases, by what all have told, and
 * divides the file. False: it does not. */
bool wf_exchange_plan(struct wf_twophase *);

#endif

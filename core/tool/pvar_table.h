/* Performance variables of MPI_T: the counters that transports and queues have
 * anyway.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_PVAR_TABLE_H
#define WF_TOOL_PVAR_TABLE_H

#include "base.h"

struct wf_instance;
struct wf_pvar;

/* Store performance variable i in *v; false: there is none. */
bool wf_tool_find_pvar(int i, struct wf_pvar *);

/* Returns the number of performance variables. */
int wf_tool_count_pvars(void);

/* Returns the value of a variable in one engine. */
uint64_t wf_tool_read_pvar(const struct wf_pvar *, struct wf_instance *);

/* Returns whether the variable needs calls to be timed. */
bool wf_tool_pvar_times_calls(const struct wf_pvar *);

#endif

/* Control variables of MPI_T: the [core] keys of mpi.ini with their values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_CVAR_H
#define WF_TOOL_CVAR_H

#include "base.h"

/* Returns the number of control variables, which are the rows of
 * wf_core_table. */
int wf_tool_count_cvars(void);

#endif

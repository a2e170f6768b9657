/* Integers for handles: MPI_X_toint and MPI_X_fromint (MPI-5.0 s2.5.8).
 *
 * A predefined handle is its own integer. For any other handle the instance
 * numbers the address the first time it is asked; the number stands for that
 * address until MPI_Finalize, whatever object lives there, so the table grows
 * with distinct addresses only.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HANDLE_INT_H
#define WF_HANDLE_INT_H

#include "instance.h"

/* fn is the MPI function, for the message when the table cannot help. */
int wf_handle_toint(const char *fn, const void *handle);
/* NULL for an integer that no call gave out. */
void *wf_handle_fromint(const char *fn, int value);
/* Called by the end of the instance. */
void wf_handle_ints_free(struct wf_instance *);

#endif

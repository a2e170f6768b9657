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

struct wf_instance;

/* Returns the integer of a handle. fn: the MPI function, for error messages. */
int wf_handle_toint(const char *fn, const void *handle);
/* Returns the handle of an integer, or NULL if no call gave that out. */
void *wf_handle_fromint(const char *fn, int value);
#endif

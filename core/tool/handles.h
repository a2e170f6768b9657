/* Handles of MPI_T: numbers, not addresses, so that one that was freed, or never
 * given out, is recognised without being followed.
 *
 *   handle = generation of the slot << 16 | FIRST + slot
 *
 * INVARIANT  a handle finds the object that it was made for, with its kind, until
 * it is dropped, and nothing afterwards (until a slot has been used 65535 times).
 *
 * LOCK  the table's own: any thread may call these at any time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_HANDLES_H
#define WF_TOOL_HANDLES_H

enum wf_tool_kind {
    WF_TOOL_FREE, /* no object: the slot is not in use */
    WF_TOOL_CVAR,
    WF_TOOL_PVAR_SESSION,
    WF_TOOL_PVAR
};

/* A new handle for the object. NULL: there is no memory, or no number left. */
void *wf_tool_handle_create(enum wf_tool_kind, void *object);
/* The object of the handle, or NULL if it is no handle of this kind. */
void *wf_tool_handle_find(enum wf_tool_kind, const void *handle);
/* The handle, which must be valid, finds nothing any more. */
void wf_tool_handle_drop(const void *handle);

#endif

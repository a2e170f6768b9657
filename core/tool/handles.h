/* Handles of MPI_T: numbers rather than addresses, so that a handle that was
 * freed, or never given out, is recognised without reading memory.
 *
 *   handle = generation of the slot << 16 | FIRST + slot
 *
 * INVARIANT  A handle finds the object for which it was made, with its kind,
 * until it is dropped, and nothing afterwards (until a slot has been used 65535
 * times).
 *
 * LOCK  The table has its own: any thread may call these functions at any time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOOL_HANDLES_H
#define WF_TOOL_HANDLES_H

enum wf_tool_kind {
    WF_TOOL_FREE, /* no object: the slot is not in use */
    WF_TOOL_CVAR,
    WF_TOOL_PVAR_SESSION,
    WF_TOOL_PVAR,
    WF_TOOL_EVENT
};

/* Create a handle for the object. NULL: there is no memory, or no number
 * left. */
void *wf_tool_handle_create(enum wf_tool_kind, void *object);
/* Returns the object of the handle, or NULL if it is no handle of this kind. */
void *wf_tool_handle_find(enum wf_tool_kind, const void *handle);
/* End a valid handle: from now on it finds nothing. */
void wf_tool_handle_drop(const void *handle);

#endif

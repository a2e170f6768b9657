/* Files as the bindings see them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_HANDLE_H
#define WF_IO_HANDLE_H

#include "object/handle.h"

struct wf_file;

/* Returns the file of a handle, or NULL. */
struct wf_file *wf_file_of(MPI_File);
/* Returns the engine that the file is on. */
struct wf_instance *wf_file_engine(const struct wf_file *);
/* Returns the object for errors of calls that have no file: the error handler
 * of MPI_FILE_NULL (MPI-5.0 s14.7). */
void *wf_file_null(struct wf_instance *);
/* Returns the file, or that object if it is NULL. */
static inline void *wf_file_or_null(struct wf_instance *wf, struct wf_file *f)
{
    return f ? (void *)f : wf_file_null(wf);
}

#endif

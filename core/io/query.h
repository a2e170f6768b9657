/* Positions in a view, as the program counts them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_QUERY_H
#define WF_IO_QUERY_H

#include "io/file.h"

/* Computes where a pointer at `position` (bytes of the stream) is after
 * MPI_File_seek. An error class. */
int wf_file_find_position(const struct wf_file *, MPI_Offset offset, int whence,
                          uint64_t position, uint64_t *out);
/* Returns the etypes in bytes of the stream. */
MPI_Offset wf_file_count_etypes(const struct wf_file *, uint64_t bytes);

#endif

/* The one body of the bindings of all functions that access a file, but for the
 * blocking ones of one process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_API_FILE_ACCESS_H
#define WF_API_FILE_ACCESS_H

#include "api/check.h"
#include "io/calls.h"
#include "io/collective_calls.h"
#include "io/shared_calls.h"

/* Elements in memory. */
struct wf_file_elements {
    MPI_Count count;
    MPI_Datatype type;
};

/* Check the arguments of a function, and perform it; out as in
 * wf_file_function.perform. The second one has an MPI_Count. Each returns the
 * result of the MPI function. */
int wf_api_access(MPI_File, MPI_Offset, const void *buf,
                  struct wf_file_elements, void *out,
                  const struct wf_file_function *);
int wf_api_access_large(MPI_File, MPI_Offset, const void *buf,
                        struct wf_file_elements, void *out,
                        const struct wf_file_function *);

/* Ends a split collective: the binding of MPI_File_x_end. */
int wf_api_end_split(MPI_File, MPI_Status *, const char *name, enum wf_split);

#endif

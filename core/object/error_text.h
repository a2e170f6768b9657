/* A sentence for each predefined error class, MPI_Error_class and
 * MPI_Error_string (MPI-5.0 s9.4).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_ERROR_TEXT_H
#define WF_OBJECT_ERROR_TEXT_H

#include "base.h"

/* Returns the name of a code: "MPI_ERR_RANK", or "error code 17000" in a buffer
 * of this thread. */
const char *wf_error_name(int mpi_class);

/* Returns the sentence that explains a predefined class, or NULL. */
const char *wf_error_sentence(int mpi_class);

#endif

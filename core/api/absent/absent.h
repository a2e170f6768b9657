/* Functions of the standard that Weft does not implement, in libmpi_abi.so: the
 * generated definitions (core/api/absent.py) raise an error by one of these.
 *
 * fn and chapter name the function in the error's text. Each returns what the
 * MPI function is to return.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ABSENT_H
#define WF_ABSENT_H

#include "api/check.h"

/* Through the handler of MPI_COMM_SELF (MPI-5.0 s9.3). */
WF_COLD int wf_absent(const char *fn, const char *chapter);
/* Through the communicator's, if the handle is of one. */
WF_COLD int wf_absent_comm(MPI_Comm, const char *fn, const char *chapter);
/* Through the handler of MPI_FILE_NULL, which is MPI_ERRORS_RETURN as long as
 * no function can replace it (s14.7). */
WF_COLD int wf_absent_file(const char *fn, const char *chapter);

#endif

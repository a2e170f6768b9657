/* Raises the error of a function that is not implemented: see absent.h.
 *
 * DESIGN  The error is the same before MPI_Init and after MPI_Finalize: that
 * the function is missing is what the user has to know, and not when it was
 * called.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/absent/absent.h"

#include "group/raise.h"
#include "object/errhandler.h"
#include "object/error.h"

static int raise_absent(void *on, const char *fn, const char *chapter)
{
    return wf_raise(wf_current(), on, fn,
                    wf_error(MPI_ERR_UNSUPPORTED_OPERATION,
                             "%s is not implemented in Weft " WEFT_VERSION
                             " (chapter \"%s\" of the standard): weft-info "
                             "--functions lists what is",
                             fn, chapter));
}

int wf_absent(const char *fn, const char *chapter)
{
    return raise_absent(NULL, fn, chapter);
}

int wf_absent_comm(MPI_Comm comm, const char *fn, const char *chapter)
{
    struct wf_instance *wf = wf_current();

    return raise_absent(wf ? wf_api_comm(wf, comm) : NULL, fn, chapter);
}

int wf_absent_file(const char *fn, const char *chapter)
{
    return raise_absent(wf_errhandler_of(MPI_ERRORS_RETURN), fn, chapter);
}

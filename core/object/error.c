/* Errors of the chapters: the cause of the last one on this thread.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/error.h"

#include <stdarg.h>

int wf_error(int mpi_class, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    wf_fail_with_args(NULL, wf_error_status(mpi_class), fmt, args);
    va_end(args);
    return mpi_class;
}

int wf_error_on(void *owner, int mpi_class, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    wf_fail_with_args(owner, wf_error_status(mpi_class), fmt, args);
    va_end(args);
    return mpi_class;
}

int wf_error_raise_as(int mpi_class)
{
    const struct wf_error_record cause = *wf_error_last();

    return wf_error(mpi_class, "%s", cause.text);
}

struct wf_error_record *wf_error_take_record(int mpi_class)
{
    struct wf_error_record *r = wf_error_last();
    bool fresh = wf_error_take_fresh();

    if (!fresh || wf_error_class(r->status) != mpi_class) {
        r->owner = NULL;
        r->text[0] = 0;
        r->status = wf_error_status(mpi_class);
    }
    return r;
}

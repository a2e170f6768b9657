/* Errors of the chapters: the cause of the last one on this thread.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_ERROR_H
#define WF_OBJECT_ERROR_H

#include "object/error_class.h"
#include "report/error.h"

/* Record the cause of an MPI error on this thread; returns mpi_class, so that
 * `return wf_error(MPI_ERR_TAG, "...", ...)` reads as what it does. The text
 * is a clause without a final full stop: "tag -7 is negative". */
int wf_error(int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Record the last failure again, as one of this class, which is returned: a
 * status has not told which class it is for the program. */
int wf_error_raise_as(int mpi_class);

/* Record an error as wf_error does, and with it the MPI object that owns the
 * error (object/owner.h), for calls that do not name it (wait, test, start).
 * owner: begins with a struct wf_object; or NULL. */
int wf_error_on(void *owner, int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the thread's error record for an error of this class that is raised
 * now. If the last error of the thread was of another class, or was raised
 * already, the record is emptied and set to mpi_class. */
struct wf_error_record *wf_error_take_record(int mpi_class);

#endif

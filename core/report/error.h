/* The cause of the last error on this thread, and the log.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REPORT_ERROR_H
#define WF_REPORT_ERROR_H

#include "base.h"

struct wf_comm;
struct wf_error_record;
struct wf_instance;

/* Record the cause of an MPI error on this thread; returns mpi_class, so that
 * `return wf_error(MPI_ERR_TAG, "...", ...)` reads as what it does. The text
 * is a clause without a final full stop: "tag -7 is negative". */
int wf_error(int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Record an error as wf_error does, and with it the communicator whose error
 * handler applies, for calls that have no communicator argument (wait, test,
 * start). */
int wf_error_on(struct wf_comm *comm, int mpi_class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct wf_error_record *wf_error_last(void);

/* Returns the MPI class of an engine's code: MPI_ERR_NO_MEM for WEFT_ENOMEM,
 * MPI_ERR_PROC_ABORTED where a peer or the way to it is gone, else
 * MPI_ERR_OTHER. */
int wf_error_class(int code);

/* Empty the record, so that a text found in it later was recorded after this
 * call. */
void wf_error_clear(void);

void wf_log(struct wf_instance *wf, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the thread's error record for an error of this class that is raised
 * now. If the last wf_error of the thread was of another class, or was raised
 * already, the record is emptied and set to mpi_class. */
struct wf_error_record *wf_error_take_record(int mpi_class);

#endif

/* The cause of the last error on this thread, and the log.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REPORT_ERROR_H
#define WF_REPORT_ERROR_H

#include <stdarg.h>

#include "report/status.h"

struct wf_instance;

/* Record the cause of a failure on this thread; returns status, so that
 * `return wf_fail(WEFT_ENOMEM, "...", ...)` reads as what it does. The text is
 * a clause without a final full stop: "no memory for the job key". Chapters
 * call wf_error (object/error.h) instead. */
int wf_fail(int status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Record a failure as wf_fail does, and with it the MPI object that owns the
 * error (object/owner.h), for calls that do not name it (wait, test, start).
 * owner: begins with a struct wf_object; or NULL. */
int wf_fail_on(void *owner, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void wf_fail_with_args(void *owner, int status, const char *fmt, va_list)
    __attribute__((format(printf, 3, 0)));

struct wf_error_record *wf_error_last(void);

/* Empty the record, so that a text found in it later was recorded after this
 * call. */
void wf_error_clear(void);

/* Make the record match no error, so that a status found in it later was
 * recorded after this call. */
void wf_error_forget(void);

/* Make the record name no owner if it names this one, which ends. */
void wf_error_disown(const void *owner);

/* Whether the last error was recorded after the last call of this function:
 * each one is raised once. */
bool wf_error_take_fresh(void);

void wf_log(struct wf_instance *wf, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif

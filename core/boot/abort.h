/* The end of a process that cannot go on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ABORT_H
#define WF_ABORT_H

struct wf_instance;

/* Print the message, tell the launcher, and end the process. wf may be NULL:
 * the launcher is not told. */
void wf_abort(struct wf_instance *wf, int code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#endif

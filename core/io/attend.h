/* Waiting for others in calls on files, and the progress thread's help.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_ATTEND_H
#define WF_IO_ATTEND_H

#include "base.h"

struct weft_loc;
struct wf_file;
struct wf_instance;

/* Waits until done(arg) is true. watched: the process that is to make it so,
 * which is noticed when it is gone; NULL: none. */
void wf_file_await(struct wf_file *, struct weft_loc *watched,
                   bool (*done)(void *), void *arg);

/* Has the progress thread serve an engine whatever the program does; false:
 * there is none. One wf_io_stop_attending is due for each that was true. */
bool wf_io_attend(struct wf_instance *);
void wf_io_stop_attending(struct wf_instance *);

#endif

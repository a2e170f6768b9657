/* How files use the progress engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_WAIT_H
#define WF_IO_WAIT_H

#include "base.h"

struct wf_file;
struct wf_instance;

/* Waits until done(arg). mask: the event sources that can make it true. */
void wf_file_wait(const struct wf_file *, uint32_t mask, bool (*done)(void *),
                  void *arg);

/* Waits until done(arg), at most as long as closing may take
 * (core.close_timeout). */
void wf_file_wait_at_end(const struct wf_file *, bool (*done)(void *),
                         void *arg);

/* Has the progress thread serve the engine whatever the program does; false:
 * there is none. Then takes that back. */
bool wf_file_attend(struct wf_instance *);
void wf_file_stop_attending(struct wf_instance *);

#endif

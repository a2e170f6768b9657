/* A state page (core/report/state_page.h) is for the launcher a file that it
 * makes and whose bytes it does not trust.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_STATE_PAGE_FILE_H
#define WF_MPIRUN_STATE_PAGE_FILE_H

#include <sys/types.h>

#include "report/state_page.h"

/* Returns a descriptor (close on exec) of the page of a process that holds so
 * many ranks; -1: there is no page, and the job goes on without. */
int wf_state_page_create(int ranks);
/* Write FD:INODE for the environment; returns false if fd is not a
 * descriptor. */
bool wf_state_page_name(int fd, char *text, size_t size);
/* Returns the descriptor that an environment variable of that form names, if it
 * is the same file; else -1. */
int wf_state_page_inherited(const char *variable);

/* Returns a copy of the page, to be freed, in which a slot that was being
 * written all the time is free; NULL without memory or if the page is not
 * readable. */
struct wf_state_head *wf_state_page_read(int fd, int ranks);
struct wf_state_place *wf_state_page_places(struct wf_state_head *);
struct wf_state_slot *wf_state_page_slots(struct wf_state_head *, int ranks);

/* Returns R, S, D, T, t or Z as in /proc/PID/stat; 0: no such process. */
char wf_state_page_process_state(pid_t pid);

#endif

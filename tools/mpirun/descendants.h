/* These functions find and signal the processes below another one, which they
 * look up in /proc.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DESCENDANTS_H
#define WF_DESCENDANTS_H

#include <sys/types.h>

/* Send the signal to all processes below root but `except`; returns how many
 * got it. */
int wf_descendants_signal(pid_t root, int sig, pid_t except);
/* Send the signal to root and the processes below it, each only if it catches
 * the signal: the others do not expect it and would end. Root may instead wait
 * for it (sigwait, signalfd); a process below in which it is blocked may be one
 * that is about to be executed. */
void wf_descendants_notify(pid_t root, int sig);
/* Kill and reap all children of this process and everything below them, but not
 * the guard, a child without children of its own. Clears *guard if the guard
 * has ended by itself. */
void wf_descendants_end(pid_t *guard);

#endif

/* Processes below another one, from /proc.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DESCENDANTS_H
#define WF_DESCENDANTS_H

#include <sys/types.h>

/* Send the signal to all but `except`; how many got it. */
int wf_descendants_signal(pid_t root, int sig, pid_t except);
/* To root and those below it, each only if it catches the signal: the others do
 * not expect it, and would end. Root may wait for it instead (sigwait, signalfd);
 * below, a process in which it is blocked may be one that is about to be executed. */
void wf_descendants_notify(pid_t root, int sig);
/* No child of ours, and nothing below one, is left afterwards. */
void wf_descendants_end(void);

#endif

/* This is what /proc/<pid>/stat tells of a process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROC_STAT_H
#define WF_PROC_STAT_H

#include <stdbool.h>
#include <sys/types.h>

struct wf_proc_stat {
    char state; /* a letter, as in proc(5) */
    pid_t parent;
    /* Bytes of address space; 0: a thread of the kernel, or it has ended. */
    unsigned long long memory;
    /* Addresses; 0: not set yet, or this user may not know them. */
    unsigned long long environ_begin, environ_end;
};

/* Returns false if there is no such process, or it cannot be looked into. */
bool wf_proc_stat_read(pid_t pid, struct wf_proc_stat *);

#endif

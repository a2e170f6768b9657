/* Binding decides which processors of this host each of its processes may use.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_BINDING_H
#define WF_MPIRUN_BINDING_H

#include "machine.h"
#include "placement.h"

struct job;
struct rank;

enum binding_result {
    BINDING_UNBOUND,
    BINDING_MADE,
    BINDING_REFUSED /* the error says why, and what works */
};

/* The processes of one host, in the order of their ranks. */
struct local_processes {
    int count;
    const int *held; /* ranks of each */
};

/* Make the sets, one for each process (bind_sets.c). sets: [count] */
enum binding_result wf_binding_make(const struct machine *,
                                    const struct placement *,
                                    const struct local_processes *,
                                    struct wf_cpus *sets, char *error);

/* Returns whether the policy speaks of processors. */
bool wf_binding_asked(const struct placement *);
/* Bind the processes that this mpirun starts. Returns false after a message if
 * that is refused. */
bool wf_binding_all(struct job *);
/* Returns how many processes the processors ask for without -n; 0 after a
 * message if that is refused. */
int wf_binding_count(const struct placement *);
/* Print the binding that the kernel reports for a started process
 * (--report-bindings). */
void wf_binding_report(const struct job *, const struct rank *);
/* Write "processors 0-1 (socket 0, NUMA node 0, core 0)". */
void wf_binding_text(const struct job *, const struct wf_cpus *, char *text,
                     size_t size);

#endif

/* A CPU layout says which processors the processes of one host use.
 *
 * Every process takes its processors in one part of the machine: the next part
 * in turn (--map-by numa), the first part that has not got its number of
 * processes yet (ppr:2:socket), or the whole machine. Within the part it takes
 * the processors with the fewest users, in the order of the machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_CPU_LAYOUT_H
#define WF_MPIRUN_CPU_LAYOUT_H

#include "binding.h"

struct cpu_layout {
    const struct machine *machine;
    const struct placement *placement;
    const struct local_processes *processes;
    int *use_count;  /* processes on each processor */
    int *first_cpu; /* of placement.map: the lowest CPU of each instance */
    int instances;
    int *first_pick; /* where the picks of each process begin; [count + 1] */
    int *picks; /* numbers of processors */
    int *place_of; /* the place of each process of the host */
    bool overloaded; /* a processor is taken twice */
    char *error;
};

/* Set the error text; returns false. */
bool wf_cpu_layout_refuse(const struct cpu_layout *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Make the layout. Returns false if it is refused, and the error says why, or
 * if there is no memory. */
bool wf_cpu_layout_make(struct cpu_layout *);
void wf_cpu_layout_free(struct cpu_layout *);

#endif

/* The deal: which processors the processes of one host take.
 *
 * Every process takes its processors in a part of the machine: the next part in
 * turn (--map-by numa), the part that has not yet its share (ppr:2:socket), or
 * the whole. There it takes those that fewest have taken, in the order of the
 * machine.
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
    int *use_count;  /* of each processor: by how many */
    int *first_cpu; /* the instances of placement.map, by their lowest CPU */
    int instances;
    int *first_pick; /* of each process: its picks begin here; [count + 1] */
    int *picks; /* numbers of processors */
    int *place_of; /* process i of the host gets the place order[i] */
    bool overloaded; /* a processor is taken twice */
    char *error;
};

/* Set the error; returns false. */
bool wf_cpu_layout_refuse(const struct cpu_layout *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* False: refused, and the error says why, or no memory. */
bool wf_cpu_layout_make(struct cpu_layout *);
void wf_cpu_layout_free(struct cpu_layout *);

#endif

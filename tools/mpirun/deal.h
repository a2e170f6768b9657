/* The deal: which processors the processes of one host take.
 *
 * Every process takes its processors in a part of the machine: the next part in
 * turn (--map-by numa), the part that has not yet its share (ppr:2:socket), or
 * the whole. There it takes those that fewest have taken, in the order of the
 * machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_DEAL_H
#define WF_MPIRUN_DEAL_H

#include "binding.h"

struct deal {
    const struct machine *m;
    const struct placement *p;
    const struct local_processes *who;
    int *used;  /* of each processor: by how many */
    int *first; /* the instances of placement.map, by their lowest CPU */
    int instances;
    int *start; /* of each process: its picks begin here; [count + 1] */
    int *picks; /* numbers of processors */
    int *order; /* process i of the host gets the place order[i] */
    bool overloaded; /* a processor is taken twice */
    char *error;
};

/* Set the error; returns false. */
bool wf_deal_refuse(const struct deal *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* False: refused, and the error says why, or no memory. */
bool wf_deal_make(struct deal *);
void wf_deal_free(struct deal *);

#endif

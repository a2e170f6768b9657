/* This interface reads the hosts that a batch system has given to the job in
 * which mpirun runs.
 *
 *   Slurm  SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE
 *   PBS    PBS_NODEFILE
 *   LSF    LSB_DJOB_HOSTFILE, LSB_MCPU_HOSTS, LSB_HOSTS
 *   SGE    PE_HOSTFILE
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_ALLOCATION_H
#define WF_MPIRUN_ALLOCATION_H

#include "hosts.h"

enum allocation {
    ALLOCATION_NONE, /* no batch system: the list is as before */
    ALLOCATION_SLURM,
    ALLOCATION_PBS,
    ALLOCATION_LSF,
    ALLOCATION_SGE
};

/* Returns the batch system that runs this process. */
enum allocation wf_allocation_of(void);
/* Add its hosts, with a slot for each rank that it has room for. Returns 0, or
 * -1 after a message that says what is wrong. */
int wf_allocation_read(enum allocation, struct host_list *);
/* Returns the batch system's own way to start an agent on one of its hosts, a
 * name of starter.h, if that command is installed; else ssh. */
const char *wf_allocation_starter(enum allocation);

#endif

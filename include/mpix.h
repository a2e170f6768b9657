/* mpix.h - what Weft has beyond the MPI standard: threads that are ranks.
 *
 * mpi.h holds the standard and nothing else; a program that includes this file
 * says that it uses extensions. docs/user/threads.md is the manual.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_MPIX_H
#define WEFT_MPIX_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of thread support above MPI_THREAD_MULTIPLE.
 *
 * MPIX_THREAD_AS_RANK  each thread that initialises MPI is a rank of its own,
 *                      and calls MPI by itself only.
 * MPIX_THREAD_FILTERED the same; besides, threads that did not initialise MPI
 *                      may call it. They act as the first rank of the process
 *                      that was given this level.
 *
 * In a process that holds one rank the highest level provided is
 * MPI_THREAD_MULTIPLE. */
#define MPIX_THREAD_AS_RANK 8192
#define MPIX_THREAD_FILTERED 16384

/* Run rank_main in `ranks` threads of this process, each of which is a rank
 * once it initialises MPI; it must finalize before rank_main returns. The
 * caller is one of them, the first. Returns when all have returned.
 *
 *   ranks    how many; 0: as many as `mpirun --ranks-per-process` says, and
 *            without a launcher as WEFT_PROCESS_RANKS says, else 1. Without a
 *            launcher this process is the whole job. Under mpirun the number
 *            must be 0 or what was given there.
 *   results  what each rank_main returned, or NULL
 *
 * MPI must not be initialised in this process. Returns MPI_SUCCESS or an error
 * class; errors go to the initial error handler. */
int MPIX_Run_ranks(int ranks, int (*rank_main)(void *arg), void *arg,
                   int results[]);

#ifdef __cplusplus
}
#endif
#endif

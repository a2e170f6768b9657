/* For job programs in which a rank computes, that is, stays out of MPI, until
 * another one calls it by a signal.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_COMPUTING_H
#define JOB_COMPUTING_H

#include "check.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { COMPUTING_LIMIT_S = 120, COMPUTING_RANKS = 64 };

static int pids[COMPUTING_RANKS];

static inline sigset_t computing_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
}

/* job_begin, after which ranks may call each other. */
static inline void computing_begin(int *argc, char ***argv)
{
    sigset_t set = computing_signal();
    int pid = getpid();

    sigprocmask(SIG_BLOCK, &set, NULL);
    job_begin(argc, argv);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
}

static inline void compute_until_called(void)
{
    struct timespec limit = {COMPUTING_LIMIT_S, 0};
    sigset_t set = computing_signal();

    CHECK(sigtimedwait(&set, NULL, &limit) == SIGUSR1);
}

static inline void computing_call(int rank)
{
    kill(pids[rank], SIGUSR1);
}

#endif

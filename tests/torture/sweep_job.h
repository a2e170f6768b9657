/* This header has what the phases of sweep_job share: a way to make calls that
 * may fail.
 *
 *   RETRY(call)   a call that loses nothing when it fails: after a transient
 *                 failure it is made again, and must succeed
 *   ONCE(call)    a call that others take part in: after a failure the job is
 *                 ended
 *
 * Both print one line about an error: "sweep: MPI_X: MPI_ERR_Y: the text".
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TORTURE_SWEEP_JOB_H
#define TORTURE_SWEEP_JOB_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

enum {
    SWEEP_ENDED = 7, /* after an error that was as it must be */
    SWEEP_WRONG = 8  /* wrong data, or a second attempt that failed too */
};

extern struct inject sweep_plan;
/* in MPI_COMM_WORLD, or of the launcher */
extern _Thread_local int sweep_rank;
extern _Thread_local int sweep_victim; /* whether it is this one that fails */
/* the last error told that a pair cannot be */
extern _Thread_local int sweep_cut_off;

_Noreturn void sweep_end(int status);
/* An error class was returned: say it. Returns whether to try again. */
int sweep_failed(const char *call, int rc, int attempt);

#define RETRY(call)                                                            \
    do {                                                                       \
        for (int try_ = 1, rc_; (rc_ = (call)) != MPI_SUCCESS; try_++)         \
            if (!sweep_failed(#call, rc_, try_))                               \
                sweep_end(try_ > 1 && !sweep_cut_off ? SWEEP_WRONG             \
                                                     : SWEEP_ENDED);           \
    } while (0)

#define ONCE(call)                                                             \
    do {                                                                       \
        int rc_ = (call);                                                      \
        if (rc_ != MPI_SUCCESS) {                                              \
            sweep_failed(#call, rc_, 1);                                       \
            sweep_end(SWEEP_ENDED);                                            \
        }                                                                      \
    } while (0)

#define RIGHT(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "sweep: %s:%d: not so: %s\n", __FILE__, __LINE__,  \
                    #what);                                                    \
            sweep_end(SWEEP_WRONG);                                            \
        }                                                                      \
    } while (0)

struct sweep_phase {
    const char *name;
    void (*run)(void);  /* armed */
    int cold;           /* without a message before it */
};

extern const struct sweep_phase sweep_p2p[], sweep_coll[], sweep_comm[],
    sweep_objects[];

/* Bytes that depend on the sender, the tag and the place. */
void sweep_fill(char *buf, int n, int rank, int tag);
void sweep_check(const char *buf, int n, int rank, int tag);
/* Memory of the program, which the injector leaves alone. */
char *sweep_memory(int n);

#endif

/* This header has what the operations of torture_deaths share with their frame.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DEATHS_H
#define DEATHS_H

#include <mpi.h>
#include <stdbool.h>

/* Of this rank, which may be a thread. */
struct job {
    int rank, size;
    int victim;
};
extern _Thread_local struct job job;

/* One of the job's operations. run does it once, checks its data, and returns
 * MPI's error; NULL: MPI_Finalize is the operation. begin prepares it. */
struct operation {
    const char *name;
    int (*begin)(void);
    int (*run)(int i);
    /* Nobody leaves at the first error: all call it equally often. For calls on
     * communicators without the victim, where nothing ends the wait for a
     * member that has left. */
    bool to_the_end;
};
const struct operation *find_operation(const char *name);
const struct operation *find_between(const char *name); /* deaths_between.c */

/* A line on standard output, the rank in front. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* It is the victim, or dies with it. */
bool is_dead(int rank);

/* ---- what operations share ----------------------------------------------- */

enum { SMALL = 3, LARGE = 50000, TAG = 5 };

struct mine {
    int *out, *in; /* LARGE * size each */
    MPI_Comm comm;
    MPI_Request request, requests[64];
};
extern _Thread_local struct mine mine;

/* Makes the buffers. */
int begin_plain(void);
/* Returns what this rank contributes to call i, n numbers of it; the second
 * function what any rank does. */
void fill(int i, int n);
void expect(const int *from, int rank, int i, int n);
int value(int rank, int i, int k);
/* The same n numbers to each. */
int alltoall_of(int i, int n, MPI_Comm, int size);
int test_until_done(MPI_Request *);

#endif

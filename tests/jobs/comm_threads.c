/* Several threads of each process make communicators of different parents at
 * the same time, in no common order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>

#include "check.h"
#include "numbered_threads.h"

enum { THREADS = 4, TURNS = 100 };

static MPI_Comm parent[THREADS];

static void *make_object(void *arg)
{
    int i = *(int *)arg;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm a, b;
        MPI_Comm_dup(parent[i], &a);
        MPI_Comm_split(a, rank_in(a) % 2, 0, &b);
        check_talks(a);
        check_talks(b);
        MPI_Comm_free(&b);
        MPI_Comm_free(&a);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parent[i]);
    run_numbered_threads(THREADS, make_object);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&parent[i]);
    return job_end();
}

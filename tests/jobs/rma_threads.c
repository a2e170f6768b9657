/* Threads that share a window at MPI_THREAD_MULTIPLE: none of what they add is
 * lost, and each gets its own results.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, TIMES = 100 };

static MPI_Win win;
static int rank, size, failures[THREADS];

static void *add_often(void *arg)
{
    int me = (int)(long)arg;
    long one = 1, old[TIMES], in = 0;

    for (int i = 0; i < TIMES; i++) {
        int to = (rank + i) % size;
        MPI_Fetch_and_op(&one, &old[i], MPI_LONG, to, 0, MPI_SUM, win);
        MPI_Accumulate(&one, 1, MPI_LONG, to, 1 + me, 1, MPI_LONG, MPI_SUM,
                       win);
        if (i % 10 == 9)
            failures[me] += MPI_Win_flush_all(win) != MPI_SUCCESS;
        else if (i % 3 == 0)
            failures[me] += MPI_Win_flush(to, win) != MPI_SUCCESS;
    }
    failures[me] += MPI_Win_flush_all(win) != MPI_SUCCESS;
    for (int i = 0; i < TIMES; i++)
        failures[me] += old[i] < 0 || old[i] >= (long)THREADS * TIMES * size;
    MPI_Get(&in, 1, MPI_LONG, rank, 1 + me, 1, MPI_LONG, win);
    failures[me] += MPI_Win_flush(rank, win) != MPI_SUCCESS || in < 0;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long *base, sum = 0, all;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Win_allocate((1 + THREADS) * sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, add_often, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < 1 + THREADS; i++)
        sum += base[i];
    MPI_Win_unlock(rank, win);
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 2L * size * THREADS * TIMES);
    MPI_Win_free(&win);
    return job_end();
}

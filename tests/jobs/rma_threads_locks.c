/* Two threads of each process: one makes windows and the other frees them, so
 * that their memory is reused by calls of both; and each takes locks of its own
 * targets of one window.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <pthread.h>

enum { WINDOWS = 60, AT_ONCE = 4, TIMES = 100 };

static int rank, size, failures[2];

/* ---- made by one thread, freed by the other ------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static struct {
    MPI_Win win;
    long *last, value; /* its last word, and what that has to be */
} made[WINDOWS];
static int made_count, freed_count;

/* Frees each window when another one exists, which has not taken its memory. */
static void *free_windows(void *arg)
{
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win win;

        pthread_mutex_lock(&mutex);
        while (made_count < WINDOWS && made_count < i + 2)
            pthread_cond_wait(&moved, &mutex);
        win = made[i].win;
        failures[1] += *made[i].last != made[i].value;
        pthread_mutex_unlock(&mutex);
        failures[1] += MPI_Win_free(&win) != MPI_SUCCESS;
        pthread_mutex_lock(&mutex);
        freed_count++;
        pthread_cond_broadcast(&moved);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

/* The memory of a new window is clear, whatever was done in its last one. */
static void make_window(int i)
{
    MPI_Win win;
    long *base, value = i + 1;
    int words = 100 + 50 * (i % 5);

    MPI_Win_allocate(words * (MPI_Aint)sizeof *base, sizeof *base,
                     MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < words; k++)
        CHECK(base[k] == 0);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, words - 1, 1, MPI_LONG,
            win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(base[words - 1] == value);
    made[i].win = win;
    made[i].last = &base[words - 1];
    made[i].value = value;
}

static void check_free_by_another(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, free_windows, NULL);
    for (int i = 0; i < WINDOWS; i++) {
        make_window(i);
        pthread_mutex_lock(&mutex);
        made_count++;
        pthread_cond_broadcast(&moved);
        while (made_count - freed_count == AT_ONCE)
            pthread_cond_wait(&moved, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    CHECK(failures[1] == 0);
}

/* ---- locks --------------------------------------------------------------- */

static MPI_Win locked;

/* Adds to words of every second target, by a get and a put in an exclusive
 * epoch. */
static void *add_in_epochs(void *arg)
{
    int me = (int)(long)arg;

    for (int i = 0; i < TIMES; i++) {
        int to = (rank + 2 * i + me) % (size - size % 2);
        long value = -1;

        to = to - to % 2 + me;
        failures[me] += MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, locked) != 0;
        MPI_Get(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, locked);
        MPI_Win_flush(to, locked);
        value++;
        MPI_Put(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, locked);
        failures[me] += MPI_Win_unlock(to, locked) != 0;
    }
    return NULL;
}

static void check_locks(void)
{
    pthread_t thread;
    long *base, mine, all;

    if (size < 2)
        return;
    failures[0] = failures[1] = 0;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &locked);
    pthread_create(&thread, NULL, add_in_epochs, (void *)1L);
    add_in_epochs((void *)0L);
    pthread_join(thread, NULL);
    CHECK(failures[0] == 0 && failures[1] == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, locked);
    mine = *base;
    MPI_Win_unlock(rank, locked);
    MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 2L * size * TIMES);
    MPI_Win_free(&locked);
}

int main(int argc, char **argv)
{
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    check_free_by_another();
    check_locks();
    return job_end();
}

/* The containers that one-sided operations take over tcp: one each way for a
 * lock, an operation and an unlock; a few for many small operations. The
 * program counts the calls that send bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdatomic.h>
#include <sys/socket.h>

#include "check.h"

enum { ROUNDS = 100, SPARE = ROUNDS / 10, MANY = 1000 };

ssize_t __real_send(int fd, const void *data, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t n, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *, int flags);

static atomic_long sent;

ssize_t __wrap_send(int fd, const void *data, size_t n, int flags)
{
    ssize_t r = __real_send(fd, data, n, flags);

    sent += r > 0;
    return r;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
    ssize_t r = __real_sendmsg(fd, m, flags);

    sent += r > 0;
    return r;
}

static long values[MANY], one = 1;

static void lock_put_unlock(MPI_Win win)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(1, win);
}

static void put_and_flush(MPI_Win win)
{
    MPI_Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
}

static void fetch_and_add(MPI_Win win)
{
    MPI_Fetch_and_op(&one, values, MPI_LONG, 1, 1, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static void swap_if_equal(MPI_Win win)
{
    MPI_Compare_and_swap(&one, &one, values, MPI_LONG, 1, 0, win);
    MPI_Win_flush(1, win);
}

static void put_many(MPI_Win win)
{
    for (int i = 0; i < MANY; i++)
        MPI_Put(&values[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
}

static void add_many(MPI_Win win)
{
    for (int i = 0; i < MANY; i++)
        MPI_Accumulate(&one, 1, MPI_LONG, 1, i, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static void get_many(MPI_Win win)
{
    memset(values, 0, sizeof values);
    for (int i = 0; i < MANY; i++)
        MPI_Get(&values[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
}

/* Rank 0 operates on rank 1, which waits. Each of them sends at most so many
 * times, except for SPARE times for whatever else there is. */
static void count_containers(MPI_Win win, const char *what,
                             void (*operate)(MPI_Win), int rounds, long most)
{
    long before, n;

    MPI_Barrier(MPI_COMM_WORLD);
    before = sent;
    if (rank_in(MPI_COMM_WORLD) == 0)
        for (int i = 0; i < rounds; i++)
            operate(win);
    MPI_Barrier(MPI_COMM_WORLD);
    n = sent - before;
    if (n > most + SPARE)
        fprintf(stderr, "%s: rank %d sent %ld times, at most %ld\n", what,
                rank_in(MPI_COMM_WORLD), n, most);
    CHECK(n <= most + SPARE);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long *base;

    job_begin(&argc, &argv);
    MPI_Win_allocate(MANY * sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win);
    count_containers(win, "lock, put, unlock", lock_put_unlock, ROUNDS, ROUNDS);
    MPI_Win_lock_all(0, win);
    count_containers(win, "put, flush", put_and_flush, ROUNDS, ROUNDS);
    count_containers(win, "fetch and op", fetch_and_add, ROUNDS, ROUNDS);
    count_containers(win, "compare and swap", swap_if_equal, ROUNDS, ROUNDS);
    for (int i = 0; i < MANY; i++)
        values[i] = i;
    count_containers(win, "puts", put_many, 1, MANY / 100);
    count_containers(win, "accumulates", add_many, 1, MANY / 100);
    count_containers(win, "gets", get_many, 1, MANY / 20);
    for (int i = 0; rank_in(MPI_COMM_WORLD) == 0 && i < MANY; i++)
        CHECK(values[i] == i + 1);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return job_end();
}

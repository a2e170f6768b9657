/* Operations that were started and not completed get to their target while the
 * program waits for something else: for a message, or for its own memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { ROUNDS = 100 };

static int rank, size;

static void start_write(MPI_Win win, int target, int value)
{
    MPI_Accumulate(&value, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_REPLACE, win);
}

/* Waits until a process has written the value; only this process' part of the
 * window is flushed. */
static void await_value(MPI_Win win, int value)
{
    int none = 0, seen;

    do {
        MPI_Fetch_and_op(&none, &seen, MPI_INT, rank, 0, MPI_NO_OP, win);
        MPI_Win_flush(rank, win);
    } while (seen != value);
}

int main(int argc, char **argv)
{
    int next, before, *memory, word = 0;
    MPI_Win win;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 1; i <= ROUNDS; i++) {
        start_write(win, next, i); /* all of them spin then */
        await_value(win, i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = ROUNDS + 1; i <= 2 * ROUNDS; i++) {
        start_write(win, next, i);
        if (rank % 2) { /* these spin, the others wait for their message */
            await_value(win, i);
            MPI_Send(&word, 1, MPI_INT, before, 1, MPI_COMM_WORLD);
        }
        if (next % 2)
            MPI_Recv(&word, 1, MPI_INT, next, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return job_end();
}

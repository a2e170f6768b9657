/* Memory of a window that was freed is given to the next one over the same
 * communicator: it is clear, its locks are free, and every member has the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { WORDS = 100, TIMES = 10, AT_ONCE = 5 };

static _Thread_local int rank, size;

static MPI_Win allocate_window(MPI_Comm comm, MPI_Aint words, long **base)
{
    MPI_Win win;

    MPI_Win_allocate(words * (MPI_Aint)sizeof **base, sizeof **base,
                     MPI_INFO_NULL, comm, base, &win);
    return win;
}

/* Returns whether the members share the window's memory. */
static int is_shared(MPI_Win win)
{
    MPI_Aint bytes;
    int unit;
    void *there = NULL;

    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &there);
    return size > 1 && there != NULL;
}

/* Each member adds to the next one, who sees just that. */
static void use_window(MPI_Win win, long *base, long words, long value)
{
    long last = -1;

    for (long i = 0; i < words; i++)
        CHECK(base[i] == 0);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&value, 1, MPI_LONG, (rank + 1) % size, words - 1, 1,
                   MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(base[words - 1] == value);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&last, 1, MPI_LONG, 0, words - 1, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
    CHECK(last == value);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_one_after_another(void)
{
    long *base, *first = NULL;

    for (int i = 0; i < TIMES; i++) {
        long words = WORDS / (1 + i % 3);
        MPI_Win win = allocate_window(MPI_COMM_WORLD, words, &base);

        if (i % 3 == 0 && is_shared(win)) {
            CHECK(!first || base == first);
            first = base;
        }
        use_window(win, base, words, i + 1);
        MPI_Win_free(&win);
    }
}

/* Windows that exist at the same time have memory of their own. */
static void check_several_at_once(void)
{
    long *bases[AT_ONCE];
    MPI_Win wins[AT_ONCE];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            wins[i] = allocate_window(MPI_COMM_WORLD, WORDS, &bases[i]);
        for (int i = 0; i < AT_ONCE; i++)
            use_window(wins[i], bases[i], WORDS, 100 * i + round + 1);
        for (int i = AT_ONCE - 1; i >= 0; i--)
            MPI_Win_free(&wins[i]);
    }
}

/* A window outlives the communicator over which it was made. */
static void check_without_comm(void)
{
    MPI_Comm comm;
    MPI_Win win;
    long *base;

    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        win = allocate_window(comm, WORDS, &base);
        MPI_Win_free(&win);
        win = allocate_window(comm, WORDS, &base);
        MPI_Comm_free(&comm);
        use_window(win, base, WORDS, 3);
        MPI_Win_free(&win);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    check_one_after_another();
    check_several_at_once();
    check_without_comm();
    return job_end();
}

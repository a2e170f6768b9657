/* The last rank runs out of memory while a window is made, at each of its small
 * allocations in turn: all that are the window's own. The call fails in all
 * members or in none, and the next one over the same communicator does not
 * fail: what went wrong before is not kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../fake/wrapped_memory.h"
#include "check.h"

enum { MOST = 200, SMALL = 64, BLOCK = 1 << 16 };

static int fails_at; /* the allocation, counted down; 0: none fails */
static int reached;  /* it has failed */
static int rank, size;

void *__wrap_calloc(size_t n, size_t count)
{
    if (n * count <= SMALL && fails_at > 0 && --fails_at == 0) {
        reached = 1;
        return NULL;
    }
    return __real_calloc(n, count);
}

/* Makes a window of one kind; returns whether it was made, by all or none. */
static int make_window(MPI_Comm comm, int shared, void *block)
{
    MPI_Win win;
    int rc, made, most, least;
    long *base;

    if (shared)
        rc = MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, comm, &base, &win);
    else
        rc = MPI_Win_create(block, BLOCK, 8, MPI_INFO_NULL, comm, &win);
    fails_at = 0;
    made = rc == MPI_SUCCESS;
    MPI_Allreduce(&made, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&made, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(most == least);
    if (made)
        MPI_Win_free(&win);
    return made && least;
}

/* Has the n-th allocation fail; returns whether there was one. */
static int run_with_fault(int shared, int n, void *block)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    reached = 0;
    fails_at = rank == size - 1 ? n : 0;
    (void)make_window(comm, shared, block);
    for (int i = 0; i < 3; i++)
        CHECK(make_window(comm, shared, block));
    MPI_Comm_free(&comm);
    MPI_Bcast(&reached, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    return reached;
}

int main(int argc, char **argv)
{
    void *block;
    int n;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Alloc_mem(BLOCK, MPI_INFO_NULL, &block);
    for (int shared = 0; shared < 2; shared++) {
        for (n = 1; n < MOST && run_with_fault(shared, n, block); n++)
            continue;
        CHECK(n > 10 && n < MOST);
    }
    MPI_Free_mem(block);
    return job_end();
}

/* The memory that an exchange of short blocks takes among many ranks that are
 * threads of one process: no connection for each pair. The program counts what
 * is allocated.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <malloc.h>
#include <stdatomic.h>

#include "check.h"

/* Bytes for each pair; blocks from that size on are for all peers of a rank
 * together. */
enum { PAIR_MOST = 256, SHARED_MIN = 16 << 10 };

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);

static atomic_long held; /* bytes, of all ranks */

static long size_of_block(void *p)
{
    long n = p ? (long)malloc_usable_size(p) : 0;

    return n < SHARED_MIN ? n : 0;
}

static void *count_block(void *p)
{
    held += size_of_block(p);
    return p;
}

void *__wrap_malloc(size_t n)
{
    return count_block(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return count_block(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t n)
{
    long before = size_of_block(old);
    void *p = __real_realloc(old, n);

    held -= p || !n ? before : 0;
    return count_block(p);
}

void __wrap_free(void *p)
{
    held -= size_of_block(p);
    __real_free(p);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    int *from, *to, size;
    long before, taken;

    job_begin(&argc, &argv);
    size = size_of(MPI_COMM_WORLD);
    from = calloc((size_t)size, sizeof *from);
    to = calloc((size_t)size, sizeof *to);
    for (int i = 0; i < 8; i++) /* they learn whether they share CPUs */
        MPI_Barrier(MPI_COMM_WORLD);
    before = held;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ialltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    taken = (held - before) / size / size;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0)
        printf("%ld bytes for each pair of %d ranks\n", taken, size);
    CHECK(taken <= PAIR_MOST);
    free(from);
    free(to);
    return job_end();
}

/* The memory that a window has for a member with which this process has nothing
 * to do: at most 128 bytes. The program counts what is allocated.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <malloc.h>

#include "check.h"

enum { SILENT_MOST = 128, FEW = 2 };

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);

static long held; /* bytes */

static void *count_block(void *p)
{
    held += p ? (long)malloc_usable_size(p) : 0;
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
    long before = old ? (long)malloc_usable_size(old) : 0;
    void *p = __real_realloc(old, n);

    held -= p || !n ? before : 0;
    return count_block(p);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return count_block(__real_aligned_alloc(align, n));
}

void __wrap_free(void *p)
{
    held -= p ? (long)malloc_usable_size(p) : 0;
    __real_free(p);
}

/* Returns the bytes that a window over the communicator takes: the least of
 * several, because some calls allocate what later ones use. */
static long measure_window(MPI_Comm comm)
{
    static char memory[64];
    long least = -1;

    for (int i = 0; i < 8; i++) {
        MPI_Win win;
        long before, taken;

        MPI_Barrier(comm);
        before = held;
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
        taken = held - before;
        least = least < 0 || taken < least ? taken : least;
        MPI_Win_free(&win);
    }
    return least;
}

int main(int argc, char **argv)
{
    MPI_Comm few;
    int rank, size;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank / FEW, rank, &few);
    long all = measure_window(MPI_COMM_WORLD);
    long some = measure_window(few);
    long each = (all - some) / (size - size_of(few));
    if (rank == 0)
        printf("%ld bytes for %d members, %ld for %d: %ld each\n", all, size,
               some, size_of(few), each);
    CHECK(all > 0 && some > 0 && each <= SILENT_MOST);
    MPI_Comm_free(&few);
    return job_end();
}

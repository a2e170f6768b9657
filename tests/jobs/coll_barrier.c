/* Nobody leaves a barrier before all have entered, also when the processes see
 * different numbers of CPUs and so would choose different algorithms.
 *
 * Each process notes in a file that all map how many barriers it has entered.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { MOST = 64, ROUNDS = 600 };

typedef _Atomic int notes[MOST];

/* Every other process is told of one CPU. */
static void see_one_cpu(void)
{
    const char *rank = getenv("PMI_RANK");

    if (rank && atoi(rank) % 2 == 0)
        setenv("WEFT_BOUND_CPUS", "1", 1);
}

/* A page that all processes share: rank 0's file, opened by the others. */
static notes *share_page(int rank)
{
    char path[64];
    int fd = -1;
    void *page;

    if (rank == 0) {
        fd = memfd_create("notes", 0);
        CHECK(fd >= 0 && ftruncate(fd, sizeof(notes)) == 0);
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    page = mmap(NULL, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(page != MAP_FAILED);
    MPI_Barrier(MPI_COMM_WORLD); /* the path is good as long as rank 0 waits */
    close(fd);
    return page;
}

static void all_entered(const notes *n, int size, int round)
{
    int early = 0;

    for (int r = 0; r < size; r++)
        early += atomic_load(&(*n)[r]) < round;
    CHECK(early == 0);
}

static void run_barriers(MPI_Comm comm, notes *n, int first)
{
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    MPI_Request r;

    for (int i = first; i < first + ROUNDS; i++) {
        atomic_store(&(*n)[rank], i);
        if (i % 5) {
            MPI_Barrier(comm);
        } else {
            MPI_Ibarrier(comm, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        all_entered(n, size, i);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    notes *n;

    see_one_cpu();
    job_begin(&argc, &argv);
    n = share_page(rank_in(MPI_COMM_WORLD));
    run_barriers(MPI_COMM_WORLD, n, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    run_barriers(comm, n, 1 + ROUNDS);
    MPI_Comm_free(&comm);
    munmap(n, sizeof *n);
    return job_end();
}

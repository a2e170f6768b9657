/* The pages of what a team shares are taken when it is made, not by a fault for
 * each in the calls that first use them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* Calls that go round in the stage; pages that one of them uses of each
 * member. */
enum { CALLS = 64, BYTES = 256 << 10, PAGES = BYTES / 4096 };

static char mine[BYTES], all[4 * BYTES];

static long count_faults(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

static int can_take_pages(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int can = madvise(page, 4096, 23 /* MADV_POPULATE_WRITE */) == 0;

    munmap(page, 4096);
    return can;
}

int main(int argc, char **argv)
{
    int calls = 0;

    job_begin(&argc, &argv);
    memset(mine, 1, sizeof mine);
    memset(all, 1, sizeof all);
    if (!can_take_pages()) {
        puts("skipped: this kernel has no MADV_POPULATE_WRITE");
        return job_end();
    }
    for (int i = 0; i < CALLS; i++) {
        long before = count_faults();
        MPI_Allgather(mine, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR,
                      MPI_COMM_WORLD);
        calls += count_faults() - before >= PAGES;
    }
    /* Messages of the first calls may fault in three, and making the stage
     * in one; otherwise each of the first eight in the stage does. */
    CHECK(calls <= 5);
    return job_end();
}

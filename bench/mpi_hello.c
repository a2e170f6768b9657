/* The smallest program: for start-up time, and, with an argument, for its
 * memory just before MPI_Finalize.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <mpi.h>

/* A "Name:   123 kB" line of a /proc file. */
static long kilobytes(const char *file, const char *name)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen(file, "r");

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = atol(line + strlen(name));
    if (f)
        fclose(f);
    return kb;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && rank == 0) {
        long rss = kilobytes("/proc/self/status", "VmRSS:");
        long pss = kilobytes("/proc/self/smaps_rollup", "Pss:");
        printf("rss_kb %d %ld %ld\npss_kb %d %ld %ld\n", size, rss, rss, size,
               pss, pss);
    }
    MPI_Finalize();
    return 0;
}

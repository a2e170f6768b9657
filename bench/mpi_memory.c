/* This program prints the memory of rank 0 before MPI_Finalize in KB: resident,
 * its proportional share, and the cost of one more peer with which messages
 * were exchanged. With "threads" all ranks are threads of the process: then by
 * rank, and what an alltoall adds, by ordered pair of ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

/* Read a "Name:   123 kB" line of a /proc file. */
static double read_kilobytes(const char *file, const char *name)
{
    char line[256];
    double kb = -1;
    FILE *f = fopen(file, "r");

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = atof(line + strlen(name));
    if (f)
        fclose(f);
    return kb;
}

static void talk_to_everybody(int rank, int size)
{
    char byte = 0;

    for (int i = 1; i < size; i++)
        MPI_Sendrecv(&byte, 1, MPI_BYTE, (rank + i) % size, 1, &byte, 1,
                     MPI_BYTE, (rank + size - i) % size, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void exchange_all(int size)
{
    char *out = calloc((size_t)size, 2);

    if (out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Alltoall(out, 1, MPI_BYTE, out + size, 1, MPI_BYTE, MPI_COMM_WORLD);
    free(out);
}

/* sharing: how many ranks the process has */
static void print_memory(int rank, int size, int sharing)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double rss = read_kilobytes("/proc/self/status", "VmRSS:");
    double pss = read_kilobytes("/proc/self/smaps_rollup", "Pss:"), more;

    if (sharing > 1)
        exchange_all(size);
    else
        talk_to_everybody(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    more = read_kilobytes("/proc/self/status", "VmRSS:") - rss;
    more = size > 1 ? more / (size - 1) / sharing : 0;
    rss /= sharing;
    pss /= sharing;
    if (rank != 0)
        return;
    print_times("rss_kb", size, &rss, 1);
    print_times("pss_kb", size, &pss, 1);
    print_times("peer_kb", size, &more, 1);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    print_memory(rank, size, argc > 1 ? size : 1);
    MPI_Finalize();
    return 0;
}

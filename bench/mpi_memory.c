/* This program prints the memory of rank 0 before MPI_Finalize in KB: resident,
 * its proportional share, and the cost of one more peer with which messages
 * were exchanged.
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

static void print_memory(int rank, int size)
{
    double rss = read_kilobytes("/proc/self/status", "VmRSS:");
    double pss = read_kilobytes("/proc/self/smaps_rollup", "Pss:"), more;

    talk_to_everybody(rank, size);
    more = read_kilobytes("/proc/self/status", "VmRSS:") - rss;
    more = size > 1 ? more / (size - 1) : 0;
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
    print_memory(rank, size);
    MPI_Finalize();
    return 0;
}

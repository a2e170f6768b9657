/* Ranks that are threads of a process: 0 and 1 wait, 2 computes, for
 * launch_state_report.py.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank < 2)
        MPI_Recv(&byte, 1, MPI_CHAR, rank + 1, 10 + rank, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (;;)
        pause();
    return 0;
}

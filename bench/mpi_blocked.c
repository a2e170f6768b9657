/* CPU time of a rank that is blocked in MPI_Recv while nothing comes.
 *
 *   mpi_blocked SECONDS      prints percent of one CPU
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <mpi.h>
#include <sys/resource.h>

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2, percent;
    struct timespec pause = {(time_t)seconds,
                             (long)((seconds - (long)seconds) * 1e9)};
    int rank, byte = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_rank(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        nanosleep(&pause, NULL);
        MPI_Send(&byte, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        double cpu = cpu_us(), start = now_us();
        MPI_Recv(&byte, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        percent = 100 * (cpu_us() - cpu) / (now_us() - start);
        printf("blocked_percent 0 %.6g %.6g\n", percent, percent);
    }
    MPI_Finalize();
    return 0;
}

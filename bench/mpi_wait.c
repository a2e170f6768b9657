/* This program measures a rank that waits in MPI_Recv.
 *
 *   mpi_wait blocked SECONDS     CPU time while nothing comes, percent of a CPU
 *   mpi_wait wake MS             from MPI_Send to the return of an MPI_Recv
 *                                that has waited for 2 ms
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <sys/resource.h>

enum { QUIET_US = 2000 };

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double receive_stamp(int from)
{
    double stamp;

    MPI_Recv(&stamp, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return stamp;
}

/* Send the time of sending; processes of one host share the clock. */
static void send_stamp(int to, long after_us)
{
    double stamp;

    sleep_us(after_us);
    stamp = now_us();
    MPI_Send(&stamp, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
}

static void measure_blocked(int rank, double seconds)
{
    double cpu = cpu_us(), start = now_us(), percent;

    if (rank == 1) {
        send_stamp(0, (long)(seconds * 1e6));
        return;
    }
    receive_stamp(1);
    percent = 100 * (cpu_us() - cpu) / (now_us() - start);
    print_times("percent", 0, &percent, 1);
}

static double time_wake_up(void *rank)
{
    double stamp;

    if (*(int *)rank == 1) {
        send_stamp(0, QUIET_US);
        return 0;
    }
    stamp = receive_stamp(1);
    return now_us() - stamp;
}

int main(int argc, char **argv)
{
    static double v[BATCHES];
    int rank, n;

    if (argc != 3)
        return 2;
    rank = start_rank(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(argv[1], "blocked") == 0)
        measure_blocked(rank, atof(argv[2]));
    else if ((n = repeat_batches(time_wake_up, &rank, atof(argv[2]) * 1e3,
                                 v)) &&
             rank == 0)
        print_times("us", 0, v, n);
    MPI_Finalize();
    return 0;
}

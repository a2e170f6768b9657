/* In this job a rank ends after MPI_Finalize, for launch_status.py:
 *
 *   exit STATUS | signal NUMBER      rank 1 ends so after its MPI_Finalize
 *   early STATUS                     rank 1 ends so after MPI_Init
 *
 * Rank 0 sees rank 1 gone, stays a while, and leaves what it has printed in the
 * buffers of stdio until its own end.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void end_by(const char *how, int number)
{
    if (strcmp(how, "signal") == 0)
        raise(number);
    _exit(number);
}

/* mpirun has reaped it, and has had time to end us. */
static void outlive_process(pid_t pid)
{
    struct timespec moment = {0, 10000000}, time_to_end = {0, 500000000};

    while (kill(pid, 0) == 0)
        nanosleep(&moment, NULL);
    nanosleep(&time_to_end, NULL);
}

int main(int argc, char **argv)
{
    int me, pid = (int)getpid();

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (me == 1 && argc == 3 && strcmp(argv[1], "early") == 0)
        end_by(argv[1], atoi(argv[2]));
    MPI_Finalize();
    if (me == 1 && argc == 3)
        end_by(argv[1], atoi(argv[2]));
    printf("rank %d says this at its end\n", me);
    if (me == 0)
        outlive_process(pid);
    return 0;
}

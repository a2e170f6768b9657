/* The last rank dies; the others receive from it, or send to it, until MPI says
 * so through the error handler. Each prints how many milliseconds that took.
 *
 *   job_bad_death receive|send|idle     idle: after a while without a message
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int handled;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    MPI_Error_class(*error, &handled);
}

int main(int argc, char **argv)
{
    int rank, size, x = 0, error = 0;
    MPI_Errhandler handler;
    double since;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 20; i++) /* everybody has talked to the last one */
        MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == size - 1) {
        if (argc > 1 && !strcmp(argv[1], "idle"))
            usleep(500000); /* all is acknowledged, and nothing is under way */
        raise(SIGKILL);
    }
    since = MPI_Wtime();
    while (!error)
        error = argc > 1 && !strcmp(argv[1], "send")
                    ? MPI_Send(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD)
                    : MPI_Recv(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE);
    printf("%s %.0f\n", handled == MPI_ERR_PROC_ABORTED ? "aborted" : "wrong",
           (MPI_Wtime() - since) * 1000);
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}

/* The last rank dies; in each of the others a thread per communicator, each on
 * an engine of its own (core.engines), receives from it or sends to it, until
 * MPI says so through the error handler. Each thread prints how many
 * milliseconds that took. MPI_COMM_WORLD's thread sleeps all the while.
 *
 *   job_bad_engines receive|send
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 20 };

static int last, sends;
static _Thread_local int handled;

static void on_error(MPI_Comm *comm, int *error, ...)
{
    MPI_Error_class(*error, &handled);
}

static void *until_dead(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    double since = MPI_Wtime();
    int x = 0, error = 0;

    while (!error)
        error = sends ? MPI_Send(&x, 1, MPI_INT, last, 1, comm)
                      : MPI_Recv(&x, 1, MPI_INT, last, 1, comm,
                                 MPI_STATUS_IGNORE);
    printf("%s %.0f\n", handled == MPI_ERR_PROC_ABORTED ? "aborted" : "wrong",
           (MPI_Wtime() - since) * 1000);
    return NULL;
}

static void talk_to_peers(MPI_Comm comm)
{
    int x = 0;

    for (int i = 0; i < ROUNDS; i++)
        MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    MPI_Errhandler handler;
    int rank, size, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    sends = argc > 1 && strcmp(argv[1], "send") == 0;
    MPI_Comm_create_errhandler(on_error, &handler);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], handler);
        talk_to_peers(comms[i]);
    }
    if (rank == last)
        raise(SIGKILL);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, until_dead, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}

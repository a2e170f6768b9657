/* Two ranks, and a network that falls silent for ever: each says when its call
 * ended with an error, and which.
 *
 *   netns_silence pingpong|stream|idle|receive
 *
 * pingpong: both send and receive. stream: rank 0 sends, rank 1 receives. idle:
 * the same as pingpong, but nothing is sent before rank 0 reads a line.
 * receive: both wait for a message that nobody sends. Each rank prints "begun"
 * when the connection was used, and "class C at T" in the end: T is
 * CLOCK_MONOTONIC in seconds. Then it waits to be killed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 50, BYTES = 4096 };

static char data[BYTES];
static int rank;

static void say_begun(void)
{
    printf("begun\n");
    fflush(stdout);
}

static int give(void)
{
    return MPI_Send(data, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
}

static int take(void)
{
    return MPI_Recv(data, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
}

static int exchange(void)
{
    int rc = rank ? take() : give();

    return rc != MPI_SUCCESS ? rc : rank ? give() : take();
}

static int talk(const char *mode)
{
    int rc = MPI_SUCCESS;

    if (!strcmp(mode, "receive"))
        return take();
    if (!strcmp(mode, "idle") && rank == 0)
        getchar();
    while (rc == MPI_SUCCESS)
        rc = !strcmp(mode, "stream") ? (rank ? take() : give()) : exchange();
    return rc;
}

int main(int argc, char **argv)
{
    struct timespec now;
    int rc = MPI_SUCCESS, class;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < WARM && rc == MPI_SUCCESS; i++)
        rc = exchange();
    say_begun();
    if (rc == MPI_SUCCESS && argc == 2)
        rc = talk(argv[1]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    MPI_Error_class(rc, &class);
    printf("class %s at %ld.%06ld\n",
           class == MPI_ERR_PROC_ABORTED ? "PROC_ABORTED" : "other",
           (long)now.tv_sec, now.tv_nsec / 1000);
    fflush(stdout);
    for (;;)
        pause();
}

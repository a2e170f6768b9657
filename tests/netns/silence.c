/* Two ranks, and a network that falls silent for ever: each says when its call
 * ended with an error, and which.
 *
 *   netns_silence pingpong|stream|idle|receive|compute|await|last
 *   netns_silence call|test FILE
 *
 * pingpong: both send and receive. stream: rank 0 sends, rank 1 receives. idle:
 * the same as pingpong, but nothing is sent before rank 0 reads a line.
 * receive: both wait for a message that nobody sends. compute: rank 0 sends
 * more than there is room for to rank 1, which is in no MPI call for SECONDS.
 * await: rank 0 waits for a message of rank 1, which is in no MPI call for
 * SECONDS. last: pingpong for SECONDS. call: when the file is there they
 * exchange messages, the first ever. test: when the file is there rank 0 tests
 * a receive and rank 1 probes, in a loop, for a message that nobody sends, and
 * nothing was sent before. Each rank prints "begun" when the
 * connection was used, and "class C at T" in the end: T is CLOCK_MONOTONIC in
 * seconds. Then it waits to be killed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 50, BYTES = 4096, MANY = 5000, SECONDS = 6 };

static char data[BYTES];
static int rank;

static void say_begun(void)
{
    printf("begun\n");
    fflush(stdout);
}

static int give_data(void)
{
    return MPI_Send(data, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
}

static int take_next(void)
{
    return MPI_Recv(data, BYTES, MPI_BYTE, !rank, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
}

static int exchange_messages(void)
{
    int rc = rank ? take_next() : give_data();

    return rc != MPI_SUCCESS ? rc : rank ? give_data() : take_next();
}

/* Rank 1 is in no MPI call for SECONDS. To the network a process that sleeps
 * is the same as one that computes. */
static void stay_away(void)
{
    double end = MPI_Wtime() + SECONDS;

    while (rank && MPI_Wtime() < end)
        usleep(10000);
}

static int compute_first(void)
{
    int rc = MPI_SUCCESS;

    stay_away();
    for (int i = 0; i < MANY && rc == MPI_SUCCESS; i++)
        rc = rank ? take_next() : give_data();
    return rc != MPI_SUCCESS ? rc : rank ? give_data() : take_next();
}

static int await_message(void)
{
    int rc;

    stay_away();
    rc = rank ? give_data() : take_next();
    return rc != MPI_SUCCESS ? rc : exchange_messages();
}

static int exchange_to_end(void)
{
    double end = MPI_Wtime() + SECONDS;
    int rc = MPI_SUCCESS, more = 1;

    while (rc == MPI_SUCCESS && more) {
        data[0] = rank ? data[0] : MPI_Wtime() < end;
        rc = exchange_messages();
        more = data[0];
    }
    return rc;
}

/* Progress is made meanwhile, but nobody is called. */
static void wait_for(const char *file)
{
    int any = 0;

    while (access(file, F_OK) && !any)
        MPI_Iprobe(0, 0, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
}

/* Never sleeps in MPI. */
static int test_in_vain(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS, done = 0;

    if (rank == 0)
        MPI_Irecv(data, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    while (rc == MPI_SUCCESS && !done)
        rc = rank ? MPI_Iprobe(0, 1, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE)
                  : MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return rc;
}

static int talk_to_peers(const char *mode)
{
    int rc = MPI_SUCCESS;

    if (!strcmp(mode, "compute"))
        return compute_first();
    if (!strcmp(mode, "await"))
        return await_message();
    if (!strcmp(mode, "last"))
        return exchange_to_end();
    if (!strcmp(mode, "receive"))
        return take_next();
    if (!strcmp(mode, "idle") && rank == 0)
        getchar();
    while (rc == MPI_SUCCESS)
        rc = !strcmp(mode, "stream") ? (rank ? take_next() : give_data())
                                     : exchange_messages();
    return rc;
}

int main(int argc, char **argv)
{
    struct timespec now;
    int rc = MPI_SUCCESS, class;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc == 3) {
        say_begun();
        wait_for(argv[2]);
    }
    if (!strcmp(argv[1], "test"))
        rc = test_in_vain();
    for (int i = 0; i < WARM && rc == MPI_SUCCESS; i++)
        rc = exchange_messages();
    if (argc == 2)
        say_begun();
    if (rc == MPI_SUCCESS && argc == 2)
        rc = talk_to_peers(argv[1]);
    clock_gettime(CLOCK_MONOTONIC, &now);
    MPI_Error_class(rc, &class);
    printf("class %s at %ld.%06ld\n",
           class == MPI_ERR_PROC_ABORTED ? "PROC_ABORTED"
           : class == MPI_SUCCESS        ? "SUCCESS"
                                         : "other",
           (long)now.tv_sec, now.tv_nsec / 1000);
    fflush(stdout);
    if (rc == MPI_SUCCESS)
        /* what the other still waits for may have to go again */
        MPI_Finalize();
    for (;;)
        pause();
}

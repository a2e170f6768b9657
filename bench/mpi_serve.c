/* This program measures a process that computes in one thread and serves in
 * another.
 *
 *   mpi_serve event MS             the serving thread blocks in MPI_Recv
 *   mpi_serve poll MS              it asks MPI_Iprobe every 100 us
 *
 *      rank 0, one CPU                           rank 1, another
 *      T1  computes until T2 is done             once a millisecond:
 *      T2  MPI_Recv <------- 10000 bytes ------- MPI_Send
 *          MPI_Send -------- 10000 bytes ------> MPI_Recv
 *
 * It is the program of T. Plachetka, "(Quasi-) thread-safe PVM and (quasi-)
 * thread-safe MPI without active polling". It prints the time of an answer (us)
 * and the part of T1's computation that serving costs (percent).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compute.h"
#include "repeat.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 10000, PAUSE_US = 1000, NAP_US = 100, REQUEST = 1, END = 2 };
enum { TURNS = 20000 /* of the computation, between two looks */ };

static atomic_int over;
static char *message;
static int polls;

/* Returns the microseconds of one computation, undisturbed. */
static double one_computation(void)
{
    double best = 1e9;

    for (int i = 0; i < 1000; i++) {
        double start = now_us();
        compute_turns(TURNS);
        if (now_us() - start < best)
            best = now_us() - start;
    }
    return best;
}

static void await_message(void)
{
    int here = 0;

    while (polls && !here) {
        MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        if (!here)
            sleep_us(NAP_US);
    }
}

static void *serve_requests(void *unused)
{
    MPI_Status status;

    (void)unused;
    for (;;) {
        await_message();
        MPI_Recv(message, SIZE, MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        if (status.MPI_TAG == END)
            break;
        MPI_Send(message, SIZE, MPI_BYTE, 1, REQUEST, MPI_COMM_WORLD);
    }
    atomic_store(&over, 1);
    return NULL;
}

static void compute_and_serve(void)
{
    double one = one_computation(), start, lost;
    pthread_t t2;
    long done = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    if (pthread_create(&t2, NULL, serve_requests, NULL) != 0) {
        perror("mpi_serve: pthread_create");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (; !atomic_load(&over); done++)
        compute_turns(TURNS);
    lost = 100 * (1 - (double)done * one / (now_us() - start));
    pthread_join(t2, NULL);
    print_times("percent", SIZE, &lost, 1);
}

static double ask_requests(void *unused)
{
    double start;

    (void)unused;
    sleep_us(PAUSE_US);
    start = now_us();
    MPI_Send(message, SIZE, MPI_BYTE, 0, REQUEST, MPI_COMM_WORLD);
    MPI_Recv(message, SIZE, MPI_BYTE, 0, REQUEST, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return now_us() - start;
}

static void ask_for(double limit_us)
{
    static double v[BATCHES];
    double end = now_us() + limit_us;
    int n = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    while (n < BATCHES && (n < 3 || now_us() < end))
        v[n++] = ask_requests(NULL);
    MPI_Send(message, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD);
    print_times("us", SIZE, v, n);
}

int main(int argc, char **argv)
{
    int rank, level;

    if (argc != 3)
        return 2;
    polls = strcmp(argv[1], "poll") == 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind_rank(rank);
    message = allocate_buffer(SIZE);
    if (rank == 0)
        compute_and_serve();
    else if (rank == 1)
        ask_for(atof(argv[2]) * 1e3);
    MPI_Finalize();
    return 0;
}

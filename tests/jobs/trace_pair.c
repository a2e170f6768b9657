/* Two ranks whose trace is known: a receive that is posted, one whose message
 * comes before it, a rendezvous, and collectives by messages and by shared
 * memory. Other numbers of ranks only do the collectives. "killed": rank 0 ends
 * by a signal afterwards; "measure": prints the ns of a round trip; "alltoall":
 * only that, once.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 1 << 20, ROUNDS = 8, TRIPS = 20000, RANKS = 64 };
static char bytes[LARGE];

static void send_bytes(int count, int tag)
{
    MPI_Send(bytes, count, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
}

static void receive_bytes(int source, int count, int tag)
{
    MPI_Recv(bytes, count, MPI_BYTE, source, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void exchange_messages(int rank)
{
    MPI_Request early;

    if (rank == 0) {
        receive_bytes(1, 0, 1); /* the receive of tag 5 is posted */
        send_bytes(8, 5);
        send_bytes(16, 6);
        send_bytes(0, 7);
        send_bytes(LARGE, 8);
        return;
    }
    MPI_Irecv(bytes, 8, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &early);
    MPI_Send(bytes, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    receive_bytes(0, 0, 7); /* the message of tag 6 has come before it */
    receive_bytes(0, 16, 6);
    receive_bytes(0, LARGE, 8);
}

static void measure_round_trip(int rank)
{
    double start = MPI_Wtime();

    for (int i = 0; i < TRIPS; i++) {
        if (rank == 0)
            send_bytes(8, 9);
        receive_bytes(!rank, 8, 9);
        if (rank == 1)
            MPI_Send(bytes, 8, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.1f ns\n", (MPI_Wtime() - start) / TRIPS * 1e9);
}

static void compute_sums(void)
{
    int sum;

    for (int i = 0; i < ROUNDS; i++)
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int exchange_once(void)
{
    char from[RANKS] = {0}, to[RANKS]; /* ranks may be threads */

    MPI_Alltoall(from, 1, MPI_BYTE, to, 1, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "alltoall") == 0)
        return exchange_once();
    if (size == 2 && strcmp(what, "measure") == 0)
        measure_round_trip(rank);
    else if (size == 2)
        exchange_messages(rank);
    compute_sums();
    if (rank == 0 && strcmp(what, "killed") == 0)
        raise(SIGKILL);
    MPI_Finalize();
    return 0;
}

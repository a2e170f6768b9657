/* Large messages that arrive piece by piece while they are probed for,
 * received, or waited for, at MPI_THREAD_MULTIPLE, where the caller copies what
 * is stored.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../second_thread.h"
#include "check.h"

enum { LARGEST = 6 << 20, ROUNDS = 12, TAG = 3 };

static const int lengths[] = {5000, 32768, LARGEST};
static unsigned char data[LARGEST];

static void receive_message(int n, int from, int way)
{
    MPI_Request r;
    MPI_Status s;

    memset(data, 0, (size_t)n);
    if (way == 0) {
        MPI_Probe(from, TAG, MPI_COMM_WORLD, &s); /* its first piece is here */
        MPI_Recv(data, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &s);
    } else if (way == 1) {
        MPI_Probe(from, TAG, MPI_COMM_WORLD, &s);
        MPI_Irecv(data, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, &s);
    } else {
        MPI_Recv(data, n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &s);
    }
}

static void receive_all(int from)
{
    int got;

    for (int i = 0; i < 3 * ROUNDS; i++) {
        int n = lengths[i % 3], bad = 0;
        receive_message(n, from, i / 3 % 3);
        for (int k = 0; k < n; k++)
            bad += data[k] != (unsigned char)(k + i);
        CHECK(bad == 0);
    }
    /* the sender did not end before */
    MPI_Recv(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == ROUNDS);
}

static void send_all(int to)
{
    int rounds = ROUNDS;

    for (int i = 0; i < 3 * ROUNDS; i++) {
        int n = lengths[i % 3];
        for (int k = 0; k < n; k++)
            data[k] = (unsigned char)(k + i);
        MPI_Send(data, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    }
    MPI_Send(&rounds, 1, MPI_INT, to, TAG, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided, me, partner;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    start_second_thread();
    me = rank_in(MPI_COMM_WORLD);
    partner = me ^ 1; /* with an odd number of ranks the last one rests */
    if (partner < size_of(MPI_COMM_WORLD) && me % 2)
        receive_all(partner);
    else if (partner < size_of(MPI_COMM_WORLD))
        send_all(partner);
    return job_end();
}

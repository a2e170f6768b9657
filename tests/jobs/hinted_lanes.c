/* mpi_assert_allow_overtaking: where the route of a pair splits by size, an
 * eager message of such a communicator takes the lane of its size at once;
 * without the hint all take the first, because nothing else keeps their order.
 *
 * Two ranks, small messages over tcp, those of 8 KB and more over shm. Messages
 * that pass each other are found by their tags.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sent.h"

enum { MESSAGES = 24, BYTES = 16384, SMALL = 2000 };

static int size_of_message(int i)
{
    return i % 2 ? BYTES : SMALL;
}

/* Rank 0 sends all; rank 1 has posted the receives in the opposite order. */
static void exchange_messages(MPI_Comm c)
{
    static char out[MESSAGES][BYTES], in[MESSAGES][BYTES];
    MPI_Request r[MESSAGES];
    int rank = rank_in(c);

    for (int i = MESSAGES - 1; rank == 1 && i >= 0; i--)
        MPI_Irecv(in[i], BYTES, MPI_CHAR, 0, i, c, &r[i]);
    MPI_Barrier(c);
    for (int i = 0; rank == 0 && i < MESSAGES; i++) {
        memset(out[i], 'a' + i, BYTES);
        MPI_Isend(out[i], size_of_message(i), MPI_CHAR, 1, i, c, &r[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Status s;
        int n;
        MPI_Wait(&r[i], &s);
        if (rank == 0)
            continue;
        MPI_Get_count(&s, MPI_CHAR, &n);
        CHECK(n == size_of_message(i) && s.MPI_TAG == i);
        CHECK(in[i][0] == 'a' + i && in[i][n - 1] == 'a' + i);
    }
    MPI_Barrier(c);
}

int main(int argc, char **argv)
{
    unsigned long long large = MESSAGES / 2 * BYTES;
    unsigned long long before, after, hinted;
    MPI_Comm c;
    MPI_Info info;

    job_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    before = bytes_sent("shm");
    exchange_messages(c);
    after = bytes_sent("shm");
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_allow_overtaking", "true");
    MPI_Comm_set_info(c, info);
    MPI_Info_free(&info);
    exchange_messages(c);
    hinted = bytes_sent("shm");
    if (rank_in(c) == 0) {
        CHECK(after - before < BYTES);
        CHECK(hinted - after >= large && hinted - after < large + BYTES);
    }
    MPI_Comm_free(&c);
    return job_end();
}

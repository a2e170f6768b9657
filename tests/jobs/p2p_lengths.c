/* Messages around the lengths at which protocols and pieces of copies change:
 * every byte arrives where it belongs, and none behind the end.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { LONGEST = 512 << 10, ROOM = LONGEST + 128, ROUNDS = 2 };

static _Thread_local unsigned char *out, *in;
static _Thread_local int me, other;

static unsigned char byte_of(int sender, int i, int round)
{
    return (unsigned char)(sender * 101 + round * 29 + i + (i >> 8) * 7);
}

static void check_answered(int n, int round)
{
    MPI_Status status;
    int got;

    for (int i = 0; i < n; i++)
        out[i] = byte_of(me, i, round);
    memset(in, 0xee, (size_t)n + 1);
    if (me % 2 == 0)
        MPI_Send(out, n, MPI_BYTE, other, n, MPI_COMM_WORLD);
    MPI_Recv(in, ROOM, MPI_BYTE, other, n, MPI_COMM_WORLD, &status);
    if (me % 2 == 1)
        MPI_Send(out, n, MPI_BYTE, other, n, MPI_COMM_WORLD);
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK(got == n);
    for (int i = 0; i < n; i++)
        if (in[i] != byte_of(other, i, round)) {
            fprintf(stderr, "byte %d of %d\n", i, n);
            CHECK(in[i] == byte_of(other, i, round));
            break;
        }
    CHECK(in[n] == 0xee);
}

static void around_every_power_of_two(void)
{
    static const int beside[] = {-65, -64, -1, 0, 1, 63, 64};

    for (int n = 256; n <= LONGEST; n *= 2)
        for (int i = 0; i < 7; i++)
            for (int round = 0; round < ROUNDS; round++)
                check_answered(n + beside[i], round);
}

/* The receiver is in no hurry: what the sender could help with is over, or has
 * not begun, when it comes to that. */
static void to_one_who_computes(void)
{
    MPI_Request r[2];
    int done = 0;

    for (int n = 30000; n < 300000; n += 45001) {
        for (int i = 0; i < n; i++)
            out[i] = byte_of(me, i, 9);
        MPI_Irecv(in, n, MPI_BYTE, other, n, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, n, MPI_BYTE, other, n, MPI_COMM_WORLD, &r[1]);
        while (!done) {
            for (volatile int i = 0; i < 1000 * (1 + me); i++)
                ;
            MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
        }
        done = 0;
        CHECK(in[0] == byte_of(other, 0, 9) &&
              in[n - 1] == byte_of(other, n - 1, 9) &&
              in[n / 2] == byte_of(other, n / 2, 9));
    }
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    other = me ^ 1;
    if (other <
        size_of(MPI_COMM_WORLD)) { /* the last of an odd number is alone */
        out = malloc(ROOM);
        in = malloc(ROOM);
        around_every_power_of_two();
        to_one_who_computes();
        free(out);
        free(in);
    }
    return job_end();
}

/* Which message a receive gets: order, tags, wildcards, depth.
 *
 * MPI-5.0 s3.5: messages between one pair on one communicator do not overtake
 * each other, whatever their sizes and modes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MESSAGES = 60, DEEP = 1000 };

static _Thread_local int me, all;

static int length(int i) /* in ints: short, eager and rendezvous mixed */
{
    static const int n[] = {1, 20000, 3, 300, 100000, 12, 1500};
    return n[i % 7];
}

/* Everybody sends to everybody; same tag, so only order tells them apart. */
static void mixed_sizes(int any)
{
    int *out[MESSAGES], *in = malloc(100000 * sizeof(int)), *next;
    MPI_Request *rs = malloc((size_t)(MESSAGES * all) * sizeof *rs);
    int n = 0;

    next = calloc((size_t)all, sizeof *next);
    for (int i = 0; i < MESSAGES; i++) {
        out[i] = malloc((size_t)length(i) * sizeof(int));
        for (int k = 0; k < length(i); k++)
            out[i][k] = i * 7 + k;
        for (int to = 0; to < all; to++, n++) {
            if (i % 5 == 4)
                MPI_Issend(out[i], length(i), MPI_INT, to, 9, MPI_COMM_WORLD,
                           &rs[n]);
            else
                MPI_Isend(out[i], length(i), MPI_INT, to, 9, MPI_COMM_WORLD,
                          &rs[n]);
        }
    }
    for (int i = 0; i < MESSAGES * all; i++) {
        int from = any ? MPI_ANY_SOURCE : i % all, count, k, want;
        MPI_Status st;
        CHECK(MPI_Recv(in, 100000, MPI_INT, from, any ? MPI_ANY_TAG : 9,
                       MPI_COMM_WORLD, &st) == MPI_SUCCESS);
        MPI_Get_count(&st, MPI_INT, &count);
        CHECK(st.MPI_TAG == 9);
        k = next[st.MPI_SOURCE]++;
        want = length(k);
        CHECK(count == want);
        CHECK(in[0] == k * 7 && in[want - 1] == k * 7 + want - 1);
    }
    CHECK(MPI_Waitall(n, rs, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++)
        free(out[i]);
    free(next);
    free(in);
    free(rs);
}

/* Sent with tags 0..n-1, received from n-1 down to 0. */
static void reverse_tags(void)
{
    int to = (me + 1) % all, from = (me + all - 1) % all;
    int *out = malloc(DEEP * sizeof *out), in;
    MPI_Request *rs = malloc(DEEP * sizeof *rs);

    for (int i = 0; i < DEEP; i++) {
        out[i] = i * 3 + me;
        MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &rs[i]);
    }
    for (int i = DEEP - 1; i >= 0; i--) {
        in = -1;
        CHECK(MPI_Recv(&in, 1, MPI_INT, from, i, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(in == i * 3 + from);
    }
    MPI_Waitall(DEEP, rs, MPI_STATUSES_IGNORE);
    free(out);
    free(rs);
}

/* Many receives stand; messages find theirs by tag, in posting order. */
static void deep_posted(void)
{
    int to = (me + 1) % all, from = (me + all - 1) % all;
    int *in = malloc(DEEP * sizeof *in);
    MPI_Request *rs = malloc(DEEP * sizeof *rs);

    for (int i = 0; i < DEEP; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, i % 3 ? from : MPI_ANY_SOURCE, i / 2,
                  MPI_COMM_WORLD, &rs[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = DEEP - 1; i >= 0; i--) {
        /* of the two with one tag the first posted gets the first sent */
        int value = i / 2 * 2 + (i % 2 ? 0 : 1);
        MPI_Send(&value, 1, MPI_INT, to, i / 2, MPI_COMM_WORLD);
    }
    CHECK(MPI_Waitall(DEEP, rs, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < DEEP; i++)
        CHECK(in[i] == i);
    free(in);
    free(rs);
}

/* A wildcard posted first wins over an exact receive posted later. */
static void wildcard_first(void)
{
    int to = (me + 1) % all, from = (me + all - 1) % all, a = -1, b = -1,
        c = -1;
    int v[3] = {10, 20, 30};
    MPI_Request rs[3];
    MPI_Status st[3];

    MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
              &rs[0]);
    MPI_Irecv(&b, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &rs[1]);
    MPI_Irecv(&c, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &rs[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Send(&v[i], 1, MPI_INT, to, i == 1 ? 6 : 5, MPI_COMM_WORLD);
    MPI_Waitall(3, rs, st);
    CHECK(a == 10 && st[0].MPI_TAG == 5 && st[0].MPI_SOURCE == from);
    CHECK(b == 30 && st[1].MPI_TAG == 5);
    CHECK(c == 20 && st[2].MPI_TAG == 6);
}

/* Two communicators do not see each other's messages. */
static void check_contexts(void)
{
    int to = (me + 1) % all, from = (me + all - 1) % all, a = 1, b = 2, in = 0;
    MPI_Comm other;
    MPI_Request rs[2];
    MPI_Status st;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Isend(&a, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &rs[0]);
    MPI_Isend(&b, 1, MPI_INT, to, 1, other, &rs[1]);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &st);
    CHECK(in == 2);
    MPI_Recv(&in, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
    CHECK(in == 1);
    MPI_Waitall(2, rs, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&other);
}

/* Far more than any credit may wait at a receiver that does not look. */
static void flood_peer(void)
{
    enum { N = 3000, BYTES = 1000 };
    int to = (me + 1) % all, from = (me + all - 1) % all;
    char *out = malloc(BYTES), in[BYTES];
    MPI_Request *rs = malloc(N * sizeof *rs);

    memset(out, me + 1, BYTES);
    for (int i = 0; i < N; i++)
        MPI_Isend(out, BYTES - i % 7, MPI_CHAR, to, 77, MPI_COMM_WORLD, &rs[i]);
    for (int i = 0; i < N; i++) {
        MPI_Status st;
        int n;
        MPI_Recv(in, BYTES, MPI_CHAR, from, 77, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_CHAR, &n);
        CHECK(n == BYTES - i % 7 && in[0] == from + 1 && in[n - 1] == from + 1);
    }
    MPI_Waitall(N, rs, MPI_STATUSES_IGNORE);
    free(out);
    free(rs);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    mixed_sizes(0);
    MPI_Barrier(MPI_COMM_WORLD);
    mixed_sizes(1);
    MPI_Barrier(MPI_COMM_WORLD);
    reverse_tags();
    MPI_Barrier(MPI_COMM_WORLD);
    deep_posted();
    wildcard_first();
    MPI_Barrier(MPI_COMM_WORLD);
    check_contexts();
    flood_peer();
    return job_end();
}

/* Persistent requests, completion in all its forms, freeing while active.
 * MPI-5.0 s3.7 and s3.9.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { N = 12, ROUNDS = 5 };

static _Thread_local int me, all, to, from;

static int check_ints(int i)
{
    static const int n[] = {1, 10, 5000, 40000};
    return n[i % 4];
}

static void make_object(int kind, int *buf, int i, MPI_Request *r)
{
    int n = check_ints(i);
    switch (kind) {
    case 0:
        MPI_Send_init(buf, n, MPI_INT, to, i, MPI_COMM_WORLD, r);
        break;
    case 1:
        MPI_Ssend_init(buf, n, MPI_INT, to, i, MPI_COMM_WORLD, r);
        break;
    case 2:
        MPI_Rsend_init(buf, n, MPI_INT, to, i, MPI_COMM_WORLD, r);
        break;
    default:
        MPI_Bsend_init(buf, n, MPI_INT, to, i, MPI_COMM_WORLD, r);
    }
}

/* The same requests again and again, with new data each time. */
static void check_reuse(void)
{
    int *out[N], *in[N];
    MPI_Request s[N], r[N];

    for (int i = 0; i < N; i++) {
        out[i] = malloc((size_t)check_ints(i) * sizeof(int));
        in[i] = malloc((size_t)check_ints(i) * sizeof(int));
        make_object(i % 4, out[i], i, &s[i]);
        MPI_Recv_init(in[i], check_ints(i), MPI_INT,
                      i % 3 ? from : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++)
            for (int k = 0; k < check_ints(i); k++) {
                out[i][k] = me * 1000 + round * 100 + i + k;
                in[i][k] = -1;
            }
        CHECK(MPI_Startall(N, r) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD); /* for the ready sends */
        if (round % 2)
            CHECK(MPI_Startall(N, s) == MPI_SUCCESS);
        else
            for (int i = 0; i < N; i++)
                CHECK(MPI_Start(&s[i]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(N, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Waitall(N, s, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            int bad = 0;
            CHECK(r[i] != MPI_REQUEST_NULL && s[i] != MPI_REQUEST_NULL);
            for (int k = 0; k < check_ints(i); k++)
                bad += in[i][k] != from * 1000 + round * 100 + i + k;
            CHECK(bad == 0);
        }
    }
    for (int i = 0; i < N; i++) {
        CHECK(MPI_Request_free(&s[i]) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&r[i]) == MPI_SUCCESS);
        CHECK(s[i] == MPI_REQUEST_NULL && r[i] == MPI_REQUEST_NULL);
        free(out[i]);
        free(in[i]);
    }
}

/* An inactive request is complete, with the empty status (s3.7.3). */
static void check_inactive(void)
{
    int v = 0, flag = 0, n = -1, index = 7;
    MPI_Request r;
    MPI_Status st;

    MPI_Recv_init(&v, 1, MPI_INT, from, 900, MPI_COMM_WORLD, &r);
    memset(&st, 0x5a, sizeof st);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(st.MPI_SOURCE == MPI_ANY_SOURCE && st.MPI_TAG == MPI_ANY_TAG &&
          n == 0);
    MPI_Test(&r, &flag, &st);
    CHECK(flag && r != MPI_REQUEST_NULL);
    MPI_Waitany(1, &r, &index, &st);
    CHECK(index == MPI_UNDEFINED);
    MPI_Testany(1, &r, &index, &flag, &st);
    CHECK(flag && index == MPI_UNDEFINED);
    MPI_Request_get_status(r, &flag, &st);
    CHECK(flag);
    /* started, cancelled, and still usable */
    MPI_Start(&r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag);
    MPI_Start(&r);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, to, 900, MPI_COMM_WORLD);
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(!flag && v == from);
    MPI_Request_free(&r);
}

/* A request freed while active completes all the same. */
static void free_active(void)
{
    int out[4] = {me, me, me, me}, *big = malloc(200000 * sizeof *big);
    int in[4] = {-1, -1, -1, -1}, *bigin = malloc(200000 * sizeof *bigin);
    MPI_Request r, s;

    for (int i = 0; i < 200000; i++)
        big[i] = me + i;
    MPI_Recv_init(in, 4, MPI_INT, from, 901, MPI_COMM_WORLD, &r);
    MPI_Start(&r);
    CHECK(MPI_Request_free(&r) == MPI_SUCCESS && r == MPI_REQUEST_NULL);
    MPI_Isend(big, 200000, MPI_INT, to, 903, MPI_COMM_WORLD, &s);
    CHECK(MPI_Request_free(&s) == MPI_SUCCESS);
    MPI_Send(out, 4, MPI_INT, to, 901, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 1, MPI_INT, to, 902, in + 3, 1, MPI_INT, from, 902,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == from && in[2] == from); /* 902 came after 901 */
    MPI_Recv(bigin, 200000, MPI_INT, from, 903, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(bigin[0] == from && bigin[199999] == from + 199999);
    MPI_Barrier(MPI_COMM_WORLD);
    free(big); /* my right neighbour has received it all */
    free(bigin);
}

/* ---- any, some, all ------------------------------------------------------ */

static void post_receive(MPI_Request *r, int *in, int *out)
{
    for (int i = 0; i < N; i++) {
        out[i] = me * 100 + i;
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = N - 1; i >= 0; i--)
        MPI_Send(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD);
}

static void complete_any(int test)
{
    int in[N], out[N], index, flag, seen = 0;
    MPI_Request r[N + 1];
    MPI_Status st;

    r[N] = MPI_REQUEST_NULL;
    post_receive(r, in, out);
    for (int i = 0; i < N; i++) {
        flag = 0;
        if (test)
            while (!flag)
                CHECK(MPI_Testany(N + 1, r, &index, &flag, &st) == 0);
        else
            CHECK(MPI_Waitany(N + 1, r, &index, &st) == MPI_SUCCESS);
        CHECK(index >= 0 && index < N && !(seen & 1 << index));
        seen |= 1 << index;
        CHECK(st.MPI_TAG == index && in[index] == from * 100 + index);
        CHECK(r[index] == MPI_REQUEST_NULL);
    }
    MPI_Waitany(N + 1, r, &index, &st);
    CHECK(index == MPI_UNDEFINED && st.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Testany(N + 1, r, &index, &flag, &st);
    CHECK(flag && index == MPI_UNDEFINED);
}

static void complete_some(int test)
{
    int in[N], out[N], indices[N], count, done = 0;
    MPI_Request r[N];
    MPI_Status st[N];

    post_receive(r, in, out);
    while (done < N) {
        if (test)
            CHECK(MPI_Testsome(N, r, &count, indices, st) == MPI_SUCCESS);
        else
            CHECK(MPI_Waitsome(N, r, &count, indices, st) == MPI_SUCCESS);
        CHECK(count >= !test && count <= N - done);
        for (int i = 0; i < count; i++)
            CHECK(st[i].MPI_TAG == indices[i] &&
                  in[indices[i]] == from * 100 + indices[i]);
        done += count;
    }
    MPI_Waitsome(N, r, &count, indices, st);
    CHECK(count == MPI_UNDEFINED);
    MPI_Testsome(N, r, &count, indices, st);
    CHECK(count == MPI_UNDEFINED);
}

static void complete_all(int test)
{
    int in[N], out[N], flag = 0;
    MPI_Request r[N];
    MPI_Status st[N];

    post_receive(r, in, out);
    if (test)
        while (!flag)
            CHECK(MPI_Testall(N, r, &flag, st) == MPI_SUCCESS);
    else
        CHECK(MPI_Waitall(N, r, st) == MPI_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK(st[i].MPI_TAG == i && st[i].MPI_SOURCE == from &&
              in[i] == from * 100 + i && r[i] == MPI_REQUEST_NULL);
    flag = 0;
    MPI_Testall(N, r, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
}

static void get_status(void)
{
    int v = -1, flag = 0;
    MPI_Request r;
    MPI_Status st;

    MPI_Irecv(&v, 1, MPI_INT, from, 950, MPI_COMM_WORLD, &r);
    MPI_Request_get_status(r, &flag, &st);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, to, 950, MPI_COMM_WORLD);
    while (!flag)
        MPI_Request_get_status(r, &flag, &st);
    CHECK(st.MPI_SOURCE == from && st.MPI_TAG == 950 && v == from);
    CHECK(r != MPI_REQUEST_NULL);
    MPI_Wait(&r, &st);
    CHECK(st.MPI_SOURCE == from && r == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    int room = 2000000;
    void *buffer = malloc((size_t)room);

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    MPI_Buffer_attach(buffer, room);
    check_reuse();
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    check_inactive();
    free_active();
    for (int test = 0; test < 2; test++) {
        complete_any(test);
        complete_some(test);
        complete_all(test);
    }
    get_status();
    return job_end();
}

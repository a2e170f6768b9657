/* This program checks what is known of requests without completing them, and
 * the fields of a status.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

/* deprecated functions have to work, too */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { N = 5, TAG = 40, LATE = 3 /* this one is sent last */ };

static int to, from, in[N], out[N];

static void post_receive(MPI_Request *r)
{
    for (int i = 0; i < N; i++) {
        out[i] = rank_in(MPI_COMM_WORLD) * 100 + i;
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, from, TAG + i, MPI_COMM_WORLD, &r[i]);
    }
}

static void send_message(int i)
{
    MPI_Send(&out[i], 1, MPI_INT, to, TAG + i, MPI_COMM_WORLD);
}

static int is_of(const MPI_Status *s, int i)
{
    int n = -1;

    MPI_Get_count(s, MPI_INT, &n);
    return s->MPI_SOURCE == from && s->MPI_TAG == TAG + i && n == 1;
}

static int is_empty(const MPI_Status *s)
{
    int n = -1;

    MPI_Get_count(s, MPI_INT, &n);
    return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG &&
           s->MPI_ERROR == MPI_SUCCESS && n == 0;
}

/* Whatever has come is told, again and again, until somebody takes it. */
static void some_are_done(MPI_Request *r)
{
    int flag, n, which[N];
    MPI_Status s[N];

    for (int last = 0; last < N - 1;) {
        CHECK(MPI_Request_get_status_some(N, r, &n, which, s) == MPI_SUCCESS);
        CHECK(n >= last && n < N);
        for (int i = 0; i < n; i++)
            CHECK(which[i] != LATE && is_of(&s[i], which[i]));
        last = n;
    }
    CHECK(MPI_Request_get_status_any(N, r, &n, &flag, s) == MPI_SUCCESS);
    CHECK(flag && n >= 0 && n < N && n != LATE && is_of(s, n));
    CHECK(MPI_Request_get_status_any(1, &r[LATE], &n, &flag, s) ==
          MPI_SUCCESS);
    CHECK(!flag && n == MPI_UNDEFINED);
    CHECK(MPI_Request_get_status_some(1, &r[LATE], &n, which, s) ==
          MPI_SUCCESS);
    CHECK(n == 0);
    CHECK(MPI_Request_get_status_all(N, r, &flag, s) == MPI_SUCCESS);
    CHECK(!flag);
    for (int i = 0; i < N; i++)
        CHECK(r[i] != MPI_REQUEST_NULL);
}

static void all_are_done(MPI_Request *r)
{
    MPI_Status s[N];
    int flag = 0;

    while (!flag)
        CHECK(MPI_Request_get_status_all(N, r, &flag, s) == MPI_SUCCESS);
    for (int i = 0; i < N; i++) {
        CHECK(is_of(&s[i], i) && in[i] == from * 100 + i);
        CHECK(r[i] != MPI_REQUEST_NULL);
    }
    CHECK(MPI_Waitall(N, r, s) == MPI_SUCCESS);
    for (int i = 0; i < N; i++)
        CHECK(is_of(&s[i], i));
}

/* Null and inactive requests are done, and there is nothing to tell. */
static void none_is_active(void)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL};
    int flag = 0, n = 0, which[2];
    MPI_Status s[2];

    MPI_Recv_init(in, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &r[1]);
    memset(s, 0x55, sizeof s);
    CHECK(MPI_Request_get_status_all(2, r, &flag, s) == MPI_SUCCESS);
    CHECK(flag && is_empty(&s[0]) && is_empty(&s[1]));
    memset(s, 0x55, sizeof s);
    CHECK(MPI_Request_get_status_any(2, r, &n, &flag, s) == MPI_SUCCESS);
    CHECK(flag && n == MPI_UNDEFINED && is_empty(s));
    CHECK(MPI_Request_get_status_some(2, r, &n, which, s) == MPI_SUCCESS);
    CHECK(n == MPI_UNDEFINED);
    MPI_Request_free(&r[1]);
}

static void check_fields(void)
{
    int source, tag, error, n, flag;
    MPI_Count large;
    MPI_Status s;

    memset(&s, 0, sizeof s);
    MPI_Status_set_source(&s, 5);
    MPI_Status_set_tag(&s, 77);
    MPI_Status_set_error(&s, MPI_ERR_TRUNCATE);
    MPI_Status_set_elements_x(&s, MPI_INT, INT64_C(3000000000));
    MPI_Status_set_cancelled(&s, 1);
    CHECK(s.MPI_SOURCE == 5 && s.MPI_TAG == 77 &&
          s.MPI_ERROR == MPI_ERR_TRUNCATE);
    MPI_Status_get_source(&s, &source);
    MPI_Status_get_tag(&s, &tag);
    MPI_Status_get_error(&s, &error);
    CHECK(source == 5 && tag == 77 && error == MPI_ERR_TRUNCATE);
    MPI_Get_elements_x(&s, MPI_INT, &large);
    CHECK(large == INT64_C(3000000000));
    MPI_Get_elements_c(&s, MPI_INT, &large);
    CHECK(large == INT64_C(3000000000));
    MPI_Get_elements(&s, MPI_INT, &n); /* it does not fit */
    CHECK(n == MPI_UNDEFINED);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag);
    MPI_Status_set_elements(&s, MPI_INT, 7);
    MPI_Status_set_cancelled(&s, 0);
    MPI_Get_count_c(&s, MPI_INT, &large);
    MPI_Test_cancelled(&s, &flag);
    CHECK(large == 7 && !flag);
}

int main(int argc, char **argv)
{
    MPI_Request r[N];

    job_begin(&argc, &argv);
    to = (rank_in(MPI_COMM_WORLD) + 1) % size_of(MPI_COMM_WORLD);
    from = (rank_in(MPI_COMM_WORLD) + size_of(MPI_COMM_WORLD) - 1) %
           size_of(MPI_COMM_WORLD);
    post_receive(r);
    for (int i = N - 1; i >= 0; i--)
        if (i != LATE)
            send_message(i);
    some_are_done(r);
    MPI_Barrier(MPI_COMM_WORLD); /* nobody asks any more what has not come */
    send_message(LATE);
    all_are_done(r);
    none_is_active();
    check_fields();
    return job_end();
}

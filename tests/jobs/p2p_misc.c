/* Combined calls, cancelling, buffers, truncation, no process, self, counts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { BIG = 300000 };

static _Thread_local int me, all, to, from;

/* ---- sendrecv and its kin (s3.11) ---------------------------------------- */

static void fill_buffer(int *v, int n, int seed)
{
    for (int i = 0; i < n; i++)
        v[i] = seed * 1000 + i;
}

static void check_from(const int *v, int n, int seed)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += v[i] != seed * 1000 + i;
    CHECK(bad == 0);
}

static void check_combined(int n)
{
    int *a = malloc((size_t)(n + 1) * sizeof *a);
    int *b = malloc((size_t)(n + 1) * sizeof *b), count;
    MPI_Request r[2];
    MPI_Status st;

    fill_buffer(a, n, me);
    CHECK(MPI_Sendrecv(a, n, MPI_INT, to, 1, b, n, MPI_INT, from, 1,
                       MPI_COMM_WORLD, &st) == MPI_SUCCESS);
    check_from(b, n, from);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(count == n && st.MPI_SOURCE == from && st.MPI_TAG == 1);
    CHECK(MPI_Sendrecv_replace(a, n, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD,
                               &st) == MPI_SUCCESS);
    check_from(a, n, from);
    fill_buffer(a, n, me);
    CHECK(MPI_Isendrecv(a, n, MPI_INT, to, 3, b, n, MPI_INT, MPI_ANY_SOURCE, 3,
                        MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r[0], &st) == MPI_SUCCESS);
    CHECK(st.MPI_SOURCE == from && st.MPI_TAG == 3);
    check_from(b, n, from);
    fill_buffer(b, n, me + 7);
    CHECK(MPI_Isendrecv_replace(a, n, MPI_INT, to, 4, from, 4, MPI_COMM_WORLD,
                                &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Isendrecv_replace(b, n, MPI_INT, to, 5, from, 5, MPI_COMM_WORLD,
                                &r[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    check_from(a, n, from);
    check_from(b, n, from + 7);
    free(a);
    free(b);
}

/* ---- cancel (s3.8.4) ----------------------------------------------------- */

static void cancel_receives(void)
{
    int v = -5, flag;
    MPI_Request r;
    MPI_Status st;

    MPI_Irecv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 40, MPI_COMM_WORLD, &r);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag && v == -5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv(&v, 1, MPI_INT, from, 40, MPI_COMM_WORLD, &r);
    MPI_Send(&me, 1, MPI_INT, to, 40, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(v == from);
    MPI_Irecv(&v, 1, MPI_INT, from, 41, MPI_COMM_WORLD, &r);
    MPI_Send(&me, 1, MPI_INT, to, 41, MPI_COMM_WORLD);
    while (MPI_Request_get_status(r, &flag, &st), !flag)
        ;
    MPI_Cancel(&r); /* too late */
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    CHECK(!flag && v == from);
}

/* A synchronous send nobody receives can be taken back, or was received. */
static void cancel_sends(int n)
{
    int *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    int flag = 0, here = 1, cancelled;
    MPI_Request r;
    MPI_Status st;

    fill_buffer(a, n, me);
    MPI_Issend(a, n, MPI_INT, to, 50, MPI_COMM_WORLD, &r);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
    MPI_Test_cancelled(&st, &cancelled);
    MPI_Sendrecv(&cancelled, 1, MPI_INT, to, 51, &flag, 1, MPI_INT, from, 51,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(from, 50, MPI_COMM_WORLD, &here, &st);
    CHECK(here == !flag); /* either cancelled or received, never both */
    CHECK(cancelled);     /* there was no receive, so it must succeed */
    if (here) {
        MPI_Recv(b, n, MPI_INT, from, 50, MPI_COMM_WORLD, &st);
        check_from(b, n, from);
    }
    free(a);
    free(b);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- buffered mode (s3.6) ------------------------------------------------ */

static void bsend_some(MPI_Comm comm, int n, int size)
{
    int *v = malloc((size_t)size * sizeof *v);
    for (int i = 0; i < n; i++) {
        fill_buffer(v, size, me + i);
        CHECK(MPI_Bsend(v, size, MPI_INT, to, i, comm) == MPI_SUCCESS);
    }
    free(v);
}

static void brecv_some(MPI_Comm comm, int n, int size)
{
    int *v = malloc((size_t)size * sizeof *v);
    for (int i = n - 1; i >= 0; i--) {
        MPI_Recv(v, size, MPI_INT, from, i, comm, MPI_STATUS_IGNORE);
        check_from(v, size, from + i);
    }
    free(v);
}

static void buffer_of_the_process(MPI_Comm c, char *buffer, int room)
{
    int got_room = 0, got;
    void *back = NULL;
    MPI_Request r;

    CHECK(class_of(MPI_Bsend(&me, 1, MPI_INT, to, 1, c)) == MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(buffer, room) == MPI_SUCCESS);
    CHECK(class_of(MPI_Buffer_attach(buffer, room)) == MPI_ERR_BUFFER);
    bsend_some(c, 5, 20000);
    brecv_some(c, 5, 20000);
    CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    CHECK(MPI_Buffer_iflush(&r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    bsend_some(c, 5, 20000);
    got = MPI_Bsend(buffer, room, MPI_CHAR, MPI_PROC_NULL, 1, c);
    CHECK(got == MPI_SUCCESS);
    brecv_some(c, 5, 20000);
    CHECK(MPI_Buffer_detach(&back, &got_room) == MPI_SUCCESS);
    CHECK(back == buffer && got_room == room);
}

static void a_full_buffer_is_an_error_and_works_again(MPI_Comm c, char *buffer,
                                                      int room)
{
    int *v = calloc(60000, sizeof *v);
    void *back;

    MPI_Buffer_attach(buffer, room);
    CHECK(class_of(MPI_Bsend(v, 60000, MPI_INT, to, 1, c)) == MPI_ERR_BUFFER);
    free(v);
    bsend_some(c, 1, 20000);
    brecv_some(c, 1, 20000);
    MPI_Buffer_detach(&back, &room);
}

static void buffer_of_a_communicator(MPI_Comm c, char *buffer, int room)
{
    int got_room = 0;
    void *back = NULL;
    MPI_Request r;

    CHECK(MPI_Comm_attach_buffer(c, buffer, room) == MPI_SUCCESS);
    bsend_some(c, 5, 20000);
    brecv_some(c, 5, 20000);
    CHECK(MPI_Comm_flush_buffer(c) == MPI_SUCCESS);
    CHECK(MPI_Comm_iflush_buffer(c, &r) == MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(MPI_Comm_detach_buffer(c, &back, &got_room) == MPI_SUCCESS);
    CHECK(back == buffer && got_room == room);
}

static void automatic_buffers(MPI_Comm c)
{
    int room;
    void *back = NULL;
    MPI_Comm other;

    CHECK(MPI_Comm_attach_buffer(c, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    bsend_some(c, 50, 20000);
    brecv_some(c, 50, 20000);
    CHECK(MPI_Comm_detach_buffer(c, &back, &room) == MPI_SUCCESS);
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    CHECK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    bsend_some(c, 20, 100);
    brecv_some(c, 20, 100);
    CHECK(MPI_Buffer_detach(&back, &room) == MPI_SUCCESS);
    CHECK(back == MPI_BUFFER_AUTOMATIC);
    /* which goes with its communicator */
    MPI_Comm_dup(c, &other);
    CHECK(MPI_Comm_attach_buffer(other, MPI_BUFFER_AUTOMATIC, 0) ==
          MPI_SUCCESS);
    bsend_some(other, 20, 20000);
    brecv_some(other, 20, 20000);
    MPI_Comm_free(&other);
}

static void check_buffers(void)
{
    int pack, room;
    char *buffer;
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Pack_size(20000, MPI_INT, c, &pack);
    room = 5 * (pack + MPI_BSEND_OVERHEAD);
    buffer = malloc((size_t)room);
    buffer_of_the_process(c, buffer, room);
    a_full_buffer_is_an_error_and_works_again(c, buffer,
                                              pack + MPI_BSEND_OVERHEAD);
    buffer_of_a_communicator(c, buffer, room);
    automatic_buffers(c);
    free(buffer);
    MPI_Comm_free(&c);
}

/* ---- truncation (s3.2.4) ------------------------------------------------- */

static void check_truncation(int n, int late)
{
    char *out = malloc((size_t)n), *in = malloc((size_t)n + 1);
    int small = n / 2, bad = 0, rc;
    MPI_Request r, s;
    MPI_Status st;

    memset(out, me + 1, (size_t)n);
    memset(in, 0x77, (size_t)n + 1);
    if (!late)
        MPI_Irecv(in, small, MPI_CHAR, from, 60, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Isend(out, n, MPI_CHAR, to, 60, MPI_COMM_WORLD, &s) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (late)
        MPI_Irecv(in, small, MPI_CHAR, from, 60, MPI_COMM_WORLD, &r);
    rc = MPI_Wait(&r, &st);
    CHECK(class_of(rc) == MPI_ERR_TRUNCATE);
    CHECK(st.MPI_SOURCE == from && st.MPI_TAG == 60);
    CHECK(r == MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&s, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < small; i++)
        bad += in[i] != (char)(from + 1);
    for (int i = small; i <= n; i++)
        bad += in[i] != 0x77;
    CHECK(bad == 0);
    /* among others: MPI_ERR_IN_STATUS, and which one it was */
    {
        MPI_Request rs[2];
        MPI_Status sts[2];
        MPI_Irecv(in, n, MPI_CHAR, from, 61, MPI_COMM_WORLD, &rs[0]);
        MPI_Irecv(in, small, MPI_CHAR, from, 62, MPI_COMM_WORLD, &rs[1]);
        MPI_Isend(out, n, MPI_CHAR, to, 61, MPI_COMM_WORLD, &s);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        MPI_Isend(out, n, MPI_CHAR, to, 62, MPI_COMM_WORLD, &s);
        rc = MPI_Waitall(2, rs, sts);
        CHECK(rc == MPI_ERR_IN_STATUS);
        CHECK(sts[0].MPI_ERROR == MPI_SUCCESS);
        CHECK(class_of(sts[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
    }
    free(out);
    free(in);
}

/* ---- no process (s3.10) -------------------------------------------------- */

static void check_none(MPI_Status *st)
{
    int n = -1;
    MPI_Get_count(st, MPI_INT, &n);
    CHECK(st->MPI_SOURCE == MPI_PROC_NULL && st->MPI_TAG == MPI_ANY_TAG &&
          n == 0);
}

static void no_process(void)
{
    int v = -3;
    MPI_Request r[4];
    MPI_Status st;

    CHECK(MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == 0);
    CHECK(MPI_Ssend(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == 0);
    CHECK(MPI_Rsend(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == 0);
    CHECK(MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st) == 0);
    check_none(&st);
    MPI_Irecv(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], &st);
    check_none(&st);
    MPI_Isend(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Issend(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Recv_init(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Send_init(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Startall(2, r + 2);
    MPI_Wait(&r[2], &st);
    check_none(&st);
    CHECK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    MPI_Request_free(&r[2]);
    MPI_Request_free(&r[3]);
    CHECK(MPI_Sendrecv(&v, 1, MPI_INT, MPI_PROC_NULL, 1, &v, 1, MPI_INT,
                       MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st) == 0);
    check_none(&st);
    CHECK(MPI_Sendrecv_replace(&v, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL,
                               1, MPI_COMM_WORLD, &st) == 0);
    check_none(&st);
    CHECK(v == -3);
}

/* ---- to oneself ---------------------------------------------------------- */

static void check_self(int n)
{
    int *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    MPI_Request r, s;
    MPI_Status st;

    fill_buffer(a, n, me);
    for (int k = 0; k < 3; k++) {
        memset(b, 0, (size_t)n * sizeof *b);
        MPI_Irecv(b, n, MPI_INT, 0, k, MPI_COMM_SELF, &r);
        if (k == 0)
            MPI_Send(a, n, MPI_INT, 0, k, MPI_COMM_SELF);
        else if (k == 1)
            MPI_Ssend(a, n, MPI_INT, 0, k, MPI_COMM_SELF);
        else
            MPI_Rsend(a, n, MPI_INT, 0, k, MPI_COMM_SELF);
        MPI_Wait(&r, &st);
        CHECK(st.MPI_SOURCE == 0 && st.MPI_TAG == k);
        check_from(b, n, me);
    }
    for (int k = 0; k < 2; k++) {
        memset(b, 0, (size_t)n * sizeof *b);
        if (k)
            MPI_Issend(a, n, MPI_INT, me, 9, MPI_COMM_WORLD, &s);
        else
            MPI_Isend(a, n, MPI_INT, me, 9, MPI_COMM_WORLD, &s);
        MPI_Recv(b, n, MPI_INT, me, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        CHECK(st.MPI_SOURCE == me && st.MPI_TAG == 9);
        check_from(b, n, me);
    }
    CHECK(MPI_Sendrecv_replace(a, n, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_from(a, n, me);
    MPI_Issend(a, n, MPI_INT, me, 9, MPI_COMM_WORLD, &s);
    MPI_Cancel(&s);
    MPI_Wait(&s, &st);
    MPI_Test_cancelled(&st, &n);
    CHECK(n);
    free(a);
    free(b);
}

/* ---- counts (s3.2.5) ----------------------------------------------------- */

static void check_counts(void)
{
    struct {
        int a;
        double b;
    } v[4] = {{0}};
    int n = 0;
    int lengths[2] = {1, 1};
    MPI_Aint at[2] = {0, (char *)&v[0].b - (char *)&v[0]};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, pair;
    MPI_Status st;

    MPI_Type_create_struct(2, lengths, at, types, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(v, 3, pair, to, 70, v, 4, pair, from, 70, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, pair, &n);
    CHECK(n == 3);
    MPI_Get_elements(&st, pair, &n);
    CHECK(n == 6);
    /* one pair and an int: no whole number of pairs */
    char bytes[16] = {0};
    MPI_Sendrecv(bytes, 16, MPI_BYTE, to, 71, v, 4, pair, from, 71,
                 MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, pair, &n);
    CHECK(n == MPI_UNDEFINED);
    MPI_Get_elements(&st, pair, &n);
    CHECK(n == 3);
    MPI_Get_count(&st, MPI_BYTE, &n);
    CHECK(n == 16);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    check_combined(0);
    check_combined(5);
    check_combined(BIG);
    cancel_receives();
    cancel_sends(1);
    cancel_sends(3000);
    cancel_sends(BIG);
    check_buffers();
    for (int late = 0; late < 2; late++) {
        check_truncation(10, late);
        check_truncation(3000, late);
        check_truncation(1 << 20, late);
    }
    no_process();
    check_self(1);
    check_self(1000);
    check_self(BIG);
    check_counts();
    return job_end();
}

/* Probing, and receiving exactly what was probed (MPI-5.0 s3.8).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static const int sizes[] = {0, 1, 500, 70000, 400000}; /* ints */
enum { SIZES = sizeof sizes / sizeof *sizes, MAX = 400000 };

static _Thread_local int me, all, to, from;
static _Thread_local int *out, *in;

static void post_receive(int tag, int n, int sync, MPI_Request *r)
{
    for (int i = 0; i < n; i++)
        out[i] = tag * 5 + i;
    if (sync)
        MPI_Issend(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
    else
        MPI_Isend(out, n, MPI_INT, to, tag, MPI_COMM_WORLD, r);
}

static void check_probed(MPI_Status *st, int tag, int n)
{
    int count = -1;
    CHECK(st->MPI_SOURCE == from && st->MPI_TAG == tag);
    MPI_Get_count(st, MPI_INT, &count);
    CHECK(count == n);
}

static void check_data(int tag, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += in[i] != tag * 5 + i;
    CHECK(bad == 0);
}

static void probe_then_receive(int tag, int n, int sync)
{
    MPI_Request r;
    MPI_Status st;
    int flag = 0;

    post_receive(tag, n, sync, &r);
    CHECK(MPI_Probe(from, tag, MPI_COMM_WORLD, &st) == MPI_SUCCESS);
    check_probed(&st, tag, n);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                     &st) == MPI_SUCCESS);
    CHECK(flag);
    check_probed(&st, tag, n);
    MPI_Iprobe(from, tag + 1, MPI_COMM_WORLD, &flag, &st);
    CHECK(!flag);
    MPI_Recv(in, n, MPI_INT, st.MPI_SOURCE, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    check_data(tag, n);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void check_matched(int tag, int n, int sync, int nonblocking)
{
    MPI_Request r, rr;
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Status st;
    int flag = 0;

    post_receive(tag, n, sync, &r);
    if (nonblocking)
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &m, &st);
    else
        CHECK(MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &st) == 0);
    check_probed(&st, tag, n);
    CHECK(m != MPI_MESSAGE_NULL && m != MPI_MESSAGE_NO_PROC);
    /* nobody else can get it now */
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    if (nonblocking) {
        CHECK(MPI_Imrecv(in, n, MPI_INT, &m, &rr) == MPI_SUCCESS);
        MPI_Wait(&rr, &st);
    } else
        CHECK(MPI_Mrecv(in, n, MPI_INT, &m, &st) == MPI_SUCCESS);
    CHECK(m == MPI_MESSAGE_NULL);
    check_probed(&st, tag, n);
    check_data(tag, n);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Two messages taken by mprobe are received in the other order. */
static void out_of_order(int n)
{
    MPI_Request rs[2];
    MPI_Message m[2];
    MPI_Status st;

    post_receive(4, n, 0, &rs[0]);
    MPI_Isend(out, n / 2, MPI_INT, to, 4, MPI_COMM_WORLD, &rs[1]);
    MPI_Mprobe(from, 4, MPI_COMM_WORLD, &m[0], &st);
    check_probed(&st, 4, n);
    MPI_Mprobe(from, 4, MPI_COMM_WORLD, &m[1], &st);
    check_probed(&st, 4, n / 2);
    MPI_Mrecv(in, n, MPI_INT, &m[1], &st);
    check_probed(&st, 4, n / 2);
    MPI_Mrecv(in, n, MPI_INT, &m[0], &st);
    check_probed(&st, 4, n);
    check_data(4, n);
    MPI_Waitall(2, rs, MPI_STATUSES_IGNORE);
}

/* A matched receive that is too small: truncation, and nothing beyond. */
static void matched_truncates(int n)
{
    MPI_Request r;
    MPI_Message m;
    MPI_Status st;
    int class = 0, rc, count;

    post_receive(6, n, 0, &r);
    MPI_Mprobe(from, 6, MPI_COMM_WORLD, &m, &st);
    in[n / 2] = -77;
    rc = MPI_Mrecv(in, n / 2, MPI_INT, &m, &st);
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    CHECK(in[n / 2] == -77);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(count <= n);
    check_data(6, n / 2);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void no_process(void)
{
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Request r;
    MPI_Status st;
    int flag = 0, count = -1;

    MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);
    MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &st);
    CHECK(flag && st.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &m, &st);
    CHECK(m == MPI_MESSAGE_NO_PROC && st.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(in, 5, MPI_INT, &m, &st);
    MPI_Get_count(&st, MPI_INT, &count);
    CHECK(m == MPI_MESSAGE_NULL && st.MPI_SOURCE == MPI_PROC_NULL &&
          st.MPI_TAG == MPI_ANY_TAG && count == 0);
    m = MPI_MESSAGE_NO_PROC;
    MPI_Imrecv(in, 5, MPI_INT, &m, &r);
    CHECK(m == MPI_MESSAGE_NULL);
    MPI_Wait(&r, &st);
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    out = malloc(MAX * sizeof *out);
    in = malloc((MAX + 1) * sizeof *in);
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < 4; k++) {
            probe_then_receive(10 * i + k, sizes[i], k % 2);
            MPI_Barrier(MPI_COMM_WORLD);
            check_matched(10 * i + k, sizes[i], k % 2, k / 2);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    for (int i = 2; i < SIZES; i++) {
        out_of_order(sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        matched_truncates(sizes[i]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    no_process();
    free(out);
    free(in);
    return job_end();
}

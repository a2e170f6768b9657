/* Partitioned communication: sides that cut the data differently, rounds, early
 * arrival, threads, and what is not allowed (MPI-5.0 chapter 4).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { TOTAL = 5040, ROUNDS = 3, THREADS = 4 };

static int rank, size, next_rank, before;

static void fill_buffer(int *data, int round)
{
    for (int i = 0; i < TOTAL; i++)
        data[i] = i * 7 + round;
}

static int is_right(const int *data, int first, int n, int round)
{
    for (int i = first; i < first + n; i++)
        if (data[i] != i * 7 + round)
            return 0;
    return 1;
}

/* From the last partition to the first, one by one, in a range, in a list. */
static void hand_over(MPI_Request send, int parts, int round)
{
    if (round == 1) {
        CHECK(MPI_Pready_range(0, parts - 1, send) == MPI_SUCCESS);
        return;
    }
    if (round == 2) {
        int list[64];
        for (int i = 0; i < parts; i++)
            list[i] = (i * 5 + 1) % parts == i ? i : parts - 1 - i;
        CHECK(MPI_Pready_list(parts, list, send) == MPI_SUCCESS);
        return;
    }
    for (int i = parts - 1; i >= 0; i--)
        CHECK(MPI_Pready(i, send) == MPI_SUCCESS);
}

static void both_sides_cut_differently(int sends, int receives)
{
    static int out[TOTAL], in[TOTAL];
    MPI_Request r[2];
    MPI_Status s[2];
    int n;
    MPI_Psend_init(out, sends, TOTAL / sends, MPI_INT, next_rank, 3,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, receives, TOTAL / receives, MPI_INT, before, 3,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < ROUNDS; round++) {
        fill_buffer(out, round);
        memset(in, 0xff, sizeof in);
        MPI_Startall(2, r);
        hand_over(r[0], sends, round == 2 ? 0 : round);
        for (int i = 0, flag = 0; i < receives; i++, flag = 0) {
            while (!flag)
                MPI_Parrived(r[1], i, &flag);
            CHECK(
                is_right(in, i * (TOTAL / receives), TOTAL / receives, round));
        }
        MPI_Waitall(2, r, s);
        CHECK(is_right(in, 0, TOTAL, round));
        CHECK(s[1].MPI_SOURCE == before && s[1].MPI_TAG == 3);
        MPI_Get_count(&s[1], MPI_INT, &n);
        CHECK(n == TOTAL);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* The receiver answers a partition before the sender hands over the next: it
 * can only because the first has arrived. */
static void a_partition_arrives_before_the_others_are_ready(int count)
{
    int *out = calloc((size_t)count * 2, sizeof *out);
    int *in = calloc((size_t)count * 2, sizeof *in);
    int flag = 0, token = 0;
    MPI_Request r[2];
    MPI_Psend_init(out, 2, count, MPI_INT, next_rank, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 2, count, MPI_INT, before, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[1]);
    MPI_Startall(2, r);
    out[count] = 17;
    MPI_Pready(1, r[0]);
    while (!flag)
        MPI_Parrived(r[1], 1, &flag);
    CHECK(in[count] == 17);
    MPI_Parrived(r[1], 0, &flag);
    CHECK(!flag);
    MPI_Sendrecv(&rank, 1, MPI_INT, before, 9, &token, 1, MPI_INT, next_rank, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(token == next_rank);
    MPI_Pready(0, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Parrived(r[1], 0, &flag);
    CHECK(flag);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    free(out);
    free(in);
}

/* Small partitions go in groups; the receiver nevertheless sees each that is
 * ready, in rounds that begin with few of them and in rounds that do not. The
 * sender hands over the others only when it knows that. */
static void small_partitions_arrive_before_their_neighbours(void)
{
    enum { PARTS = 3000, COUNT = 4 };
    static int out[PARTS * COUNT], in[PARTS * COUNT];
    MPI_Request r[2];

    MPI_Psend_init(out, PARTS, COUNT, MPI_INT, next_rank, 2, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, PARTS / 2, 2 * COUNT, MPI_INT, before, 2, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < 4; round++) {
        int step = round % 2 ? 1 : 600;
        for (int i = 0; i < PARTS * COUNT; i++)
            out[i] = i + round;
        MPI_Startall(2, r);
        for (int i = 0; i < PARTS; i += step)
            CHECK(MPI_Pready_range(i, i + (step > 1), r[0]) == MPI_SUCCESS);
        for (int i = 0; i < PARTS / 2; i += step / 2 + (step == 1)) {
            int flag = 0;
            while (!flag)
                MPI_Parrived(r[1], i, &flag);
            for (int k = 0; k < 2 * COUNT; k++)
                CHECK(in[i * 2 * COUNT + k] == i * 2 * COUNT + k + round);
            if (step > 1) {
                MPI_Parrived(r[1], i + 1, &flag);
                CHECK(!flag);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; step > 1 && i < PARTS; i++)
            if (i % step > 1)
                CHECK(MPI_Pready(i, r[0]) == MPI_SUCCESS);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < PARTS * COUNT; i++)
            CHECK(in[i] == i + round);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Every other int, received in pieces that end inside an element. */
static void derived_types_are_cut_anywhere(void)
{
    static int out[60], in[120];
    MPI_Datatype wide;
    MPI_Request r[2];
    MPI_Type_vector(5, 1, 2, MPI_INT, &wide);
    MPI_Type_commit(&wide);
    for (int i = 0; i < 60; i++)
        out[i] = i;
    MPI_Psend_init(out, 20, 3, MPI_INT, next_rank, 1, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 4, 3, wide, before, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &r[1]);
    MPI_Startall(2, r);
    MPI_Pready_range(0, 19, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 60; i++)
        CHECK(in[i / 5 * 9 + i % 5 * 2] == i);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Type_free(&wide);
}

/* Two operations with one tag match in the order of their initialisation; a
 * message and a probe with that tag do not meet them. */
static void they_match_in_the_order_of_init(void)
{
    int out[2] = {10, 20}, in[2] = {0, 0}, flag, got = 0;
    MPI_Request s[2], r[2];
    for (int i = 0; i < 2; i++) {
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, next_rank, 5, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &s[i]);
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, before, 5, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &r[i]);
    }
    for (int i = 1; i >= 0; i--) {
        MPI_Start(&s[i]);
        MPI_Pready(0, s[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(before, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(&rank, 1, MPI_INT, next_rank, 5, &got, 1, MPI_INT, before, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == before);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 10 && in[1] == 20);
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&s[i]);
        MPI_Request_free(&r[i]);
    }
}

static void operations_may_be_freed_without_a_start(void)
{
    int out = 1, in = 0;
    MPI_Request r;
    MPI_Precv_init(&in, 1, 1, MPI_INT, before, 6, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &r);
    MPI_Request_free(&r);
    MPI_Psend_init(&out, 1, 1, MPI_INT, next_rank, 6, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r);
    MPI_Request_free(&r);
}

static void nobody_is_a_partner(void)
{
    int data = 0, flag = 0;
    MPI_Request r[2];
    MPI_Status s[2];
    MPI_Psend_init(&data, 2, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(&data, 2, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[1]);
    MPI_Startall(2, r);
    CHECK(MPI_Pready(1, r[0]) == MPI_SUCCESS);
    MPI_Parrived(r[1], 1, &flag);
    CHECK(flag);
    MPI_Waitall(2, r, s);
    CHECK(s[1].MPI_SOURCE == MPI_PROC_NULL);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void mistakes_are_told(void)
{
    int data[2] = {0, 0}, flag;
    MPI_Request s, r;
    for (int none = -1; none <= 0; none++) {
        CHECK(MPI_Psend_init(data, none, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                             MPI_INFO_NULL, &s) == MPI_ERR_ARG);
        CHECK(MPI_Precv_init(data, none, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                             MPI_INFO_NULL, &r) == MPI_ERR_ARG);
    }
    MPI_Psend_init(data, 2, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Precv_init(data, 2, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    CHECK(MPI_Pready(0, s) == MPI_ERR_REQUEST);
    MPI_Start(&s);
    CHECK(MPI_Pready(0, r) == MPI_ERR_REQUEST);
    CHECK(MPI_Pready(2, s) == MPI_ERR_ARG);
    CHECK(MPI_Pready(0, s) == MPI_SUCCESS);
    CHECK(MPI_Pready(0, s) == MPI_ERR_ARG);
    CHECK(MPI_Parrived(s, 0, &flag) == MPI_ERR_REQUEST);
    CHECK(MPI_Parrived(r, 2, &flag) == MPI_ERR_ARG);
    CHECK(MPI_Cancel(&s) == MPI_ERR_REQUEST);
    MPI_Pready(1, s);
    MPI_Start(&r);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

/* The receive has one partition of n numbers, the send two of two. */
static void sides_that_differ_are_told_both_sizes(int n, int class)
{
    int out[4] = {1, 2, 3, 4}, in[5] = {0}, rc;
    char text[MPI_MAX_ERROR_STRING], sizes[100];
    MPI_Request s, r;

    MPI_Psend_init(out, 2, 2, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Precv_init(in, 1, n, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    MPI_Start(&s);
    MPI_Start(&r);
    MPI_Pready_range(0, 1, s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(class_of(rc) == class);
    MPI_Error_string(rc, text, &rc);
    snprintf(sizes, sizeof sizes,
             "2 partitions of 8 bytes with tag 0, the receive has 1 of %d",
             4 * n);
    CHECK(strstr(text, sizes));
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

/* MPI-5.0 s4.2.1: the count is an MPI_Count without a _c in the name, too. */
static void a_count_may_be_larger_than_an_int(void)
{
    const MPI_Count many = ((MPI_Count)1 << 32) + 3;
    int out = 7, in = 0, rc;
    char text[MPI_MAX_ERROR_STRING], sizes[100];
    MPI_Count n = -1;
    MPI_Datatype nothing;
    MPI_Request r[2];
    MPI_Status s[2];

    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    for (int i = 31; i < 63; i += 31) {
        const MPI_Count count = (MPI_Count)1 << i;
        CHECK(MPI_Psend_init(&out, 2, count, nothing, next_rank, 4,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]) ==
              MPI_SUCCESS);
        CHECK(MPI_Precv_init(&in, 1, count, nothing, before, 4, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &r[1]) == MPI_SUCCESS);
        MPI_Startall(2, r);
        CHECK(MPI_Pready_range(0, 1, r[0]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, r, s) == MPI_SUCCESS && in == 0);
        MPI_Get_count_c(&s[1], nothing, &n);
        CHECK(n == 0 && s[1].MPI_SOURCE == before && s[1].MPI_TAG == 4);
        MPI_Request_free(&r[0]);
        MPI_Request_free(&r[1]);
    }
    MPI_Type_free(&nothing);

    /* one byte comes; what the receive says shows the count that it was
     * given */
    MPI_Psend_init(&out, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[0]);
    MPI_Precv_init(&in, 1, many, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[1]);
    MPI_Startall(2, r);
    MPI_Pready(0, r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    rc = MPI_Wait(&r[1], &s[1]);
    CHECK(class_of(rc) == MPI_ERR_COUNT);
    MPI_Error_string(rc, text, &rc);
    snprintf(sizes, sizeof sizes, "the receive has 1 of %lld:",
             (long long)many);
    CHECK(strstr(text, sizes));
    MPI_Get_count_c(&s[1], MPI_BYTE, &n);
    CHECK(n == 1);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void an_active_operation_is_not_freed(void)
{
    int out = 7, in = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request r[2];

    MPI_Psend_init(&out, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[0]);
    MPI_Precv_init(&in, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[1]);
    MPI_Startall(2, r);
    for (int i = 0, n; i < 2; i++) {
        int rc = MPI_Request_free(&r[i]);
        CHECK(class_of(rc) == MPI_ERR_REQUEST && r[i] != MPI_REQUEST_NULL);
        MPI_Error_string(rc, text, &n);
        CHECK(strstr(text, "the partitioned operation is active"));
    }
    MPI_Pready(0, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(in == 7);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

struct share {
    MPI_Request request;
    int first, n;
};

static void *hand_over_a_share(void *arg)
{
    struct share *s = arg;
    for (int i = 0; i < s->n; i++)
        if (MPI_Pready(s->first + i, s->request) != MPI_SUCCESS)
            s->n = -1;
    return NULL;
}

static void threads_hand_over_at_once(void)
{
    static int out[TOTAL], in[TOTAL];
    enum { PARTS = 40, MINE = PARTS / THREADS };
    MPI_Request r[2];
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    MPI_Psend_init(out, PARTS, TOTAL / PARTS, MPI_INT, next_rank, 0,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 1, TOTAL, MPI_INT, before, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &r[1]);
    for (int round = 0; round < ROUNDS; round++) {
        fill_buffer(out, round);
        MPI_Startall(2, r);
        for (int i = 0; i < THREADS; i++) {
            shares[i] = (struct share){r[0], i * MINE, MINE};
            pthread_create(&threads[i], NULL, hand_over_a_share, &shares[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(shares[i].n == MINE);
        }
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK(is_right(in, 0, TOTAL, round));
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    next_rank = (rank + 1) % size;
    before = (rank + size - 1) % size;
    operations_may_be_freed_without_a_start();
    both_sides_cut_differently(1, 1);
    both_sides_cut_differently(6, 35);
    both_sides_cut_differently(63, 4);
    both_sides_cut_differently(40, 40);
    a_partition_arrives_before_the_others_are_ready(10);
    a_partition_arrives_before_the_others_are_ready(300000);
    small_partitions_arrive_before_their_neighbours();
    derived_types_are_cut_anywhere();
    they_match_in_the_order_of_init();
    nobody_is_a_partner();
    mistakes_are_told();
    sides_that_differ_are_told_both_sizes(3, MPI_ERR_TRUNCATE);
    sides_that_differ_are_told_both_sizes(5, MPI_ERR_COUNT);
    a_count_may_be_larger_than_an_int();
    an_active_operation_is_not_freed();
    threads_hand_over_at_once();
    return job_end();
}

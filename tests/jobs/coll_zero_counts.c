/* Collectives in which all, or only some, give and get nothing: who has no part
 * in a call goes on, others may need a message or a schedule for theirs, and
 * the calls that follow meet.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum {
    MOST = 64,         /* ranks */
    LARGE = 50000,     /* doubles: no team writes that into a block */
    AHEAD = 70000,     /* calls: more than the numbers of a team bear */
    ROUNDS = 60
};

static _Thread_local double *from, *to;
static _Thread_local int counts[MOST], displs[MOST], none[MOST];
static _Thread_local int rank, size;

/* Nothing for most ranks, and for the others any length; who, turns. */
static int count_of(int r, int round)
{
    static const int lengths[] = {0, 1, 0, 7, 0, 0, 3000, 0, LARGE};

    return round % 9 == 8 && r != round % size ? 0 : lengths[(r + round) % 9];
}

static void set_counts(int round)
{
    for (int r = 0, at = 0; r < size; r++, at += counts[r - 1]) {
        counts[r] = count_of(r, round);
        displs[r] = at;
    }
}

static double value_of(int r, int i, int round)
{
    return r * 1e6 + i + round;
}

static void fill_buffer(int first, int n, int round)
{
    for (int i = 0; i < n; i++)
        from[i] = value_of(rank, first + i, round);
}

static void check_gathered(MPI_Comm c, int root, int round)
{
    set_counts(round);
    fill_buffer(0, counts[rank], round);
    MPI_Gatherv(from, counts[rank], MPI_DOUBLE, to, counts, displs, MPI_DOUBLE,
                root, c);
    for (int r = 0; r < size && rank == root; r++)
        CHECK(!counts[r] || to[displs[r] + counts[r] - 1] ==
                                value_of(r, counts[r] - 1, round));
}

static void check_scattered(MPI_Comm c, int root, int round)
{
    int last;

    set_counts(round);
    last = displs[size - 1] + counts[size - 1];
    fill_buffer(0, last, round);
    MPI_Scatterv(from, counts, displs, MPI_DOUBLE, to, counts[rank], MPI_DOUBLE,
                 root, c);
    last = counts[rank] - 1;
    CHECK(last < 0 || to[last] == value_of(root, displs[rank] + last, round));
}

/* To the next rank only, or to nobody; in some rounds nobody has a part. */
static void check_exchange(MPI_Comm c, int round)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int mine = round % 7 ? count_of(rank, round) : 0;
    int its = round % 7 ? count_of(before, round) : 0;

    memset(counts, 0, sizeof counts);
    memset(displs, 0, sizeof displs);
    fill_buffer(0, mine, round);
    none[before] = its;
    counts[next] = mine;
    MPI_Alltoallv(from, counts, displs, MPI_DOUBLE, to, none, displs,
                  MPI_DOUBLE, c);
    none[before] = 0;
    CHECK(!its || to[its - 1] == value_of(before, its - 1, round));
}

/* Check that a call without data, as every rank knows, needs no buffer and no
 * partner. */
static void of_all(MPI_Comm c, int root)
{
    MPI_Datatype nothing;
    int two[MOST];

    for (int r = 0; r < size; r++)
        two[r] = 2;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    /* the same number of bytes, none, may be said in different ways */
    CHECK(MPI_Bcast(NULL, rank % 2 ? 0 : 3, rank % 2 ? MPI_INT : nothing, root,
                    c) == MPI_SUCCESS);
    CHECK(MPI_Gather(NULL, 0, MPI_INT, NULL, 5, nothing, root, c) ==
          MPI_SUCCESS);
    CHECK(MPI_Scatter(NULL, 5, nothing, NULL, 0, MPI_INT, root, c) ==
          MPI_SUCCESS);
    CHECK(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, rank % 2 ? none : two, none,
                         rank % 2 ? MPI_INT : nothing, c) == MPI_SUCCESS);
    CHECK(MPI_Alltoall(NULL, rank % 2 ? 2 : 0, nothing, NULL, 0, MPI_INT, c) ==
          MPI_SUCCESS);
    CHECK(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, root, c) == MPI_SUCCESS);
    CHECK(MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, c) ==
          MPI_SUCCESS);
    CHECK(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, c) == MPI_SUCCESS);
    MPI_Type_free(&nothing);
}

/* Arguments are looked at although nothing is moved. */
static void wrong_ones(MPI_Comm c)
{
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Bcast(NULL, 0, MPI_INT, size, c)) == MPI_ERR_ROOT);
    CHECK(class_of(MPI_Bcast(NULL, 0, MPI_DATATYPE_NULL, 0, c)) ==
          MPI_ERR_TYPE);
    CHECK(class_of(MPI_Allreduce(NULL, NULL, 0, MPI_DOUBLE, MPI_BAND, c)) ==
          MPI_ERR_OP);
    CHECK(class_of(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_OP_NULL, 0, c)) ==
          MPI_ERR_OP);
    CHECK(class_of(MPI_Gatherv(NULL, 0, MPI_INT, NULL, none, none,
                               MPI_DATATYPE_NULL, rank, c)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Scan(NULL, MPI_IN_PLACE, 0, MPI_INT, MPI_SUM, c)) ==
          MPI_ERR_BUFFER);
    check_talks(c);
}

/* Nonblocking and persistent calls of nothing complete, too. */
static void check_begun(MPI_Comm c)
{
    MPI_Request r[3];

    MPI_Ibcast(NULL, 0, MPI_INT, 0, c, &r[0]);
    MPI_Igatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, 0, c, &r[1]);
    MPI_Allreduce_init(NULL, NULL, 0, MPI_INT, MPI_SUM, c, MPI_INFO_NULL,
                       &r[2]);
    MPI_Start(&r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[2]);
}

/* The last rank has no part in many calls, and is through long before rank 0,
 * which computes first; the calls after these meet all the same. */
static void one_runs_ahead(MPI_Comm c)
{
    volatile double x = 1;
    int all = 0, last = rank == size - 1;

    for (int r = 0; r < size; r++) {
        counts[r] = r != size - 1;
        displs[r] = r;
    }
    for (int i = 0; rank == 0 && i < 3000000; i++)
        x = x * 0.5 + 1;
    for (int i = 0; i < AHEAD; i++) {
        from[0] = i;
        MPI_Gatherv(from, !last, MPI_DOUBLE, to, counts, displs, MPI_DOUBLE, 0,
                    c);
        all += rank == 0 && size > 1 && to[size - 2] == i;
    }
    CHECK(rank != 0 || size == 1 || all == AHEAD);
    check_talks(c);
}

int main(int argc, char **argv)
{
    MPI_Comm c;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    rank = rank_in(c);
    size = size_of(c);
    from = calloc((size_t)size * LARGE, sizeof *from);
    to = calloc((size_t)size * LARGE, sizeof *to);
    CHECK(from && to);
    for (int i = 0; i < ROUNDS; i++) {
        check_gathered(c, i % size, i);
        check_scattered(c, (i + 1) % size, i);
        check_exchange(c, i);
        of_all(c, i % size);
        if (i % 5 == 0)
            check_talks(c);
    }
    wrong_ones(c);
    check_begun(c);
    if (size <= 4)
        one_runs_ahead(c);
    MPI_Comm_free(&c);
    free(from);
    free(to);
    return job_end();
}

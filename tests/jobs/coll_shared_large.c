/* Large collectives of processes that share a segment, in pieces through the
 * staging ring: of all sizes and forms, of blocks whose lengths vary, and where
 * the lengths of two ranks differ, which is found.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "vectors.h"

enum { LARGE = 70001, WARM = 10 };

/* Of each rank, which may be a thread. */
static _Thread_local double *wide, *broad, *one;

/* Several pieces of each, and types that lie in pieces; the stage of the
 * communicator is there after a few of them. */
static void check_large(MPI_Comm c, int round)
{
    enum { N = LARGE };
    double *from = one, *mine = broad, *all = wide;
    int rank = rank_in(c), size = size_of(c), root = round % size, last = N - 1;
    MPI_Datatype every;

    if (size > 16)
        return;
    MPI_Type_vector(N / 2, 1, 2, MPI_DOUBLE, &every);
    MPI_Type_commit(&every);
    for (int i = 0; i < N; i++)
        from[i] = mine[i] = value_of(rank, i, round);
    MPI_Bcast(mine, N, MPI_DOUBLE, root, c);
    CHECK(mine[last] == value_of(root, last, round));
    MPI_Allgather(from, 1, every, all, N / 2, MPI_DOUBLE, c);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N / 2; i += 997)
            CHECK(all[r * (N / 2) + i] == value_of(r, 2 * i, round));
    MPI_Gather(from, N, MPI_DOUBLE, all, N, MPI_DOUBLE, root, c);
    for (int r = 0; r < size && rank == root; r++)
        CHECK(all[r * N + last] == value_of(r, last, round) &&
              all[r * N] == value_of(r, 0, round));
    for (int i = 0; i < size * 5000; i++)
        all[i] = value_of(rank, i, round);
    MPI_Alltoall(all, 5000, MPI_DOUBLE, all + size * 5000, 5000, MPI_DOUBLE, c);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < 5000; i += 499)
            CHECK(all[(size + r) * 5000 + i] ==
                  value_of(r, rank * 5000 + i, round));
    for (int i = 0; i < size * 30000; i++)
        all[i] = value_of(rank, i, round);
    MPI_Scatter(all, 30000, MPI_DOUBLE, mine, 30000, MPI_DOUBLE, root, c);
    CHECK(mine[29999] == value_of(root, rank * 30000 + 29999, round));
    MPI_Reduce(from, mine, N, MPI_DOUBLE, MPI_SUM, root, c);
    CHECK(rank != root || is_same(N, size, round, mine));
    MPI_Type_free(&every);
}

/* Blocks for each other member: several in a chunk of the stage, one that fills
 * it partly, pieces of one; and so many pieces that chunks are used again. */
static void blocks_for_each(MPI_Comm c, int round)
{
    enum { N = LARGE };
    static const int counts[] = {2049, 5001, 12000, 17000, 33001, N};
    double *from = wide, *got = broad;
    int rank = rank_in(c), size = size_of(c), root = (round + 1) % size, n;

    for (size_t k = 0; size <= 8 && k < sizeof counts / sizeof *counts; k++) {
        n = counts[k];
        for (int i = 0; i < size * n; i++)
            from[i] = value_of(rank, i, round);
        memset(got, 0, sizeof(double) * (size_t)(size * n));
        MPI_Scatter(from, n, MPI_DOUBLE, got, n, MPI_DOUBLE, root, c);
        for (int i = 0; i < n; i++)
            CHECK(got[i] == value_of(root, rank * n + i, round));
        memset(got, 0, sizeof(double) * (size_t)(size * n));
        MPI_Alltoall(from, n, MPI_DOUBLE, got, n, MPI_DOUBLE, c);
        CHECK(are_blocks(n, size, rank * n, round, got));
    }
}

/* More from a root than all chunks of the stage hold: it waits for readers. */
static void more_than_the_ring_holds(MPI_Comm c, int round)
{
    enum { N = 16 * LARGE };
    int rank = rank_in(c), size = size_of(c), root = round % size;

    for (int i = 0; i < N; i++)
        wide[i] = rank == root ? value_of(root, i, round) : 0;
    MPI_Bcast(wide, N, MPI_DOUBLE, root, c);
    for (int i = 0; i < N; i += 101)
        CHECK(wide[i] == value_of(root, i, round));
    if (size == 1)
        return;
    MPI_Scatter(wide, N / size, MPI_DOUBLE, broad, N / size, MPI_DOUBLE, root,
                c);
    for (int i = 0; i < N / size; i += 101)
        CHECK(broad[i] == value_of(root, rank * (N / size) + i, round));
}

/* Blocks of which some are long, some are not, and some are nothing: another
 * length for each pair and direction. */
static int vary_count(int n, int from, int to)
{
    return (3 * from + to) % 4 == 1 ? 0 : n * (1 + (3 * from + to) % 4) / 4;
}

static void varied_blocks(MPI_Comm c, int n)
{
    double *from = wide, *got = broad;
    int rank = rank_in(c), size = size_of(c);
    int counts[64], displs[64], scounts[64], sdispls[64];

    for (int r = 0; r < size; r++) {
        counts[r] = vary_count(n, r, rank);
        scounts[r] = vary_count(n, rank, r);
        displs[r] = (size - 1 - r) * n;
        sdispls[r] = r * n;
    }
    for (int i = 0; i < size * n; i++)
        from[i] = value_of(rank, i, 0);
    memset(got, 0, sizeof(double) * (size_t)(size * n));
    MPI_Alltoallv(from, scounts, sdispls, MPI_DOUBLE, got, counts, displs,
                  MPI_DOUBLE, c);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++)
            CHECK(got[displs[r] + i] ==
                  (i < counts[r] ? value_of(r, rank * n + i, 0) : 0));
}

/* Of all ranks one has little for the others, who have much for all. */
static void little_from_one(MPI_Comm c, int one, int n)
{
    int rank = rank_in(c), size = size_of(c);
    int counts[64], scounts[64], displs[64];

    for (int r = 0; r < size; r++) {
        counts[r] = r == one ? 1 : n;
        scounts[r] = rank == one ? 1 : n;
        displs[r] = r * n;
    }
    for (int i = 0; i < size * n; i++)
        wide[i] = value_of(rank, i, 2);
    MPI_Alltoallv(wide, scounts, displs, MPI_DOUBLE, broad, counts, displs,
                  MPI_DOUBLE, c);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            CHECK(broad[displs[r] + i] == value_of(r, rank * n + i, 2));
}

/* One long block, and little else: room for as long ones is not to be had. */
static void one_long_block(MPI_Comm c, int n)
{
    int rank = rank_in(c), size = size_of(c), last = size - 1;
    int counts[64], scounts[64], displs[64];

    for (int r = 0; r < size; r++) {
        counts[r] = r == 0 && rank == last ? n : r % 3;
        scounts[r] = rank == 0 && r == last ? n : rank % 3;
        displs[r] = r * 3;
    }
    for (int i = 0; i < n + 3 * size; i++)
        wide[i] = value_of(rank, i, 1);
    memset(broad, 0, sizeof(double) * (size_t)(n + 3 * size));
    displs[0] = 3 * size; /* the long one stands behind the others */
    MPI_Alltoallv(wide, scounts, displs, MPI_DOUBLE, broad, counts, displs,
                  MPI_DOUBLE, c);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < counts[r]; i++)
            CHECK(broad[displs[r] + i] ==
                  value_of(r, (rank ? 3 * rank : 3 * size) + i, 1));
}

/* Rank 0 has more for rank 1 than that one expects, or less. A communicator
 * that has seen this works on. */
static void varied_blocks_that_differ(MPI_Comm usual, int mine, int theirs)
{
    int rank = rank_in(usual), size = size_of(usual), rc;
    int scounts[64], counts[64], displs[64];
    MPI_Comm c;

    MPI_Comm_dup(usual, &c);
    for (int i = 0; i < WARM; i++)
        varied_blocks(c, 8 * LARGE / 2 / size);
    for (int r = 0; r < size; r++) {
        scounts[r] = counts[r] = r == rank ? 0 : mine;
        displs[r] = r * (mine + theirs);
    }
    if (rank == 1)
        counts[0] = theirs;
    rc = MPI_Alltoallv(wide, scounts, displs, MPI_DOUBLE, broad, counts, displs,
                       MPI_DOUBLE, c);
    CHECK(rank != 1 || has_other_count(rc));
    check_talks(c);
    little_from_one(c, 1, 8 * LARGE / 2 / size);
    MPI_Comm_free(&c);
}

/* Of two that have a team (messages would wait): one has much for the other,
 * which calls with nothing, and goes. */
static void nothing_where_the_other_gives_much(MPI_Comm usual)
{
    int rank = rank_in(usual), displs[2] = {0, 0}, none[2] = {0, 0}, rc;
    int scounts[2] = {0, rank ? 0 : 9000};
    MPI_Comm c;

    MPI_Comm_dup(usual, &c);
    for (int i = 0; i < WARM; i++)
        varied_blocks(c, LARGE);
    rc = MPI_Alltoallv(wide, scounts, displs, MPI_DOUBLE, broad, none, displs,
                       MPI_DOUBLE, c);
    CHECK(rank ? rc == MPI_SUCCESS : has_other_count(rc));
    check_talks(c);
    MPI_Comm_free(&c);
}

/* Only the last rank expects another length of rank 0, before there is a stage:
 * all count the calls until it is made alike. */
static void another_length_before_the_ring(MPI_Comm usual)
{
    int rank = rank_in(usual), size = size_of(usual), n = LARGE / 8, rc;
    int counts[64], displs[64];
    MPI_Comm c;

    MPI_Comm_dup(usual, &c);
    for (int i = 0; i < WARM; i++)
        check_talks(c);
    for (int r = 0; r < size; r++) {
        counts[r] = n - (r == 0 && rank == size - 1);
        displs[r] = r * n;
    }
    rc =
        MPI_Allgatherv(one, n, MPI_DOUBLE, wide, counts, displs, MPI_DOUBLE, c);
    CHECK(rank < size - 1 || has_other_count(rc));
    for (int i = 0; i < WARM; i++) {
        one[0] = rank + i;
        MPI_Bcast(one, n, MPI_DOUBLE, i % size, c);
        CHECK(one[0] == i % size + i);
    }
    MPI_Comm_free(&c);
}

static void check_sizes(MPI_Comm c)
{
    for (int i = 0; i < 6; i++)
        check_large(c, i);
    for (int i = 0; i < 2; i++)
        blocks_for_each(c, i);
    for (int n = 1000; n * size_of(c) <= 8 * LARGE; n += 23000)
        varied_blocks(c, n);
    for (int i = 0; i < 2; i++)
        more_than_the_ring_holds(c, i);
    one_long_block(c, LARGE);
    little_from_one(c, size_of(c) - 1, 8 * LARGE / 2 / size_of(c));
}

static void check_wrong_counts(MPI_Comm c)
{
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    for (int r = 0; r < size_of(c) && size_of(c) > 1; r++)
        little_from_one(c, r, 8 * LARGE / 2 / size_of(c));
    if (size_of(c) > 1) {
        another_length_before_the_ring(c);
        varied_blocks_that_differ(c, 9000, 8000);
        varied_blocks_that_differ(c, 100, 9000);
        varied_blocks_that_differ(c, 9000, 100);
    }
    if (size_of(c) == 2)
        nothing_where_the_other_gives_much(c);
}

int main(int argc, char **argv)
{
    MPI_Comm c[2];

    MPI_Init(&argc, &argv);
    wide = allocate_room(16 * LARGE);
    broad = allocate_room(8 * LARGE);
    one = allocate_room(LARGE);
    MPI_Comm_dup(MPI_COMM_WORLD, &c[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &c[1]);
    check_sizes(c[0]);
    check_wrong_counts(c[1]);
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&c[i]);
    free(wide);
    free(broad);
    free(one);
    return job_end();
}

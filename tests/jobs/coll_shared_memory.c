/* Collectives of processes that share a segment: any sequence of kinds, sizes,
 * roots and types on several communicators gives what it gives without; while
 * one waits in a collective, others may need it for their messages; and a rank
 * with a count of its own is found, whichever way the others go.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum {
    ROUNDS = 400,
    MOST = 40000, /* doubles */
    LARGE = 70001,
    MISMATCH = 4000, /* the most of what differs, for each rank */
    WARM = 10
};

/* Of each rank, which may be a thread. */
static _Thread_local double *in, *out, *wide, *broad, *one;
static _Thread_local unsigned seed = 7;

static double *allocate_room(size_t n)
{
    double *p = calloc(n, sizeof *p);

    CHECK(p != NULL);
    return p;
}

/* The same sequence on all ranks. */
/* Small ones mostly, across all limits of lines and blocks. */
static int draw_count(void)
{
    static const int usual[] = {0, 1, 2, 6, 7, 100, 512, 1024, 2048, 2049};

    return draw_from(&seed, 20) == 0 ? (int)draw_from(&seed, 5000)
                                     : usual[draw_from(&seed, 10)];
}

static double value_of(int rank, int i, int round)
{
    return rank * 1000 + i % 97 + round;
}

static void fill_buffer(int rank, int n, int round)
{
    for (int i = 0; i < n; i++)
        in[i] = value_of(rank, i, round);
}

static double sum_of(int size, int i, int round)
{
    return 1000.0 * size * (size - 1) / 2 + size * (double)(i % 97 + round);
}

static int is_same(int n, int size, int round, const double *got)
{
    for (int i = 0; i < n; i++)
        if (got[i] != sum_of(size, i, round))
            return 0;
    return 1;
}

/* Blocks of n, the one of rank r is what it contributed from `first` on. */
static int are_blocks(int n, int size, int first, int round, const double *got)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++)
            if (got[r * n + i] != value_of(r, first + i, round))
                return 0;
    return 1;
}

static void check_reductions(MPI_Comm c, int n, int root, int round)
{
    int rank = rank_in(c), size = size_of(c);

    fill_buffer(rank, n, round);
    if (draw_from(&seed, 2)) {
        MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, c);
        CHECK(is_same(n, size, round, out));
        memcpy(out, in, sizeof(double) * (size_t)n);
        MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_DOUBLE, MPI_SUM, c);
        CHECK(is_same(n, size, round, out));
        return;
    }
    MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, root, c);
    CHECK(rank != root || is_same(n, size, round, out));
    memcpy(out, in, sizeof(double) * (size_t)n);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, out, n, MPI_DOUBLE, MPI_SUM,
               root, c);
    CHECK(rank != root || is_same(n, size, round, out));
}

/* Up to each rank, and below it. */
static void check_scans(MPI_Comm c, int n, int round)
{
    int rank = rank_in(c);

    fill_buffer(rank, n, round);
    MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, c);
    CHECK(is_same(n, rank + 1, round, out));
    MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_SUM, c);
    CHECK(rank == 0 || is_same(n, rank, round, out));
    if (draw_from(&seed, 2)) {
        MPI_Scan(MPI_IN_PLACE, in, n, MPI_DOUBLE, MPI_SUM, c);
        CHECK(is_same(n, rank + 1, round, in));
    } else {
        MPI_Exscan(MPI_IN_PLACE, in, n, MPI_DOUBLE, MPI_SUM, c);
        CHECK(rank == 0 || is_same(n, rank, round, in));
    }
}

/* Blocks of n, and one more for every second rank. */
static void check_scattered(MPI_Comm c, int n, int round)
{
    int rank = rank_in(c), size = size_of(c), counts[64], first = 0, all = 0;

    n = n * size + size > MOST ? MOST / size - 1 : n;
    for (int r = 0; r < size; r++, all += counts[r - 1]) {
        counts[r] = n + r % 2;
        first += r < rank ? counts[r] : 0;
    }
    fill_buffer(rank, all, round);
    MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, c);
    for (int i = 0; i < counts[rank]; i++)
        CHECK(out[i] == sum_of(size, first + i, round));
    MPI_Reduce_scatter_block(in, out, n, MPI_DOUBLE, MPI_SUM, c);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == sum_of(size, rank * n + i, round));
    memcpy(out, in, sizeof(double) * (size_t)all);
    MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, MPI_DOUBLE, MPI_SUM, c);
    for (int i = 0; i < counts[rank]; i++)
        CHECK(out[i] == sum_of(size, first + i, round));
}

/* Check the result of a nonblocking call, which is computed by a schedule with
 * the same brackets. */
static void same_bits(MPI_Comm c, int n, int in_place)
{
    double *mine = broad, *theirs = one;
    int rank = rank_in(c), size = size_of(c), root = size / 2;
    const void *from = in_place ? MPI_IN_PLACE : in;
    MPI_Request r;

    for (int i = 0; i < n; i++)
        in[i] = 1.0 / (3 + i % 1000 + 7 * rank);
    for (int kind = 0; kind < 3; kind++) {
        int block = kind == 2 ? n / size : n, got = rank == root || kind;
        const void *s = kind == 0 && rank != root ? in : from;

        memcpy(mine, in, sizeof(double) * (size_t)n);
        memcpy(theirs, in, sizeof(double) * (size_t)n);
        if (kind == 0) {
            MPI_Reduce(s, mine, n, MPI_DOUBLE, MPI_SUM, root, c);
            MPI_Ireduce(s, theirs, n, MPI_DOUBLE, MPI_SUM, root, c, &r);
        } else if (kind == 1) {
            MPI_Allreduce(s, mine, n, MPI_DOUBLE, MPI_SUM, c);
            MPI_Iallreduce(s, theirs, n, MPI_DOUBLE, MPI_SUM, c, &r);
        } else {
            MPI_Reduce_scatter_block(s, mine, block, MPI_DOUBLE, MPI_SUM, c);
            MPI_Ireduce_scatter_block(s, theirs, block, MPI_DOUBLE, MPI_SUM, c,
                                      &r);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(!got || !memcmp(mine, theirs, sizeof(double) * (size_t)block));
    }
}

static void check_rooted(MPI_Comm c, int n, int root, int round)
{
    int rank = rank_in(c), size = size_of(c);

    n = n > 2500 ? 2500 : n;
    fill_buffer(rank, n, round);
    MPI_Bcast(in, n, MPI_DOUBLE, root, c);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == value_of(root, i, round));
    fill_buffer(rank, n, round);
    MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, c);
    CHECK(rank != root || are_blocks(n, size, 0, round, out));
    n = n * size > MOST ? MOST / size : n;
    fill_buffer(rank, n * size, round);
    MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, c);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == value_of(root, rank * n + i, round));
}

static void to_all(MPI_Comm c, int n, int round)
{
    int rank = rank_in(c), size = size_of(c);

    n = n > 2500 ? 2500 : n;
    fill_buffer(rank, n, round);
    MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, c);
    CHECK(are_blocks(n, size, 0, round, out));
    n = n * size > MOST ? MOST / size : n;
    fill_buffer(rank, n * size, round);
    MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, c);
    CHECK(are_blocks(n, size, rank * n, round, out));
}

/* Rank r contributes r * n to gather, and n * ((i + j) % 3) from i to j. */
static void check_vectors(MPI_Comm c, int n, int root, int round)
{
    int rank = rank_in(c), size = size_of(c), at = 0, from = 0;
    int counts[64], displs[64], scounts[64], sdispls[64];

    n = n > 1000 ? 1000 : n;
    n = n * size * size > MOST ? MOST / (size * size) : n;
    for (int r = 0; r < size; r++, at += counts[r - 1]) {
        counts[r] = r * n;
        displs[r] = at;
    }
    fill_buffer(rank, rank * n, round);
    MPI_Allgatherv(in, rank * n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE,
                   c);
    for (int r = 0; r < size; r++)
        CHECK(counts[r] == 0 || out[displs[r]] == value_of(r, 0, round));
    memset(out, 0, sizeof(double) * (size_t)at);
    MPI_Gatherv(in, rank * n, MPI_DOUBLE, out, counts, displs, MPI_DOUBLE, root,
                c);
    for (int r = 0; r < size && rank == root; r++)
        CHECK(counts[r] == 0 || out[displs[r] + counts[r] - 1] ==
                                    value_of(r, counts[r] - 1, round));
    fill_buffer(root, at, round);
    MPI_Scatterv(in, counts, displs, MPI_DOUBLE, out, rank * n, MPI_DOUBLE,
                 root, c);
    CHECK(counts[rank] == 0 || out[0] == value_of(root, displs[rank], round));
    for (int r = 0, s = 0; r < size; r++) {
        scounts[r] = counts[r] = n * ((rank + r) % 3);
        sdispls[r] = displs[r] = s;
        s += scounts[r];
        from = s;
    }
    fill_buffer(rank, from, round);
    MPI_Alltoallv(in, scounts, sdispls, MPI_DOUBLE, out, counts, displs,
                  MPI_DOUBLE, c);
    for (int r = 0; r < size; r++) {
        int before = 0;
        for (int k = 0; k < rank; k++)
            before += n * ((r + k) % 3);
        CHECK(counts[r] == 0 || out[displs[r]] == value_of(r, before, round));
    }
}

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

/* Only one gets anything: the others may be many calls ahead, and wait before
 * they write over what it has not read. */
static void givers_run_ahead(MPI_Comm c)
{
    int rank = rank_in(c), size = size_of(c), counts[64] = {1}, got = 0;

    for (int i = 0; i < 300; i++) {
        int mine = rank + i;

        MPI_Reduce_scatter(&mine, &got, counts, MPI_INT, MPI_SUM, c);
        CHECK(rank != 0 || got == size * (size - 1) / 2 + size * i);
    }
}

static void any_sequence_on_several_communicators(MPI_Comm *c, int n)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm = c[draw_from(&seed, (unsigned)n)];
        int count = draw_count(), kind = (int)draw_from(&seed, 7);
        int root = (int)draw_from(&seed, 1u << 20) % size_of(comm);

        if (kind == 0)
            check_reductions(comm, count, root, i);
        else if (kind == 1)
            check_rooted(comm, count, root, i);
        else if (kind == 2)
            to_all(comm, count, i);
        else if (kind == 3)
            check_vectors(comm, count, root, i);
        else if (kind == 4)
            check_scattered(comm, count, i);
        else if (kind == 5)
            check_scans(comm, count, i);
        else
            MPI_Barrier(comm);
    }
}

/* Every second double: packed into a line, and out of it. */
static void derived_types(MPI_Comm c)
{
    int rank = rank_in(c), size = size_of(c), root = size - 1;
    MPI_Datatype every;

    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &every);
    MPI_Type_commit(&every);
    for (int n = 0; n < 3; n++) {
        fill_buffer(rank, 6, 1);
        MPI_Bcast(in, 1, every, root, c);
        CHECK(in[2] == value_of(root, 2, 1) && in[1] == value_of(rank, 1, 1));
        MPI_Allgather(in, 1, every, out, 3, MPI_DOUBLE, c);
        CHECK(out[3 * rank + 1] == value_of(root, 2, 1));
        MPI_Gather(in, 3, MPI_DOUBLE, out, 1, every, root, c);
        CHECK(rank != root || out[2] == value_of(0, 1, 1));
    }
    MPI_Type_free(&every);
}

/* Rank 0 waits in a collective while the others need it for a rendezvous. */
static void a_waiting_rank_serves_messages(MPI_Comm c)
{
    int rank = rank_in(c), size = size_of(c);
    double(*big)[20000] = (double(*)[20000])wide;
    MPI_Request r[16];

    for (int i = 1; i < size && rank == 0; i++)
        MPI_Irecv(big[i], 20000, MPI_DOUBLE, i, 3, c, &r[i]);
    if (rank != 0) {
        big[0][19999] = rank;
        MPI_Send(big[0], 20000, MPI_DOUBLE, 0, 3, c);
    }
    MPI_Barrier(c);
    for (int i = 1; i < size && rank == 0; i++) {
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        CHECK(big[i][19999] == i);
    }
}

/* The last rank has a count of its own. far: one that would go another way. */
static void counts_that_differ(MPI_Comm c, int mine, int theirs, int far)
{
    int rank = rank_in(c), size = size_of(c), last = size - 1;
    int n = rank == last ? mine : theirs, rc;

    rc = MPI_Bcast(in, n, MPI_DOUBLE, 0, c);
    CHECK(rank != last || has_other_count(rc));
    MPI_Barrier(c);
    rc = MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, c);
    CHECK(rank != 0 || has_other_count(rc));
    MPI_Barrier(c);
    if (far)
        return;
    rc = MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, c);
    CHECK(rank != 0 || has_other_count(rc));
    MPI_Barrier(c);
    rc = MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, c);
    CHECK(rank != last || has_other_count(rc));
    MPI_Barrier(c);
    rc = MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, c);
    CHECK(has_other_count(rc));
    check_talks(c);
}

static void allocate_buffers(void)
{
    in = allocate_room(MOST + MISMATCH * (size_t)size_of(MPI_COMM_WORLD));
    out = allocate_room(2 * MOST + MISMATCH * (size_t)size_of(MPI_COMM_WORLD));
    wide = allocate_room(16 * LARGE);
    broad = allocate_room(8 * LARGE);
    one = allocate_room(LARGE);
}

static void free_buffers(void)
{
    free(in);
    free(out);
    free(wide);
    free(broad);
    free(one);
}

static void check_sizes_and_forms(MPI_Comm c)
{
    for (int n = 1; n <= MOST; n *= 6) {
        same_bits(c, n, 0);
        same_bits(c, n, 1);
    }
    for (int i = 0; i < 6; i++)
        check_large(c, i);
    for (int i = 0; i < 2; i++)
        blocks_for_each(c, i);
    for (int n = 1000; n * size_of(c) <= 8 * LARGE; n += 23000)
        varied_blocks(c, n);
    one_long_block(c, LARGE);
    little_from_one(c, size_of(c) - 1, 8 * LARGE / 2 / size_of(c));
    givers_run_ahead(c);
    derived_types(c);
    if (size_of(c) <= 16)
        for (int i = 0; i < 3; i++)
            a_waiting_rank_serves_messages(c);
}

static void check_wrong_counts(MPI_Comm c)
{
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    if (size_of(c) > 1) {
        counts_that_differ(c, 1, 2, 0);
        counts_that_differ(c, 3, 3000, 1);
        counts_that_differ(c, 3000, 3, 1);
        counts_that_differ(c, MISMATCH, 3000, 0);
        for (int r = 0; r < size_of(c); r++)
            little_from_one(c, r, 8 * LARGE / 2 / size_of(c));
        varied_blocks_that_differ(c, 9000, 8000);
        varied_blocks_that_differ(c, 100, 9000);
        varied_blocks_that_differ(c, 9000, 100);
    }
    if (size_of(c) == 2)
        nothing_where_the_other_gives_much(c);
}

int main(int argc, char **argv)
{
    MPI_Comm c[4];
    int rank;

    MPI_Init(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    allocate_buffers();
    c[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &c[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &c[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &c[3]);
    any_sequence_on_several_communicators(c, 3);
    for (int i = 0; i < WARM; i++)
        check_talks(c[3]);
    any_sequence_on_several_communicators(&c[3], 1);
    check_sizes_and_forms(c[1]);
    check_wrong_counts(c[2]);
    for (int i = 1; i < 4; i++)
        MPI_Comm_free(&c[i]);
    free_buffers();
    return job_end();
}

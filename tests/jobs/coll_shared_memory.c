/* Collectives of processes that share a segment: any sequence of kinds, sizes,
 * roots and types on several communicators gives what it gives without; while
 * one waits in a collective, others may need it for their messages; and a rank
 * with a count of its own is found, whichever way the others go.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "vectors.h"

enum {
    ROUNDS = 400, /* fewer of many ranks */
    RANKS_MOST = 256,
    MOST = 40000,    /* doubles */
    LONG = 20000,    /* of a rendezvous */
    MISMATCH = 4000, /* the most of what differs, for each rank */
    WARM = 10
};

/* Of each rank, which may be a thread. */
static _Thread_local double *in, *out, *blocking, *started, *big;
static _Thread_local unsigned seed = 7;

/* The same sequence on all ranks. */
/* Small ones mostly, across all limits of lines and blocks. */
static int draw_count(void)
{
    static const int usual[] = {0, 1, 2, 6, 7, 100, 512, 1024, 2048, 2049};

    return draw_from(&seed, 20) == 0 ? (int)draw_from(&seed, 5000)
                                     : usual[draw_from(&seed, 10)];
}

static void fill_buffer(int rank, int n, int round)
{
    for (int i = 0; i < n; i++)
        in[i] = value_of(rank, i, round);
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
    int rank = rank_in(c), size = size_of(c), first = 0, all = 0;
    int counts[RANKS_MOST];

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
    int rank = rank_in(c), size = size_of(c), root = size / 2;
    const void *from = in_place ? MPI_IN_PLACE : in;
    MPI_Request r;

    for (int i = 0; i < n; i++)
        in[i] = 1.0 / (3 + i % 1000 + 7 * rank);
    for (int kind = 0; kind < 3; kind++) {
        int block = kind == 2 ? n / size : n, got = rank == root || kind;
        const void *s = kind == 0 && rank != root ? in : from;

        memcpy(blocking, in, sizeof(double) * (size_t)n);
        memcpy(started, in, sizeof(double) * (size_t)n);
        if (kind == 0) {
            MPI_Reduce(s, blocking, n, MPI_DOUBLE, MPI_SUM, root, c);
            MPI_Ireduce(s, started, n, MPI_DOUBLE, MPI_SUM, root, c, &r);
        } else if (kind == 1) {
            MPI_Allreduce(s, blocking, n, MPI_DOUBLE, MPI_SUM, c);
            MPI_Iallreduce(s, started, n, MPI_DOUBLE, MPI_SUM, c, &r);
        } else {
            MPI_Reduce_scatter_block(s, blocking, block, MPI_DOUBLE, MPI_SUM,
                                     c);
            MPI_Ireduce_scatter_block(s, started, block, MPI_DOUBLE, MPI_SUM, c,
                                      &r);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(!got ||
              !memcmp(blocking, started, sizeof(double) * (size_t)block));
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
    int counts[RANKS_MOST], displs[RANKS_MOST];
    int scounts[RANKS_MOST], sdispls[RANKS_MOST];

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

/* Only one gets anything: the others may be many calls ahead, and wait before
 * they write over what it has not read. */
static void givers_run_ahead(MPI_Comm c)
{
    int rank = rank_in(c), size = size_of(c), counts[RANKS_MOST] = {1}, got = 0;

    for (int i = 0; i < 300; i++) {
        int mine = rank + i;

        MPI_Reduce_scatter(&mine, &got, counts, MPI_INT, MPI_SUM, c);
        CHECK(rank != 0 || got == size * (size - 1) / 2 + size * i);
    }
}

static void any_sequence_on_several_communicators(MPI_Comm *c, int n)
{
    for (int i = 0; i < ROUNDS / (1 + size_of(c[0]) / 32); i++) {
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
    double *own = big + (size_t)rank * LONG;
    MPI_Request r[16];

    for (int i = 1; i < size && rank == 0; i++)
        MPI_Irecv(big + i * LONG, LONG, MPI_DOUBLE, i, 3, c, &r[i]);
    if (rank != 0) {
        own[LONG - 1] = rank;
        MPI_Send(own, LONG, MPI_DOUBLE, 0, 3, c);
    }
    MPI_Barrier(c);
    for (int i = 1; i < size && rank == 0; i++) {
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        CHECK(big[(i + 1) * LONG - 1] == i);
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
    rc = MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, c);
    CHECK(has_other_count(rc));
    MPI_Barrier(c);
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
    blocking = allocate_room(MOST);
    started = allocate_room(MOST);
    big = allocate_room(16 * LONG);
}

static void free_buffers(void)
{
    free(in);
    free(out);
    free(blocking);
    free(started);
    free(big);
}

static void check_sizes_and_forms(MPI_Comm c)
{
    for (int n = 1; n <= MOST; n *= 6) {
        same_bits(c, n, 0);
        same_bits(c, n, 1);
    }
    givers_run_ahead(c);
    derived_types(c);
    if (size_of(c) <= 16)
        for (int i = 0; i < 3; i++)
            a_waiting_rank_serves_messages(c);
}

static void check_wrong_counts(MPI_Comm c)
{
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    if (size_of(c) < 2)
        return;
    counts_that_differ(c, 1, 2, 0);
    counts_that_differ(c, 3, 3000, 1);
    counts_that_differ(c, 3000, 3, 1);
    counts_that_differ(c, MISMATCH, 3000, 0);
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

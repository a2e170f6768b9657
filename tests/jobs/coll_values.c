/* Every blocking collective gives the values the standard says: from every
 * root, with counts around the switches between algorithms, in place, with a
 * type that has holes, and for an operation that does not commute.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static _Thread_local MPI_Comm comm;
static _Thread_local int rank, size;

/* 1000 * r + i, the i-th value of rank r */
static int *make_values(int r, int n)
{
    int *v = malloc(((size_t)n + 1) * sizeof *v);
    for (int i = 0; i < n; i++)
        v[i] = 1000 * r + i;
    return v;
}

static int is_values(const int *v, int r, int first, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i] != 1000 * r + first + i)
            return 0;
    return 1;
}

static void check_bcast(int n, int root)
{
    int *v = make_values(rank, n);
    MPI_Bcast(v, n, MPI_INT, root, comm);
    CHECK(is_values(v, root, 0, n));
    free(v);
}

static void gather_scatter(int n, int root)
{
    int *mine = make_values(rank, n), *all = make_values(0, n * size);

    MPI_Gather(mine, n, MPI_INT, all, n, MPI_INT, root, comm);
    for (int i = 0; rank == root && i < size; i++)
        CHECK(is_values(all + i * n, i, 0, n));
    memset(mine, 0, (size_t)n * sizeof *mine);
    MPI_Scatter(all, n, MPI_INT, mine, n, MPI_INT, root, comm);
    CHECK(is_values(mine, rank, 0, n));
    if (rank == root) {
        memset(all, 0, (size_t)(n * size) * sizeof *all);
        memcpy(all + rank * n, mine, (size_t)n * sizeof *mine);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, root,
                   comm);
        for (int i = 0; i < size; i++)
            CHECK(is_values(all + i * n, i, 0, n));
    } else {
        MPI_Gather(mine, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
    }
    free(mine);
    free(all);
}

/* Rank i contributes n + i values, one value apart. */
static void check_ragged(int n, int root)
{
    int *counts = malloc((size_t)size * sizeof *counts), at = 0;
    int *displs = malloc((size_t)size * sizeof *displs);
    int *mine = make_values(rank, n + size), *all;

    for (int i = 0; i < size; i++) {
        counts[i] = n + i;
        displs[i] = at;
        at += counts[i] + 1;
    }
    all = make_values(77, at);
    MPI_Gatherv(mine, n + rank, MPI_INT, all, counts, displs, MPI_INT, root,
                comm);
    for (int i = 0; rank == root && i < size; i++)
        CHECK(is_values(all + displs[i], i, 0, counts[i]));
    MPI_Allgatherv(mine, n + rank, MPI_INT, all, counts, displs, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(is_values(all + displs[i], i, 0, counts[i]));
    memset(mine, 0, (size_t)(n + size) * sizeof *mine);
    MPI_Scatterv(all, counts, displs, MPI_INT, mine, n + rank, MPI_INT, root,
                 comm);
    CHECK(is_values(mine, rank, 0, n + rank));
    free(mine);
    free(all);
    free(counts);
    free(displs);
}

static void all_to_all(int n)
{
    int *mine = make_values(rank, n * size), *all = make_values(0, n * size);

    MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(is_values(all + i * n, i, 0, n));
    MPI_Alltoall(mine, n, MPI_INT, all, n, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(is_values(all + i * n, i, rank * n, n));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, mine, n, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(is_values(mine + i * n, i, rank * n, n));
    free(mine);
    free(all);
}

static void check_reductions(int n, int root)
{
    int *mine = make_values(rank, n), *all = make_values(0, n),
        *place = make_values(rank, n);
    int ranks = size * (size - 1) / 2, ok = 1;

    MPI_Reduce(mine, all, n, MPI_INT, MPI_SUM, root, comm);
    for (int i = 0; rank == root && i < n; i++)
        ok &= all[i] == 1000 * ranks + size * i;
    CHECK(ok);
    MPI_Allreduce(MPI_IN_PLACE, place, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        ok &= place[i] == 1000 * ranks + size * i;
    CHECK(ok);
    MPI_Scan(mine, all, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        ok &= all[i] == 1000 * (rank * (rank + 1) / 2) + (rank + 1) * i;
    CHECK(ok);
    MPI_Exscan(mine, all, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; rank > 0 && i < n; i++)
        ok &= all[i] == 1000 * (rank * (rank - 1) / 2) + rank * i;
    CHECK(ok);
    free(mine);
    free(all);
    free(place);
}

static void reduce_scatters(int n)
{
    int *counts = malloc((size_t)size * sizeof *counts), before = 0, ok = 1;
    int *mine = make_values(rank, (n + size) * size),
        *out = make_values(0, n + size);
    int ranks = size * (size - 1) / 2;

    MPI_Reduce_scatter_block(mine, out, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        ok &= out[i] == 1000 * ranks + size * (rank * n + i);
    CHECK(ok);
    for (int i = 0; i < size; i++)
        counts[i] = n + i;
    for (int i = 0; i < rank; i++)
        before += counts[i];
    MPI_Reduce_scatter(mine, out, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n + rank; i++)
        ok &= out[i] == 1000 * ranks + size * (before + i);
    CHECK(ok);
    free(mine);
    free(out);
    free(counts);
}

/* x -> a x + b; composition is associative and does not commute */
struct map {
    unsigned a, b;
};

static void compose_message(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct map *lo = in, *hi = inout;

    for (int i = 0; i < *n; i++) {
        hi[i].b = lo[i].a * hi[i].b + lo[i].b;
        hi[i].a = lo[i].a * hi[i].a;
    }
}

static struct map map_of(int r)
{
    return (struct map){2 * (unsigned)r + 3, (unsigned)r + 1};
}

static void order_is_kept(int n, int root)
{
    struct map *mine = malloc((size_t)n * sizeof *mine);
    struct map *out = calloc((size_t)n, sizeof *out), want = map_of(size - 1);
    MPI_Datatype pair;
    MPI_Op op;
    int one = 1;

    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose_message, 0, &op);
    for (int i = 0; i < n; i++)
        mine[i] = map_of(rank);
    for (int r = size - 2; r >= 0; r--) {
        struct map lo = map_of(r);
        compose_message(&lo, &want, &one, &pair);
    }
    MPI_Reduce(mine, out, n, pair, op, root, comm);
    for (int i = 0; rank == root && i < n; i++)
        CHECK(out[i].a == want.a && out[i].b == want.b);
    MPI_Allreduce(mine, out, n, pair, op, comm);
    for (int i = 0; i < n; i++)
        CHECK(out[i].a == want.a && out[i].b == want.b);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    free(mine);
    free(out);
}

/* Every other int of the memory belongs to the type; the rest must stay. */
static void holes_stay(int n, int root)
{
    MPI_Datatype two, spread;
    int *v = malloc(2 * (size_t)n * sizeof *v + 8), ok = 1;

    MPI_Type_contiguous(1, MPI_INT, &two);
    MPI_Type_create_resized(two, -4, 8, &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < 2 * n; i++)
        v[i] = i % 2 ? -1 : rank == root ? i : 0;
    MPI_Bcast(v, n, spread, root, comm);
    for (int i = 0; i < 2 * n; i++)
        ok &= v[i] == (i % 2 ? -1 : i);
    CHECK(ok);
    MPI_Type_free(&two);
    MPI_Type_free(&spread);
    free(v);
}

static void typed_exchange(void)
{
    int *counts = malloc(sizeof(int) * (size_t)size),
        *out = make_values(rank, size);
    int *displs = malloc(sizeof(int) * (size_t)size),
        *in = make_values(0, size);
    MPI_Datatype *types = malloc(sizeof(MPI_Datatype) * (size_t)size);

    for (int i = 0; i < size; i++) {
        counts[i] = (rank + i) % 2; /* the same seen from both ends */
        displs[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
        in[i] = -5;
    }
    MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, comm);
    for (int i = 0; i < size; i++)
        CHECK(in[i] == (counts[i] ? 1000 * i + rank : -5));
    for (int i = 0; i < size; i++)
        displs[i] = i;
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts,
                  displs, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(out[i] == (counts[i] ? 1000 * i + rank : 1000 * rank + i));
    free(counts);
    free(displs);
    free(types);
    free(in);
    free(out);
}

/* Buffers that are one address and yet apart: what is sent are the even
 * elements, what is received the odd ones, and the same from MPI_BOTTOM. */
static void one_address(MPI_Datatype odd_from, MPI_Datatype even, int *v,
                        void *address)
{
    int zeros[17] = {0}, ones[17], at[17];

    for (int i = 0; i < size; i++) {
        ones[i] = 1;
        at[i] = i;
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2 * size; i++)
            v[i] = i % 2 ? -1 : 100 * rank + i / 2;
        if (round == 0)
            CHECK(MPI_Alltoall(address, 1, even, address, 1, odd_from, comm) ==
                  MPI_SUCCESS);
        else if (round == 1)
            CHECK(MPI_Alltoallv(address, ones, at, even, address, ones, at,
                                odd_from, comm) == MPI_SUCCESS);
        else
            CHECK(MPI_Allgatherv(address, 1, even, address, ones, at, odd_from,
                                 comm) == MPI_SUCCESS);
        for (int i = 0; i < size; i++) {
            CHECK(v[2 * i] == 100 * rank + i);
            CHECK(v[2 * i + 1] == 100 * i + (round < 2 ? rank : 0));
        }
    }
    CHECK(MPI_Alltoallv(address, zeros, at, even, address, zeros, at, even,
                        comm) == MPI_SUCCESS);
}

static void check_interleaved(void)
{
    int *v = calloc(2 * (size_t)size, sizeof *v);
    MPI_Datatype types[4], part;
    MPI_Aint at[4] = {0, sizeof(int)};

    MPI_Get_address(v, &at[2]);
    at[3] = at[2] + (MPI_Aint)sizeof(int);
    for (int i = 0; i < 4; i++) {
        MPI_Type_create_hindexed_block(1, 1, &at[i], MPI_INT, &part);
        MPI_Type_create_resized(part, 0, 2 * sizeof(int), &types[i]);
        MPI_Type_free(&part);
        MPI_Type_commit(&types[i]);
    }
    one_address(types[1], types[0], v, v);
    one_address(types[3], types[2], v, MPI_BOTTOM);
    for (int i = 0; i < 4; i++)
        MPI_Type_free(&types[i]);
    free(v);
}

static void check_everything(MPI_Comm c)
{
    static const int lengths[] = {0, 1, 5, 600, 20000, 100000};

    comm = c;
    rank = rank_in(c);
    size = size_of(c);
    for (int k = 0; k < 6; k++) {
        int n = lengths[k], root = (k + 1) % size;
        for (int r = 0; k < 3 && r < size; r++)
            check_bcast(n, r);
        check_bcast(n, root);
        gather_scatter(n, root);
        check_ragged(n, root);
        all_to_all(n);
        check_reductions(n, root);
        reduce_scatters(n);
        order_is_kept(n, root);
        holes_stay(n, root);
        MPI_Barrier(c);
    }
    typed_exchange();
    check_interleaved();
}

int main(int argc, char **argv)
{
    MPI_Comm odd_even;

    MPI_Init(&argc, &argv);
    check_everything(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) % 2, 0, &odd_even);
    check_everything(odd_even);
    MPI_Comm_free(&odd_even);
    check_everything(MPI_COMM_SELF);
    return job_end();
}

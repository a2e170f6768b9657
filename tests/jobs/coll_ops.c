/* Reductions by unusual operations: pair types with holes, functions of the
 * program, also ones that do not commute or spoil their first argument, on
 * types with holes, with a lower bound, and that go backwards. A blocking call
 * of processes that share memory gives what the nonblocking one, a schedule,
 * gives; and what lies between elements stays as it was.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MOST = 3000, WIDTH = 4, SPACE = 7, ROOM = (MOST + 2) * WIDTH };

/* Of each rank, which may be a thread. */
static _Thread_local double *in, *out, *theirs;
static _Thread_local MPI_Datatype spaced, shifted, backwards;

/* in + inout, of types that begin with one double. */
static void add_first(void *invec, void *inoutvec, int *len,
                          MPI_Datatype *type)
{
    MPI_Aint lb, extent, first, span;

    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Type_get_true_extent(*type, &first, &span);
    for (int i = 0; i < *len; i++) {
        double *a = (double *)((char *)invec + i * extent + first);
        double *b = (double *)((char *)inoutvec + i * extent + first);

        *b += *a;
    }
}

/* The same, by a function that also takes its first argument for its own. */
static void add_and_spoil(void *invec, void *inoutvec, int *len,
                          MPI_Datatype *type)
{
    MPI_Aint lb, extent;

    add_first(invec, inoutvec, len, type);
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *len; i++)
        *(double *)((char *)invec + i * extent) = -1e9;
}

/* The product of 2 by 2 matrices, which does not commute. */
static void multiply_matrices(void *invec, void *inoutvec, int *len,
                              MPI_Datatype *type)
{
    double *a = invec, *b = inoutvec, c[4];

    (void)type;
    for (int i = 0; i < *len; i++, a += 4, b += 4) {
        c[0] = a[0] * b[0] + a[1] * b[2];
        c[1] = a[0] * b[1] + a[1] * b[3];
        c[2] = a[2] * b[0] + a[3] * b[2];
        c[3] = a[2] * b[1] + a[3] * b[3];
        memcpy(b, c, sizeof c);
    }
}

static double value_at(int rank, int i)
{
    return 1.0 / (3 + i % 50 + 7 * rank);
}

static void fill_buffers(int rank)
{
    for (int i = 0; i < ROOM; i++) {
        in[i] = value_at(rank, i);
        out[i] = theirs[i] = SPACE;
    }
}

/* Where element 0 of a vector is: one that goes backwards begins at the end. */
static double *begin_of(double *buffer, MPI_Datatype type)
{
    return buffer + (type == backwards ? ROOM - 2 * WIDTH : WIDTH);
}

static void check_type(int n, MPI_Datatype type, MPI_Op op, int in_place)
{
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    double *from = begin_of(in, type), *to = begin_of(out, type);
    double *other = begin_of(theirs, type);
    MPI_Request r;

    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        const void *own = in_place && rank == root ? MPI_IN_PLACE : from;

        fill_buffers(rank);
        if (in_place) {
            memcpy(out, in, sizeof *in * ROOM);
            memcpy(theirs, in, sizeof *in * ROOM);
        }
        MPI_Reduce(own, to, n, type, op, root, MPI_COMM_WORLD);
        MPI_Ireduce(own, other, n, type, op, root, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(memcmp(out, theirs, sizeof *out * ROOM) == 0);
    }
    MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, n, type, op,
                  MPI_COMM_WORLD);
    MPI_Iallreduce(in_place ? MPI_IN_PLACE : from, other, n, type, op,
                   MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(memcmp(out, theirs, sizeof *out * ROOM) == 0);
    if (n * size > MOST || type == backwards || in_place)
        return;
    fill_buffers(rank);
    MPI_Reduce_scatter_block(from, to, n, type, op, MPI_COMM_WORLD);
    MPI_Ireduce_scatter_block(from, other, n, type, op, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(memcmp(out, theirs, sizeof *out * ROOM) == 0);
    fill_buffers(rank);
    MPI_Scan(from, to, n, type, op, MPI_COMM_WORLD);
    MPI_Iscan(from, other, n, type, op, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(memcmp(out, theirs, sizeof *out * ROOM) == 0);
}

static void check_sums(int n)
{
    int size = size_of(MPI_COMM_WORLD), wrong = 0;
    double *to = begin_of(out, spaced);
    MPI_Op op;

    MPI_Op_create(add_first, 1, &op);
    for (int in_place = 0; in_place < 2; in_place++) {
        check_type(n, MPI_DOUBLE, op, in_place);
        check_type(n, spaced, op, in_place);
        check_type(n, shifted, op, in_place);
        check_type(n, backwards, op, in_place);
    }
    MPI_Op_free(&op);
    if (n > 100)
        return; /* by messages such a function spoils its own operand */
    MPI_Op_create(add_and_spoil, 1, &op);
    fill_buffers(rank_in(MPI_COMM_WORLD));
    MPI_Allreduce(begin_of(in, spaced), to, n, spaced, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        double sum = 0;

        for (int r = 0; r < size; r++)
            sum += value_at(r, WIDTH + 2 * i);
        wrong += to[2 * i] - sum > 1e-9 || sum - to[2 * i] > 1e-9 ||
                 to[2 * i + 1] != SPACE;
    }
    CHECK(wrong == 0);
    MPI_Op_free(&op);
}

static void check_products(int n)
{
    MPI_Datatype matrix;
    MPI_Op op;

    MPI_Type_contiguous(4, MPI_DOUBLE, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply_matrices, 0, &op);
    check_type(n, matrix, op, 0);
    check_type(n, matrix, op, 1);
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
}

static void check_pairs(int n)
{
    check_type(n, MPI_DOUBLE_INT, MPI_MAXLOC, 0);
    check_type(n, MPI_DOUBLE_INT, MPI_MINLOC, 1);
    check_type(n, MPI_LONG_INT, MPI_MINLOC, 0);
    check_type(n, MPI_SHORT_INT, MPI_MAXLOC, 0);
    check_type(n, MPI_2INT, MPI_MAXLOC, 0);
}

static void make_types(void)
{
    MPI_Datatype piece;
    int one = 1;
    MPI_Aint at = sizeof(double);

    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &spaced);
    MPI_Type_create_hindexed(1, &one, &at, MPI_DOUBLE, &piece);
    MPI_Type_create_resized(piece, -(MPI_Aint)sizeof(double),
                            3 * sizeof(double), &shifted);
    MPI_Type_create_resized(MPI_DOUBLE, 0, -2 * (MPI_Aint)sizeof(double),
                            &backwards);
    MPI_Type_free(&piece);
    MPI_Type_commit(&spaced);
    MPI_Type_commit(&shifted);
    MPI_Type_commit(&backwards);
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 2, 6, 100, 700, MOST / WIDTH};

    job_begin(&argc, &argv);
    in = calloc(ROOM, sizeof *in);
    out = calloc(ROOM, sizeof *out);
    theirs = calloc(ROOM, sizeof *theirs);
    make_types();
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_pairs(counts[i]);
            check_sums(counts[i]);
            check_products(counts[i]);
        }
    MPI_Type_free(&spaced);
    MPI_Type_free(&shifted);
    MPI_Type_free(&backwards);
    free(in);
    free(out);
    free(theirs);
    return job_end();
}

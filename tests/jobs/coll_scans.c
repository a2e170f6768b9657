/* Scans of processes that share a segment: the bits of a schedule, whatever the
 * length and on however many ranks; low ranks may be far ahead of high ones;
 * and a count that differs is found by those above.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MOST = 300000 /* doubles: more than a message that goes at once */ };

static _Thread_local double *in, *out, *theirs;

static double *allocate_room(void)
{
    double *p = calloc(MOST, sizeof *p);

    CHECK(p != NULL);
    return p;
}

/* Check the result of a nonblocking call, which is computed by a schedule. */
static void same_bits(MPI_Comm c, int n, int in_place)
{
    const void *from = in_place ? MPI_IN_PLACE : in;
    int rank = rank_in(c);
    MPI_Request r;

    for (int i = 0; i < n; i++)
        in[i] = 1.0 / (3 + i % 1000 + 7 * rank);
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        memcpy(out, in, sizeof(double) * (size_t)n);
        memcpy(theirs, in, sizeof(double) * (size_t)n);
        if (exclusive) {
            MPI_Exscan(from, out, n, MPI_DOUBLE, MPI_SUM, c);
            MPI_Iexscan(from, theirs, n, MPI_DOUBLE, MPI_SUM, c, &r);
        } else {
            MPI_Scan(from, out, n, MPI_DOUBLE, MPI_SUM, c);
            MPI_Iscan(from, theirs, n, MPI_DOUBLE, MPI_SUM, c, &r);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK((exclusive && rank == 0) ||
              !memcmp(out, theirs, sizeof(double) * (size_t)n));
    }
}

static double sum_up_to(int rank, int i)
{
    return (rank + 1) * (rank / 2.0 + i);
}

/* Each rank may be a window of calls ahead of the next one: in a line, in a
 * part of a block, in a block. Other collectives use the same memory before,
 * after and between. */
static void run_ahead(MPI_Comm c)
{
    static const int counts[] = {1, 2000, 60, 1, 60};
    int rank = rank_in(c), size = size_of(c), root = size / 2;

    for (int k = 0; k < 5; k++) {
        int n = counts[k];

        for (int i = 0; i < 400; i++) {
            in[0] = in[n - 1] = rank + i;
            MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, c);
            CHECK(out[0] == sum_up_to(rank, i) &&
                  out[n - 1] == sum_up_to(rank, i));
            if (i % 130 != 7)
                continue;
            MPI_Bcast(in, n, MPI_DOUBLE, root, c);
            CHECK(in[n - 1] == root + i);
        }
        MPI_Barrier(c);
    }
}

static void far_apart(MPI_Comm c)
{
    int rank = rank_in(c);

    for (int i = 0; i < 3000; i++) {
        in[0] = rank + i;
        MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_SUM, c);
        CHECK(rank == 0 || out[0] == sum_up_to(rank - 1, i));
    }
    check_talks(c);
}

static void user_sum(void *a, void *b, int *n, MPI_Datatype *type)
{
    for (int i = 0; i < *n; i++)
        ((double *)b)[i] += ((double *)a)[i];
}

static void user_operation(MPI_Comm c)
{
    int rank = rank_in(c);
    MPI_Op op;

    MPI_Op_create(user_sum, 0, &op);
    for (int i = 0; i < 5; i++) {
        in[0] = rank + i;
        MPI_Scan(in, out, 1, MPI_DOUBLE, op, c);
        CHECK(out[0] == sum_up_to(rank, i));
        MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, c);
        CHECK(out[0] == sum_up_to(rank, i));
    }
    MPI_Op_free(&op);
}

/* The rank in the middle has a count of its own. */
static void counts_that_differ(MPI_Comm c, int mine, int usual)
{
    int rank = rank_in(c), other = size_of(c) / 2;
    int rc =
        MPI_Scan(in, out, rank == other ? mine : usual, MPI_DOUBLE, MPI_SUM, c);

    CHECK(rank < other || has_other_count(rc));
    check_talks(c);
}

int main(int argc, char **argv)
{
    static const int differ[][2] = {{1, 2},    {1, 100},     {3, 3000},
                                    {3000, 3}, {4000, 3000}, {3, 3000},
                                    {3000, 3}};
    MPI_Comm c;

    MPI_Init(&argc, &argv);
    in = allocate_room();
    out = allocate_room();
    theirs = allocate_room();
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    for (int n = 1; n <= MOST; n = n * 7 - 1 + n / 7) {
        same_bits(c, n, 0);
        same_bits(c, n, 1);
    }
    run_ahead(c);
    far_apart(c);
    user_operation(c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    for (size_t i = 0; size_of(c) > 1 && i < sizeof differ / sizeof *differ;
         i++)
        counts_that_differ(c, differ[i][0], differ[i][1]);
    MPI_Comm_free(&c);
    free(in);
    free(out);
    free(theirs);
    return job_end();
}

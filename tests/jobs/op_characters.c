/* Operations take the elements of MPI_CHAR as numbers of C's char, in
 * collectives of all ways and in one-sided communication, as programs expect
 * that were written with other libraries. bad_calls.py has what core.strict
 * refuses.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MOST = 40000 /* more than a message that goes at once */ };

static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN,  MPI_MAX,  MPI_BAND,
                             MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
enum { OPS = sizeof ops / sizeof *ops };

static char combine_values(int op, char a, char b)
{
    switch (op) {
    case 0:
        return (char)(a + b);
    case 1:
        return (char)(a * b);
    case 2:
        return a < b ? a : b;
    case 3:
        return a > b ? a : b;
    case 4:
        return (char)(a & b);
    case 5:
        return (char)(a | b);
    case 6:
        return (char)(a ^ b);
    case 7:
        return a && b;
    case 8:
        return a || b;
    default:
        return !a != !b;
    }
}

static char element_of(int rank, int i)
{
    return (char)(100 * rank + 7 * i);
}

static char expected_value(int op, int members, int i)
{
    char value = element_of(0, i);

    for (int r = 1; r < members; r++)
        value = combine_values(op, value, element_of(r, i));
    return value;
}

static void check_collectives(int op, int n)
{
    static _Thread_local char in[MOST], out[MOST];
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    int wrong = 0;
    MPI_Request r;

    for (int i = 0; i < n; i++)
        in[i] = element_of(rank, i);
    memset(out, 0, sizeof out);
    CHECK(MPI_Allreduce(in, out, n, MPI_CHAR, ops[op], MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int i = 0; i < n; i++)
        wrong += out[i] != expected_value(op, size, i);
    CHECK(wrong == 0);
    CHECK(MPI_Iscan(in, out, n, MPI_CHAR, ops[op], MPI_COMM_WORLD, &r) ==
          MPI_SUCCESS);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        wrong += out[i] != expected_value(op, rank + 1, i);
    CHECK(wrong == 0);
    CHECK(MPI_Reduce_local(in, out, 0, MPI_CHAR, ops[op]) == MPI_SUCCESS);
}

static void check_one_sided(int op)
{
    int rank = rank_in(MPI_COMM_WORLD);
    char in[2] = {element_of(1, 0), element_of(1, 1)}, old[2], swapped[2];
    char *base;
    MPI_Win win;

    MPI_Win_allocate(2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = element_of(0, 0);
    base[1] = element_of(0, 1);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        int last = size_of(MPI_COMM_WORLD) - 1;

        MPI_Accumulate(in, 1, MPI_CHAR, last, 0, 1, MPI_CHAR, ops[op], win);
        MPI_Fetch_and_op(in + 1, old + 1, MPI_CHAR, last, 1, ops[op], win);
    }
    MPI_Win_fence(0, win);
    if (rank == size_of(MPI_COMM_WORLD) - 1) {
        CHECK(base[0] == expected_value(op, 2, 0));
        CHECK(base[1] == expected_value(op, 2, 1));
        swapped[0] = expected_value(op, 2, 0);
        MPI_Compare_and_swap("x", swapped, swapped + 1, MPI_CHAR, rank, 0, win);
    } else if (rank == 0) {
        CHECK(old[1] == element_of(0, 1));
    }
    MPI_Win_fence(0, win);
    if (rank == size_of(MPI_COMM_WORLD) - 1)
        CHECK(base[0] == 'x');
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    for (int op = 0; op < OPS; op++) {
        check_collectives(op, 1);
        check_collectives(op, 300);
        check_collectives(op, MOST);
        check_one_sided(op);
    }
    return job_end();
}

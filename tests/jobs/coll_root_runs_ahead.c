/* Large calls from roots that go round: a root does not wait for those who
 * read, so several calls are under way in the memory that all share, and other
 * large collectives come between.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MOST = 90000 /* doubles */, ROUNDS = 300, CALLS = 5 };

static _Thread_local double *in, *out;
static _Thread_local unsigned seed = 3;

static void fill_buffer(int rank, int n, int round)
{
    for (int i = 0; i < n; i++)
        in[i] = 1000.0 * rank + i % 773 + round;
}

static int has_values(const double *got, int n, int rank, int first, int round)
{
    for (int i = 0; i < n; i++)
        if (got[i] != 1000.0 * rank + (first + i) % 773 + round)
            return 0;
    return 1;
}

/* Several calls in a row, which differ in what they bring. */
static void run_bcasts(MPI_Comm c, int n, int root, int round)
{
    for (int k = 0; k < CALLS; k++, root = (root + 1) % size_of(c)) {
        fill_buffer(rank_in(c), n, round + k);
        MPI_Bcast(in, n, MPI_DOUBLE, root, c);
        CHECK(has_values(in, n, root, 0, round + k));
    }
}

static void run_scatters(MPI_Comm c, int n, int root, int round)
{
    int rank = rank_in(c), size = size_of(c);

    n = n / size + 1;
    for (int k = 0; k < CALLS; k++, root = (root + 1) % size) {
        fill_buffer(rank, n * size, round + k);
        MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, c);
        CHECK(has_values(out, n, root, rank * n, round + k));
    }
}

static void run_others(MPI_Comm c, int n, int root, int round)
{
    int rank = rank_in(c), size = size_of(c);

    n = n / size + 1;
    fill_buffer(rank, n, round);
    if (draw_from(&seed, 2)) {
        MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, c);
    } else {
        MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, root, c);
        if (rank != root)
            return;
    }
    for (int r = 0; r < size; r++)
        CHECK(has_values(out + r * n, n, r, 0, round));
}

int main(int argc, char **argv)
{
    static const int counts[] = {100, 2100, 5000, 17000, 40000, 80000};

    MPI_Init(&argc, &argv);
    in = malloc(MOST * sizeof *in);
    out = malloc(MOST * sizeof *out);
    CHECK(in && out);
    for (int i = 0; i < ROUNDS && in && out; i++) {
        int n = counts[draw_from(&seed, 6)],
            root = (int)draw_from(&seed, 1000) % size_of(MPI_COMM_WORLD);
        unsigned kind = draw_from(&seed, 5);

        if (kind < 2)
            run_bcasts(MPI_COMM_WORLD, n, root, i);
        else if (kind < 4)
            run_scatters(MPI_COMM_WORLD, n, root, i);
        else
            run_others(MPI_COMM_WORLD, n, root, i);
    }
    free(in);
    free(out);
    return job_end();
}

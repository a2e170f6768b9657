/* This program compares the first messages of a size with later ones: the
 * longest of the first hundred round trips, divided by the usual one.
 *
 *   mpi_first BYTES
 *
 * The pair has exchanged single bytes before, so that it is connected and both
 * processes run.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { FIRST = 100, LATER = 400, BEFORE = 200 };

struct pair {
    char *out, *in;
    int rank, bytes;
};

static double time_round_trip(const struct pair *p, int bytes)
{
    double start = now_us();

    if (p->rank == 0) {
        MPI_Send(p->out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(p->in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    } else if (p->rank == 1) {
        MPI_Recv(p->in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Send(p->out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return now_us() - start;
}

static void time_round_trips(const struct pair *p, double *v, int n)
{
    for (int i = 0; i < n; i++)
        v[i] = time_round_trip(p, p->bytes);
}

int main(int argc, char **argv)
{
    static double first[FIRST], later[LATER];
    struct pair p = {0};
    double usual, worst, one;

    if (argc != 2 || (p.bytes = atoi(argv[1])) <= 0)
        return 2;
    p.rank = start_rank(&argc, &argv);
    p.out = allocate_buffer((size_t)p.bytes);
    p.in = allocate_buffer((size_t)p.bytes);
    for (int i = 0; i < BEFORE; i++)
        (void)time_round_trip(&p, 1);
    time_round_trips(&p, first, FIRST);
    time_round_trips(&p, later, LATER);
    if (p.rank == 0) {
        one = first[0] / 2;
        qsort(first, FIRST, sizeof *first, compare_doubles);
        qsort(later, LATER, sizeof *later, compare_doubles);
        usual = later[LATER / 2] / 2;
        worst = first[FIRST - 1] / 2 / usual;
        print_times("worst", p.bytes, &worst, 1);
        print_times("first_us", p.bytes, &one, 1);
        print_times("usual_us", p.bytes, &usual, 1);
    }
    MPI_Finalize();
    return 0;
}

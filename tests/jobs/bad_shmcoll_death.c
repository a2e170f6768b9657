/* The last rank dies by SIGKILL between collectives on shared words; who waits
 * for it gets MPI_ERR_PROC_ABORTED, and who does not goes on.
 *
 *   bad_shmcoll_death barrier|allreduce|from_dead|from_living
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <stdlib.h>

#include "check.h"

enum { WARM = 10, MANY = 20 /* more than lines that may be ahead */ };

static int is_gone(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class == MPI_ERR_PROC_ABORTED;
}

static void run_survivor(const char *what, int dead)
{
    double x = 1, y = 0;

    if (strcmp(what, "barrier") == 0)
        CHECK(is_gone(MPI_Barrier(MPI_COMM_WORLD)));
    else if (strcmp(what, "allreduce") == 0)
        CHECK(is_gone(MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM,
                                    MPI_COMM_WORLD)));
    else if (strcmp(what, "from_dead") == 0)
        CHECK(is_gone(MPI_Bcast(&x, 1, MPI_DOUBLE, dead, MPI_COMM_WORLD)));
    else
        for (int i = 0; i < MANY; i++)
            CHECK(MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank, last;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    last = size_of(MPI_COMM_WORLD) - 1;
    for (int i = 0; i < WARM; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last)
        raise(SIGKILL);
    run_survivor(argc > 1 ? argv[1] : "barrier", last);
    MPI_Finalize();
    if (!job_failures)
        printf("survivor %d\n", rank);
    return job_failures != 0;
}

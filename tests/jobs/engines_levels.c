/* Ranks of different thread levels in one job (core.engines): a communicator of
 * ranks with and without several engines works, and so does one of those that
 * have them, in whatever order they are made.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static void check_pair(MPI_Comm c)
{
    int me = rank_in(c), n = size_of(c), in = -1;
    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 3, &in, 1, MPI_INT,
                 MPI_ANY_SOURCE, 3, c, MPI_STATUS_IGNORE);
    CHECK(in == (me + n - 1) % n);
    check_talks(c);
}

int main(int argc, char **argv)
{
    enum { TURNS = 6 };
    MPI_Comm all[TURNS], alike[TURNS];
    const char *rank = getenv("PMI_RANK");
    int several = rank && atoi(rank) % 2 == 0, provided;
    MPI_Init_thread(&argc, &argv,
                    several ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED,
                    &provided);
    for (int i = 0; i < TURNS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &all[i]);
        MPI_Comm_split(all[i], several, 0, &alike[i]);
        check_pair(all[i]);
        check_pair(alike[i]);
    }
    for (int i = 0; i < TURNS; i++) {
        check_pair(alike[i]);
        check_pair(all[i]);
        MPI_Comm_free(&alike[i]);
        MPI_Comm_free(&all[i]);
    }
    return job_end();
}

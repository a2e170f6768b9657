/* A small job for the tests of bad input: everybody talks to everybody, for
 * as many rounds as the argument says, and prints "fine".
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;

    MPI_Init(&argc, &argv);
    for (int i = 0; i < rounds; i++)
        check_talks(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0 && !job_failures)
        printf("fine\n");
    fflush(stdout); /* what another rank does next may end the job */
    return job_end();
}

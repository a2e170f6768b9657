/* A token goes round: each process adds its rank and passes it on.
 *
 *        0 -> 1 -> 2 -> ... -> n-1 -> 0
 *
 *   mpicc ring.c -o ring && mpirun -n 4 ./ring
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

enum { TAG = 1 };

int main(int argc, char **argv)
{
    MPI_Request sent;
    int rank, size, token = 0, out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank - 1 + size) % size, right = (rank + 1) % size;

    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);

    /* MPI_Send would not do: alone, rank 0 is its own neighbour, and would wait
     * for a receive that comes only below. */
    out = token + rank;
    MPI_Isend(&out, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent);

    if (rank == 0) {
        MPI_Recv(&token, 1, MPI_INT, left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        printf("the token came back to rank 0 with %d; the sum of all ranks "
               "is %d\n", token, size * (size - 1) / 2);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return rank == 0 && token != size * (size - 1) / 2;
}

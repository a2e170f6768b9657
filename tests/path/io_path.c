/* Accesses of 8 bytes by one process, for short_path.py to count instructions:
 * with a view that is the file, and with one that has a displacement.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "counted.h"

enum { TIMES = 4, SIZE = 8 };

static MPI_File file;
static char buf[SIZE];
static MPI_Status status;

COUNTED_CALL(read_at, MPI_File_read_at(file, 16, buf, SIZE, MPI_BYTE, &status))
COUNTED_CALL(write_at,
             MPI_File_write_at(file, 16, buf, SIZE, MPI_BYTE, &status))
COUNTED_CALL(read_position,
             MPI_File_read(file, buf, SIZE, MPI_BYTE, &status))
COUNTED_CALL(read_double,
             MPI_File_read_at(file, 2, buf, 1, MPI_DOUBLE, MPI_STATUS_IGNORE))

int main(int argc, char **argv)
{
    char name[64];
    int wrong = 0, n = 0;

    MPI_Init(&argc, &argv);
    snprintf(name, sizeof name, "path_io.%d.tmp", (int)getpid());
    wrong += MPI_File_open(MPI_COMM_SELF, name,
                           MPI_MODE_RDWR | MPI_MODE_CREATE |
                               MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file);
    wrong += MPI_File_set_size(file, 4096);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < TIMES; k++) {
            counted_write_at[i]();
            counted_read_at[i]();
        }
    MPI_Get_count(&status, MPI_BYTE, &n);
    wrong += n != SIZE;
    wrong += MPI_File_set_view(file, 8, MPI_DOUBLE, MPI_DOUBLE, "native",
                               MPI_INFO_NULL);
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < TIMES; k++) {
            counted_read_position[i]();
            counted_read_double[i]();
        }
    wrong += MPI_File_close(&file);
    MPI_Finalize();
    return wrong != 0;
}

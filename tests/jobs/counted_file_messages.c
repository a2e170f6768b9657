/* A blocking collective access of which each process has one piece is one
 * collective operation: a message of each of two processes, and not two.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"
#include "sent.h"

enum { TIMES = 40, PIECE = 100 };

int main(int argc, char **argv)
{
    static char data[PIECE];
    unsigned long long before;
    MPI_File f;

    io_begin(&argc, &argv, "counted_file_messages");
    CHECK(!MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &f));
    before = messages_sent("tcp");
    for (int i = 0; i < TIMES; i++)
        CHECK(!MPI_File_write_at_all(f, rank * PIECE, data, PIECE, MPI_BYTE,
                                     MPI_STATUS_IGNORE));
    CHECK(messages_sent("tcp") - before < TIMES * 3 / 2);
    CHECK(!MPI_File_close(&f));
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return job_end();
}

/* Files that the program has not closed: MPI_Finalize releases them, with what
 * I/O threads still write. job_end looks for their descriptors, the leak
 * sanitizer for their memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <fcntl.h>

#include "io_rig.h"

enum { BYTES = 1 << 20 };

static _Thread_local char data[BYTES];

/* Whether the file has what all ranks have written. */
static int is_complete(void)
{
    int fd = open(name, O_RDONLY), good = fd >= 0;

    for (int r = 0; r < size && good; r++)
        good = pread(fd, data, BYTES, (off_t)r * BYTES) == BYTES &&
               data[0] == r + 1 && data[BYTES - 1] == r + 1;
    close(fd);
    return good;
}

int main(int argc, char **argv)
{
    char deleted[sizeof name + 8];
    MPI_File f, again, own;
    MPI_Request r;
    int status;

    io_begin(&argc, &argv, "io_left_open");
    snprintf(deleted, sizeof deleted, "%s.d", name);
    CHECK(!MPI_File_open(MPI_COMM_WORLD, deleted,
                         RW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &again));
    CHECK(!MPI_File_write_shared(again, "12", 2, MPI_BYTE, MPI_STATUS_IGNORE));
    f = open_file(RW);
    CHECK(!MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL,
                         &own));
    memset(data, rank + 1, BYTES);
    CHECK(!MPI_File_iwrite_at(f, (MPI_Offset)rank * BYTES, data, BYTES,
                              MPI_BYTE, &r));
    CHECK(!MPI_Request_free(&r));
    CHECK(!MPI_File_write_all_begin(again, data, 1, MPI_BYTE));
    CHECK(!MPI_Barrier(MPI_COMM_WORLD));
    status = job_end(); /* which is a barrier */
    if (rank > 0 || getenv("WEFT_PROCESS_RANKS"))
        return status;
    if (size == 1 && !is_complete()) /* others may end later */
        status = 1;
    if (size == 1 && access(deleted, F_OK) == 0)
        status = 1;
    unlink(name);
    return status;
}

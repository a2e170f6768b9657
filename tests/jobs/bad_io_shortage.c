/* Rank 0, which keeps the shared pointer of a file, has no memory for its
 * answers, and none comes back: it gives the other rank up, which learns that
 * instead of waiting, prints it, and ends both.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "strided_view.h"
#include "../fake/memory_faults.h"

#include <signal.h>
#include <unistd.h>

enum { PIECE = 64 };

static char data[PIECE];

/* The messages to this process are served meanwhile. */
static void serve_without_memory(void)
{
    int flag, rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS)
        rc = MPI_Iprobe(1, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    pause();
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    char path[200];
    MPI_File f;
    int keeper, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    keeper = (int)getpid();
    MPI_Bcast(&keeper, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/weft-shortage-%d",
             folder ? folder : "/tmp", keeper);
    f = open_strided(path, PIECE, "enable", NULL);
    memory_has_no_containers = rank_in(MPI_COMM_WORLD) == 0;
    MPI_Barrier(MPI_COMM_WORLD); /* of shared memory: it needs none */
    if (memory_has_no_containers)
        serve_without_memory();
    rc = MPI_File_write_shared(f, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
    unlink(path);
    if (class_of(rc) == MPI_ERR_PROC_ABORTED)
        printf("ended\n");
    else
        printf("class %d\n", class_of(rc));
    fflush(stdout);
    kill(keeper, SIGKILL);
    _exit(0);
}

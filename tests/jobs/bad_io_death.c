/* Ranks write a file together, again and again, and the last one dies while its
 * part is being written: the others learn of it. Each survivor prints that.
 *
 *   job_bad_io_death blocking|nonblocking|shared
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "strided_view.h"

#include <signal.h>
#include <unistd.h>

enum { PIECE = 64, BYTES = 1 << 16, ROUNDS = 100000 };

static char data[BYTES];

static int write_once(MPI_File f, const char *how)
{
    MPI_Request q;
    int rc;

    if (!strcmp(how, "blocking"))
        return MPI_File_write_at_all(f, 0, data, BYTES, MPI_BYTE,
                                     MPI_STATUS_IGNORE);
    if (!strcmp(how, "shared"))
        return MPI_File_write_shared(f, data, PIECE, MPI_BYTE,
                                     MPI_STATUS_IGNORE);
    rc = MPI_File_iwrite_at_all(f, 0, data, BYTES, MPI_BYTE, &q);
    return rc ? rc : MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void die_soon(int sig)
{
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    char path[200];
    MPI_File f;
    int rank, n, rc = MPI_SUCCESS, dying;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    snprintf(path, sizeof path, "%s/weft-death-%d", folder ? folder : "/tmp",
             (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    f = open_strided(path, PIECE, "enable", NULL);
    /* the keeper of the shared pointer is rank 0 */
    dying = strcmp(argv[1], "shared") ? n - 1 : 0;
    if (rank == dying) {
        signal(SIGALRM, die_soon);
        ualarm(200000, 0);
    }
    for (int i = 0; i < ROUNDS && rc == MPI_SUCCESS; i++)
        rc = write_once(f, argv[1]);
    if (rank == dying)
        pause();
    unlink(path);
    if (class_of(rc) == MPI_ERR_PROC_ABORTED)
        printf("ended\n");
    else
        printf("class %d\n", class_of(rc));
    fflush(stdout);
    _exit(0);
}

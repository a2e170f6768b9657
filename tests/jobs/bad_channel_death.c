/* The last rank dies between two starts on a real-time channel; the others,
 * whose start waits for it, end with an error.
 *
 *   job_bad_channel_death receive|send
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int class_of_error(int code)
{
    int class = 0;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    int rank, size, x = 0, error = 0, found = 0, room = 8;
    char value[8] = "";
    MPI_Comm c;
    MPI_Info info;
    MPI_Request r;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_create(&info);
    MPI_Info_set(info, "weft_channel", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c);
    MPI_Info_free(&info);
    MPI_Comm_get_info(c, &info);
    MPI_Info_get_string(info, "weft_channel", &room, value, &found);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Barrier(c);
    if (rank == size - 1)
        raise(SIGKILL);
    if (argc > 1 && !strcmp(argv[1], "send"))
        MPI_Ssend_init(&x, 1, MPI_INT, size - 1, 1, c, &r);
    else
        MPI_Recv_init(&x, 1, MPI_INT, size - 1, 1, c, &r);
    error = MPI_Start(&r);
    if (!error)
        error = MPI_Wait(&r, MPI_STATUS_IGNORE);
    printf("%s %s\n", found ? "channel" : "none",
           class_of_error(error) == MPI_ERR_PROC_ABORTED ? "aborted" : "wrong");
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}

/* The last rank dies between two starts on a real-time channel, or while the
 * members make channels; the others, which wait for it, end with an error.
 *
 *   job_bad_channel_death receive|send
 *   job_bad_channel_death make US       it dies after so many microseconds
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int make_channel(MPI_Comm *c)
{
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, "weft_channel", "true");
    rc = MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, c);
    MPI_Info_free(&info);
    return rc;
}

static int is_channel(MPI_Comm c)
{
    MPI_Info info;
    char value[8] = "";
    int room = sizeof value, found;

    MPI_Comm_get_info(c, &info);
    MPI_Info_get_string(info, "weft_channel", &room, value, &found);
    MPI_Info_free(&info);
    return found;
}

/* Start a request that only the dead rank could complete. */
static int start_in_vain(MPI_Comm c, const char *what)
{
    MPI_Request r;
    int x = 0, error;

    if (!strcmp(what, "send"))
        MPI_Ssend_init(&x, 1, MPI_INT, size - 1, 1, c, &r);
    else
        MPI_Recv_init(&x, 1, MPI_INT, size - 1, 1, c, &r);
    error = MPI_Start(&r);
    return error ? error : MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void *die_later(void *us)
{
    usleep((useconds_t)atol(us));
    raise(SIGKILL);
    return NULL;
}

/* Make channels, and use them, until the last rank is gone. */
static int make_until_death(char *us)
{
    pthread_t killer;
    MPI_Comm c;
    int error = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        pthread_create(&killer, NULL, die_later, us);
    while (!error) {
        error = make_channel(&c);
        if (error)
            break;
        MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
        error = MPI_Barrier(c);
        MPI_Comm_free(&c);
    }
    return error;
}

int main(int argc, char **argv)
{
    int class = 0, error, found = 1;
    MPI_Comm c;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 2) {
        error = make_until_death(argv[2]);
    } else {
        make_channel(&c);
        found = is_channel(c);
        MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
        MPI_Barrier(c);
        if (rank == size - 1)
            raise(SIGKILL);
        error = start_in_vain(c, argc > 1 ? argv[1] : "receive");
    }
    MPI_Error_class(error, &class);
    printf("%s %s\n", found ? "channel" : "none",
           class == MPI_ERR_PROC_ABORTED ? "aborted" : "wrong");
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}

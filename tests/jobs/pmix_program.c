/* Under a launcher that is a PMIx server (launch_pmix.py): the ranks of one
 * world, and what becomes of them. The first argument says what happens.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1 << 18 };

static int rank, size;

static int is_asked_for(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

/* Send to the next rank and receive from the one before, few bytes and many. */
static int pass_around(void)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, wrong = 0;
    int *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);

    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int n = 1; n <= LARGE; n *= 64) {
        for (int i = 0; i < n; i++)
            out[i] = rank + i;
        MPI_Sendrecv(out, n, MPI_INT, to, n, in, n, MPI_INT, from, n,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            wrong += in[i] != from + i;
    }
    free(out);
    free(in);
    return wrong;
}

static int use_collectives(void)
{
    int sum, all[64], word = rank == 0 ? 17 : 0, wrong = 0;

    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        wrong += all[i] != i;
    return wrong + (sum != size * (size - 1) / 2) + (word != 17);
}

static int count_node(void)
{
    MPI_Comm node;
    int n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_free(&node);
    return n;
}

static int read_attr(int keyval)
{
    int *value, flag;

    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
    return flag ? *value : -1;
}

/* All but the first rank wait in MPI, and that one outside. */
static void wait_for_an_end(void)
{
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void start_another_session(void)
{
    MPI_Session s;
    char text[MPI_MAX_ERROR_STRING];
    int n, rc = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);

    MPI_Error_string(rc, text, &n);
    printf("again: %s\n", rc == MPI_SUCCESS ? "success" : text);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = pass_around() + use_collectives();
    if (rank == 1 && is_asked_for(what, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (rank == 1 && is_asked_for(what, "kill"))
        raise(SIGKILL);
    if (is_asked_for(what, "wait"))
        wait_for_an_end();
    if (rank == 0 && is_asked_for(what, "child"))
        printf("child: %d\n", system(argv[0]) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d, %d wrong, %d here, program %d, room %d\n", rank,
           size, wrong, count_node(), read_attr(MPI_APPNUM),
           read_attr(MPI_UNIVERSE_SIZE));
    MPI_Finalize();
    if (is_asked_for(what, "again"))
        start_another_session();
    return wrong != 0;
}

/* This program measures how jobs begin and meet.
 *
 *   mpi_meet spawn MS       MPI_Comm_spawn of four processes
 *   mpi_meet singleton MS   the same by a process without a launcher
 *   mpi_meet connect MS     MPI_Comm_connect and MPI_Comm_accept, two ranks
 *   mpi_meet clients MS     all other ranks connect to rank 0 at once
 *   mpi_meet killed MS      from the end of a spawned process by SIGKILL to the
 *                           error of a receive from it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <signal.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static char *program;
static char port[MPI_MAX_PORT_NAME];
static int rank, size;

/* ---- processes that are spawned ------------------------------------------ */

static MPI_Comm spawn_children(int n, char *role)
{
    char *words[] = {role, NULL};
    MPI_Comm children;

    MPI_Comm_spawn(program, words, n, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                   &children, MPI_ERRCODES_IGNORE);
    return children;
}

static int be_child(MPI_Comm parent, const char *role)
{
    double now;

    if (strcmp(role, "victim") == 0) {
        now = now_us();
        MPI_Send(&now, 1, MPI_DOUBLE, 0, 0, parent);
        raise(SIGKILL);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

/* ---- batches: ms --------------------------------------------------------- */

static double spawn_four(void *what)
{
    double start = now_us(), took;
    MPI_Comm children = spawn_children(CHILDREN, "child");

    (void)what;
    took = now_us() - start;
    MPI_Comm_disconnect(&children);
    return took / 1e3;
}

/* Rank 0 serves all others. */
static double meet_clients(void *what)
{
    double start;
    MPI_Comm comm[size];

    (void)what;
    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    if (rank == 0)
        for (int i = 1; i < size; i++)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm[i]);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm[1]);
    start = now_us() - start;
    for (int i = 1; i < (rank == 0 ? size : 2); i++)
        MPI_Comm_disconnect(&comm[i]);
    return start / 1e3;
}

static double await_end(void *what)
{
    MPI_Comm children = spawn_children(1, "victim");
    double said = 0;

    (void)what;
    MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN);
    MPI_Recv(&said, 1, MPI_DOUBLE, 0, 0, children, MPI_STATUS_IGNORE);
    while (MPI_Recv(&said, 1, MPI_DOUBLE, 0, 1, children, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS)
        ;
    said = (now_us() - said) / 1e3;
    MPI_Comm_free(&children);
    return said;
}

static void open_port(void)
{
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Begin this program again as a process that no launcher has started: with none
 * of the variables that it may have set. */
static int leave_launcher(char **argv)
{
    static const char *const kept[] = {"PATH", "LD_LIBRARY_PATH", "WEFT_SET"};
    static char text[3][4096];
    char *environment[4] = {NULL};
    int n = 0;

    for (int i = 0; i < 3; i++)
        if (getenv(kept[i])) {
            snprintf(text[n], sizeof text[n], "%s=%s", kept[i],
                     getenv(kept[i]));
            environment[n] = text[n];
            n++;
        }
    argv[1] = "spawn";
    execve(program, argv, environment);
    perror("bench");
    return 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        batch_fn *batch;
    } known[] = {{"spawn", spawn_four},
                 {"connect", meet_clients},
                 {"clients", meet_clients},
                 {"killed", await_end}};
    static double v[BATCHES];
    batch_fn *batch = NULL;
    MPI_Comm parent;
    int n;

    program = argv[0];
    if (argc == 3 && strcmp(argv[1], "singleton") == 0)
        return leave_launcher(argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return be_child(parent, argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc == 3 && i < sizeof known / sizeof *known; i++)
        if (strcmp(argv[1], known[i].name) == 0)
            batch = known[i].batch;
    if (batch == NULL)
        return 2;
    if (batch == meet_clients)
        open_port();
    n = repeat_batches(batch, NULL, atof(argv[2]) * 1e3, v);
    if (rank == 0)
        print_times("ms", 0, v, n);
    MPI_Finalize();
    return 0;
}

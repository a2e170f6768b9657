/* One of two jobs of two ranks that meet by a port, again and again, while one
 * process lacks memory or a descriptor: meetings.py starts both.
 *
 *   meetings serve|call SIDE RANK memory|files N once|forever [NAME]
 *
 * SIDE and RANK say which process is the victim: in its meeting N the N-th
 * allocation or descriptor fails. A side whose call returns an error calls
 * again, with nothing lacking, until both have met; then all talk, and part. A
 * port turns callers away while its process lacks memory: they call often.
 * The process that serves prints the name of its port, and each rank a line for
 * each N: "N CLASS", CLASS being that of its first call. It ends when the
 * victim has fewer calls than N.
 *
 * A meeting that takes too long is a failure: SIGALRM ends the process. Status
 * 3: the two cannot meet any more, since a process has given up another one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject.h"

enum { LIMIT = 120, CUT_OFF = 3, ATTEMPTS = 5, CALLS = 5000 };

static int serves, me, is_victim;
static char port[MPI_MAX_PORT_NAME];

static int class_of(int rc)
{
    int class = 0;

    MPI_Error_class(rc, &class);
    return class;
}

static int meet_other(MPI_Comm *inter)
{
    return (serves ? MPI_Comm_accept : MPI_Comm_connect)(
        port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter);
}

static void give_up(int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;

    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "%s %d: cut off: %s\n", serves ? "serve" : "call", me,
            text);
    exit(CUT_OFF);
}

/* All processes of both jobs learn whether the victim is done. */
static int talk_to_all(MPI_Comm inter, int done)
{
    int mine[2] = {1, done}, theirs[2] = {-1, -1}, all[2];
    int rc = MPI_Allreduce(mine, theirs, 2, MPI_INT, MPI_SUM, inter);

    if (rc != MPI_SUCCESS)
        give_up(rc);
    if (theirs[0] != 2) {
        fprintf(stderr, "wrong data\n");
        exit(1);
    }
    rc = MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS)
        give_up(rc);
    return theirs[1] + all[1] > 0;
}

/* Returns whether the victim has fewer calls than that. */
static int run_meeting(struct inject *plan)
{
    MPI_Comm inter;
    long calls = 0;
    int rc, done;

    alarm(LIMIT);
    if (is_victim)
        inject_arm(plan);
    rc = meet_other(&inter);
    if (is_victim)
        calls = inject_disarm();
    done = is_victim && calls < plan->nth;
    printf("%ld %d\n", plan->nth, class_of(rc));
    fflush(stdout);
    for (int i = 0, calls_again = 0; rc != MPI_SUCCESS;) {
        i += serves || class_of(rc) != MPI_ERR_PORT;
        if (i > ATTEMPTS || ++calls_again > CALLS)
            give_up(rc);
        rc = meet_other(&inter);
    }
    done = talk_to_all(inter, done);
    rc = MPI_Comm_disconnect(&inter);
    if (rc != MPI_SUCCESS)
        give_up(rc);
    return done;
}

int main(int argc, char **argv)
{
    struct inject plan;

    setenv("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc < 7)
        return 2;
    serves = strcmp(argv[1], "serve") == 0;
    is_victim = strcmp(argv[2], argv[1]) == 0 && atoi(argv[3]) == me;
    plan.kind = strcmp(argv[4], "files") == 0 ? INJECT_FILES : INJECT_MEMORY;
    plan.nth = atol(argv[5]);
    plan.forever = strcmp(argv[6], "forever") == 0;
    if (serves && me == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        printf("%s\n", port);
        fflush(stdout);
    } else if (!serves) {
        strncpy(port, argv[7], sizeof port - 1);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the ranks of a job know each other */
    while (!run_meeting(&plan))
        plan.nth++;
    if (serves && me == 0)
        MPI_Close_port(port);
    alarm(LIMIT);
    MPI_Finalize();
    return 0;
}

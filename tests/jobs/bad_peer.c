/* The last rank dies by SIGKILL; the others must get MPI_ERR_PROC_ABORTED from
 * every pending and later call on it, go on among themselves, and end.
 *
 *   bad_peer ROUNDS BYTES   dies after so many rounds of ping-pong with each
 *   bad_peer -1 0           dies without ever having said a word
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static int me, all, dead;

#define GONE(call) CHECK(class_of(call) == MPI_ERR_PROC_ABORTED)

static void run_victim(int rounds, char *buf, int bytes)
{
    for (int i = 0; i < rounds; i++)
        for (int r = 0; r < dead; r++) {
            MPI_Recv(buf, bytes, MPI_CHAR, r, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Send(buf, bytes, MPI_CHAR, r, 1, MPI_COMM_WORLD);
        }
    raise(SIGKILL);
}

/* Every later call says it at once. */
static void check_later_calls(char *buf)
{
    MPI_Request r;
    MPI_Message m;
    int flag;

    GONE(MPI_Send(buf, 1, MPI_CHAR, dead, 2, MPI_COMM_WORLD));
    GONE(MPI_Ssend(buf, 1, MPI_CHAR, dead, 2, MPI_COMM_WORLD));
    GONE(MPI_Recv(buf, 1, MPI_CHAR, dead, 2, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
    GONE(MPI_Recv(buf, 1, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
    GONE(MPI_Probe(dead, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    GONE(MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    GONE(MPI_Iprobe(dead, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    GONE(MPI_Mprobe(dead, 2, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE));
    GONE(MPI_Sendrecv(buf, 1, MPI_CHAR, dead, 2, buf + 1, 1, MPI_CHAR, dead, 2,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    GONE(MPI_Isend(buf, 1, MPI_CHAR, dead, 2, MPI_COMM_WORLD, &r));
    GONE(MPI_Irecv(buf, 1, MPI_CHAR, dead, 2, MPI_COMM_WORLD, &r));
}

/* The survivors still reach each other. */
static void go_on(void)
{
    for (int r = 0; r < dead; r++) {
        int v = me, got = -1;
        if (r == me)
            continue;
        CHECK(MPI_Sendrecv(&v, 1, MPI_INT, r, 3, &got, 1, MPI_INT, r, 3,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == r);
    }
}

static void run_survivor(int rounds, char *buf, int bytes)
{
    int big = 1 << 20, rc = MPI_SUCCESS, started[4] = {0};
    char *wait[4];
    MPI_Request r[4];
    MPI_Status st[4];

    for (int i = 0; i < 4; i++)
        wait[i] = malloc((size_t)big);
    for (int i = 0; i < 4; i++)
        r[i] = MPI_REQUEST_NULL;
    /* each starts and fails later, or is refused when the end is known */
    started[0] = MPI_Irecv(wait[0], big, MPI_CHAR, dead, 10, MPI_COMM_WORLD,
                           &r[0]);
    started[1] = MPI_Irecv(wait[1], big, MPI_CHAR, MPI_ANY_SOURCE, 11,
                           MPI_COMM_WORLD, &r[1]);
    if (rounds >= 0) {
        started[2] = MPI_Issend(wait[2], 10, MPI_CHAR, dead, 12,
                                MPI_COMM_WORLD, &r[2]);
        started[3] = MPI_Isend(wait[3], big, MPI_CHAR, dead, 13,
                               MPI_COMM_WORLD, &r[3]);
    }
    while (rounds >= 0 && rc == MPI_SUCCESS) {
        rc = MPI_Send(buf, bytes, MPI_CHAR, dead, 1, MPI_COMM_WORLD);
        if (rc == MPI_SUCCESS)
            rc = MPI_Recv(buf, bytes, MPI_CHAR, dead, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE);
    }
    if (rounds >= 0)
        GONE(rc);
    for (int i = 0; i < 4; i++)
        st[i].MPI_ERROR = MPI_SUCCESS;
    MPI_Waitall(4, r, st);
    for (int i = 0; i < (rounds < 0 ? 2 : 4); i++)
        GONE(started[i] ? started[i] : st[i].MPI_ERROR);
    check_later_calls(buf);
    go_on();
    for (int i = 0; i < 4; i++)
        free(wait[i]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int bytes = argc > 2 ? atoi(argv[2]) : 1;
    char *buf = calloc(1, (size_t)bytes + 2);

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    dead = all - 1;
    if (me == dead)
        run_victim(rounds, buf, bytes);
    run_survivor(rounds, buf, bytes);
    free(buf);
    MPI_Finalize();
    if (!job_failures)
        printf("survivor %d\n", me);
    return job_failures != 0;
}

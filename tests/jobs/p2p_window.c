/* Windows of small nonblocking sends: a transport may hold some back, but not
 * beyond the call that completes them (MPI-5.0 s3.7.3).
 *
 * Rank 0 completes its sends and then makes no MPI call until rank 1, by a
 * signal, says that everything is there.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { MOST = 13, TAG = 5 };

static MPI_Request reqs[MOST];
static int values[MOST];

static void by_wait(int n)
{
    for (int i = n; i-- > 0;)
        MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
}

static void by_waitall(int n)
{
    MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE);
}

static void by_waitany(int n)
{
    for (int i = 0, which; i < n; i++)
        MPI_Waitany(n, reqs, &which, MPI_STATUS_IGNORE);
}

static void by_waitsome(int n)
{
    int left = n, some, which[MOST];

    for (; left > 0; left -= some)
        MPI_Waitsome(n, reqs, &some, which, MPI_STATUSES_IGNORE);
}

static void by_test(int n)
{
    for (int i = 0, done; i < n; i++)
        do
            MPI_Test(&reqs[i], &done, MPI_STATUS_IGNORE);
        while (!done);
}

static void by_testall(int n)
{
    int done = 0;

    while (!done)
        MPI_Testall(n, reqs, &done, MPI_STATUSES_IGNORE);
}

static void by_status(int n)
{
    for (int i = 0, done; i < n; i++)
        do
            MPI_Request_get_status(reqs[i], &done, MPI_STATUS_IGNORE);
        while (!done);
    by_waitall(n);
}

static void by_free(int n)
{
    const char *set = getenv("WEFT_SET");

    if (set && strstr(set, "core.eager=0"))
        by_waitall(n); /* a rendezvous needs its sender */
    for (int i = 0; i < n; i++)
        if (reqs[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&reqs[i]);
}

static void (*const ways[])(int) = {by_wait,     by_waitall, by_waitany,
                                    by_waitsome, by_test,    by_testall,
                                    by_status,   by_free};
enum { WAYS = sizeof ways / sizeof *ways };

static void say_something(int n)
{
    sigset_t set;
    struct timespec limit = {.tv_sec = 120};

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < n; i++) {
            values[i] = way * 100 + i;
            MPI_Isend(&values[i], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &reqs[i]);
        }
        ways[way](n);
        CHECK(sigtimedwait(&set, NULL, &limit) == SIGUSR1);
    }
}

static void listen_to(int n, pid_t sender)
{
    int value;

    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < n; i++) {
            MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            CHECK(value == way * 100 + i);
        }
        kill(sender, SIGUSR1);
    }
}

int main(int argc, char **argv)
{
    long pid = getpid();
    sigset_t set;
    int me;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int n = 1; size_of(MPI_COMM_WORLD) > 1 && n <= MOST; n++) {
        if (me == 0)
            say_something(n);
        else if (me == 1)
            listen_to(n, (pid_t)pid);
    }
    return job_end();
}

/* Rank 0 talks to rank 1 over shared memory, and to each of the others over a
 * transport of its own that takes system calls to poll. While these are idle
 * they cost rank 0 next to none, whatever it waits or asks for; and a message
 * over any of them is found soon, however busy another one is.
 *
 *   rank 1 --- fast ---> rank 0 <--- slow --- rank 2
 *                               <--- slow --- rank 3 ...
 *
 * The program counts its system calls itself (-Wl,--wrap).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FAST = 1, SLOW = 2,
    HELLO, PING, NEVER, FLOOD, SINGLE, END, /* tags */
    CALLS = 10000, BATCH = 100, BATCHES = CALLS / BATCH,
    FEW = BATCH / 10, /* calls of the system in such a batch, */
    PART = 16,        /* or so much of its time: it may have waited */
    CREDIT = 64       /* messages of a flood that are under way */
};

static int calls;

int __real_epoll_wait(int, struct epoll_event *, int, int);
int __wrap_epoll_wait(int fd, struct epoll_event *e, int n, int timeout)
{
    calls++;
    return __real_epoll_wait(fd, e, n, timeout);
}

ssize_t __real_recv(int, void *, size_t, int);
ssize_t __wrap_recv(int fd, void *buf, size_t n, int flags)
{
    calls++;
    return __real_recv(fd, buf, n, flags);
}

ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    calls++;
    return __real_recvmsg(fd, m, flags);
}

int __real_recvmmsg(int, struct mmsghdr *, unsigned, int, struct timespec *);
int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
                    struct timespec *t)
{
    calls++;
    return __real_recvmmsg(fd, m, n, flags, t);
}

static void send_to(int dest, int tag)
{
    char byte = 0;

    MPI_Send(&byte, 1, MPI_BYTE, dest, tag, MPI_COMM_WORLD);
}

static int receive_from(int source, int tag)
{
    MPI_Status status;
    char byte;

    MPI_Recv(&byte, 1, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
    return status.MPI_SOURCE;
}

/* ---- calls in vain ------------------------------------------------------- */

static void probe_in_vain(int source)
{
    int flag;

    for (int i = 0; i < BATCH; i++) {
        MPI_Iprobe(source, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
}

static void test_in_vain(int source)
{
    MPI_Request request;
    char byte;
    int flag;

    MPI_Irecv(&byte, 1, MPI_BYTE, source, NEVER, MPI_COMM_WORLD, &request);
    for (int i = 0; i < BATCH; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- receives that wait -------------------------------------------------- */

static void receive_pings(int source)
{
    for (int i = 0; i < BATCH; i++) {
        CHECK(receive_from(source, PING) == FAST);
        send_to(FAST, PING);
    }
}

static void probe_pings(int source)
{
    MPI_Status status;

    for (int i = 0; i < BATCH; i++) {
        MPI_Probe(source, PING, MPI_COMM_WORLD, &status);
        CHECK(receive_from(status.MPI_SOURCE, PING) == FAST);
        send_to(FAST, PING);
    }
}

/* With a receive from each of the idle ones, too. */
static void wait_for_any_ping(int source)
{
    int n = size_of(MPI_COMM_WORLD) - 1, which;
    MPI_Request *requests = malloc((size_t)n * sizeof *requests);
    char *bytes = malloc((size_t)n);

    CHECK(requests && bytes);
    for (int i = 1; i < n; i++)
        MPI_Irecv(&bytes[i], 1, MPI_BYTE, 1 + i, NEVER, MPI_COMM_WORLD,
                  &requests[i]);
    for (int i = 0; i < BATCH; i++) {
        MPI_Irecv(&bytes[0], 1, MPI_BYTE, source, PING, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Waitany(n, requests, &which, MPI_STATUS_IGNORE);
        CHECK(which == 0);
        send_to(FAST, PING);
    }
    for (int i = 1; i < n; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    free(bytes);
    free(requests);
}

/* Of what is done in batches the fastest one counts. */
static const struct {
    const char *name;
    void (*call)(int source);
    bool answers;
} kinds[] = {{"MPI_Iprobe", probe_in_vain, false},
             {"MPI_Test", test_in_vain, false},
             {"MPI_Recv", receive_pings, true},
             {"MPI_Probe", probe_pings, true},
             {"MPI_Waitany", wait_for_any_ping, true}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void count_calls(int kind, int source, double call_s)
{
    double best_s = 1e9;
    int made = 0, allowed;

    for (int i = 0; i < BATCHES; i++) {
        double start = MPI_Wtime(), took;
        calls = 0;
        kinds[kind].call(source);
        took = MPI_Wtime() - start;
        if (took >= best_s)
            continue;
        best_s = took;
        made = calls;
    }
    allowed = FEW + (int)(best_s / call_s / PART);
    if (made <= allowed)
        return;
    fprintf(stderr, "%s from %d: %d system calls for %d messages in %.0f us; "
            "%d are enough\n", kinds[kind].name, source, made, BATCH,
            best_s * 1e6, allowed);
    job_failures++;
}

/* The time that the kernel takes to tell that there is no news. */
static double time_call(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    double best = 1;

    CHECK(fd >= 0);
    for (int i = 0; i < BATCH; i++) {
        double start = MPI_Wtime(), took;
        for (int k = 0; k < BATCH; k++)
            CHECK(__real_epoll_wait(fd, &event, 1, 0) == 0);
        took = (MPI_Wtime() - start) / BATCH;
        if (took < best)
            best = took;
    }
    close(fd);
    return best;
}

static void ask_in_batches(void)
{
    for (int i = 0; i < CALLS; i++) {
        send_to(0, PING);
        receive_from(0, PING);
    }
}

static void check_idle(int rank)
{
    double call_s = time_call();

    for (int kind = 0; kind < KINDS; kind++)
        for (int source = MPI_ANY_SOURCE;; source = FAST) {
            if (rank == 0)
                count_calls(kind, source, call_s);
            else if (rank == FAST && kinds[kind].answers)
                ask_in_batches();
            if (source == FAST)
                break;
        }
}

/* ---- one message beside a flood ------------------------------------------ */

static void flood_until_told(void)
{
    MPI_Request end;
    char byte;
    int ended = 0, sent = 0;

    MPI_Irecv(&byte, 1, MPI_BYTE, 0, END, MPI_COMM_WORLD, &end);
    for (;;) {
        MPI_Test(&end, &ended, MPI_STATUS_IGNORE);
        if (ended)
            break;
        send_to(0, FLOOD);
        if (++sent % CREDIT == 0)
            receive_from(0, FLOOD);
    }
    send_to(0, END);
}

/* Returns after the message of `single` has come, which is told to send it in
 * the midst of the flood. */
static void take_flood(int flooding, int single, bool probes)
{
    MPI_Status status = {.MPI_TAG = FLOOD};
    bool came = false;
    char byte;

    for (int taken = 0; status.MPI_TAG != END;) {
        int flag = !probes;
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                       MPI_STATUS_IGNORE);
        MPI_Recv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == SINGLE) {
            CHECK(status.MPI_SOURCE == single && !came);
            came = true;
            send_to(flooding, END);
        }
        if (status.MPI_TAG != FLOOD)
            continue;
        if (++taken == 4 * CREDIT)
            send_to(single, SINGLE);
        if (taken % CREDIT == 0)
            send_to(flooding, FLOOD);
    }
    CHECK(came);
}

static void check_flood(int rank, int flooding, int single, bool probes)
{
    if (rank == 0)
        take_flood(flooding, single, probes);
    else if (rank == flooding)
        flood_until_told();
    else if (rank == single) {
        receive_from(0, SINGLE);
        send_to(0, SINGLE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    while (rank == flooding) { /* what was answered after the end */
        int flag;
        MPI_Iprobe(0, FLOOD, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            break;
        receive_from(0, FLOOD);
    }
}

/* ---- the job ------------------------------------------------------------- */

static void connect_all(int rank, int n)
{
    for (int other = FAST; other < n; other++)
        if (rank == 0) {
            receive_from(other, HELLO);
            send_to(other, HELLO);
        } else if (rank == other) {
            send_to(0, HELLO);
            receive_from(0, HELLO);
        }
}

int main(int argc, char **argv)
{
    int rank, n;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    n = size_of(MPI_COMM_WORLD);
    connect_all(rank, n);
    check_idle(rank);
    for (int probes = 0; probes <= 1; probes++)
        for (int other = SLOW; other < n; other++) {
            check_flood(rank, FAST, other, probes);
            check_flood(rank, other, FAST, probes);
        }
    return job_end();
}

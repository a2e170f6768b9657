/* Short messages between two ranks, for short_path.py to count instructions in
 * rank 0. Each counted_* function makes one MPI call.
 *
 * "Already there" means: the sender's MPI_Send has returned, which a datagram
 * outside MPI says, and rank 0 has not been in MPI since.
 *
 * With the argument `alone` at MPI_THREAD_MULTIPLE; with `multiple`, too,
 * beside a second thread; with `engines`, too, on a communicator of another
 * engine than MPI_COMM_WORLD's; with `window` while there is a window that can
 * be locked, so that the progress thread may act at any time; with `derived` on
 * another communicator than MPI_COMM_WORLD. With `between` rank 0 is alone in
 * its job, and spawns the peer as a job of its own.
 *
 * Few messages are sent at a time, and rank 1 has received them before more are
 * sent: a ring that is never full shows the path, not a wait. Rank 0 never
 * waits in MPI, where a failed poll teaches the transport to poll later the
 * next time. The counts therefore do not depend on which process has a
 * processor.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../second_thread.h"
#include "counted.h"

enum { TIMES = 4, SIZE = 8, DATA = 1, GO = 2, LAST = 3 };

static MPI_Comm comm = MPI_COMM_WORLD;
static char buf[SIZE];
static int peer, there;
static bool between; /* jobs: the peer is rank 0 of the other one */
static MPI_Request request;

COUNTED_CALL(send, MPI_Send(buf, SIZE, MPI_BYTE, peer, DATA, comm))
COUNTED_CALL(nowhere, MPI_Send(buf, SIZE, MPI_BYTE, MPI_PROC_NULL, DATA, comm))
COUNTED_CALL(recv, MPI_Recv(buf, SIZE, MPI_BYTE, peer, DATA, comm,
                            MPI_STATUS_IGNORE))
COUNTED_CALL(unexpected_recv, MPI_Recv(buf, SIZE, MPI_BYTE, peer, DATA, comm,
                                       MPI_STATUS_IGNORE))
COUNTED_CALL(isend, MPI_Isend(buf, SIZE, MPI_BYTE, peer, DATA, comm, &request))
COUNTED_CALL(sent_wait, MPI_Wait(&request, MPI_STATUS_IGNORE))
COUNTED_CALL(irecv, MPI_Irecv(buf, SIZE, MPI_BYTE, peer, DATA, comm, &request))
COUNTED_CALL(wait, MPI_Wait(&request, MPI_STATUS_IGNORE))

/* Nothing, from nowhere. */
COUNTED_CALL(send_none, MPI_Send(NULL, 0, MPI_BYTE, peer, DATA, comm))
COUNTED_CALL(recv_none, MPI_Recv(NULL, 0, MPI_BYTE, peer, DATA, comm,
                                 MPI_STATUS_IGNORE))
COUNTED_CALL(irecv_none,
             MPI_Irecv(NULL, 0, MPI_BYTE, peer, DATA, comm, &request))

/* Nothing moves, and no peer has to answer. */
COUNTED_CALL(bcast_none, MPI_Bcast(buf, 0, MPI_BYTE, 0, comm))
COUNTED_CALL(allreduce_none,
             MPI_Allreduce(buf, buf, 0, MPI_INT, MPI_SUM, comm))

static void send_all(void (*one)(void), void (*then)(void))
{
    for (int i = 0; i < TIMES; i++) {
        one();
        if (then)
            then();
    }
}

/* A message of size 0 that asks for, or announces, another. */
static void say_something(int tag)
{
    MPI_Send(buf, 0, MPI_BYTE, peer, tag, comm);
}

static void hear_peer(int tag)
{
    MPI_Recv(buf, 0, MPI_BYTE, peer, tag, comm, MPI_STATUS_IGNORE);
}

/* Rank 0 waits outside MPI until rank 1 has done its part. */
static void await_peer(void)
{
    char c;

    if (read(there, &c, 1) != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void tell_peer(const struct sockaddr_un *where)
{
    if (sendto(there, "", 1, 0, (const struct sockaddr *)where,
               sizeof *where) != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The peer has sent one message, and MPI does not know here. */
static void ask_for_one(void)
{
    say_something(GO);
    await_peer();
}

static void receive_asked(void (*one)(void), void (*then)(void))
{
    for (int i = 0; i < TIMES; i++) {
        ask_for_one();
        one();
        if (then)
            then();
    }
}

static void finish_case(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* At its end a round has one message more each way than the round before. Work
 * that is due every few messages, such as an acknowledgement or a check of how
 * much of the ring is free, is then not part of the same counted call in each
 * round. */
static void rank_0(int round)
{
    send_all(counted_send[round], NULL);
    send_all(counted_nowhere[round], NULL);
    send_all(counted_isend[round], counted_sent_wait[round]);
    receive_asked(counted_recv[round], NULL);
    receive_asked(counted_irecv[round], counted_wait[round]);
    ask_for_one();
    hear_peer(LAST); /* behind the others, which are stored by then */
    send_all(counted_unexpected_recv[round], NULL);
    receive_asked(counted_recv_none[round], NULL);
    receive_asked(counted_irecv_none[round], finish_case);
    send_all(counted_send_none[round], NULL);
    for (int i = 0; i < round; i++)
        say_something(GO);
    await_peer();
    for (int i = 0; i < round; i++)
        hear_peer(LAST);
}

static void send_asked(void (*one)(void), const struct sockaddr_un *where)
{
    for (int i = 0; i < 2 * TIMES; i++) {
        hear_peer(GO);
        one();
        tell_peer(where);
    }
}

static void rank_1(int round, const struct sockaddr_un *where)
{
    for (int i = 0; i < 2 * TIMES; i++)
        counted_recv[round]();
    send_asked(counted_send[round], where);
    hear_peer(GO);
    send_all(counted_send[round], NULL);
    say_something(LAST);
    tell_peer(where);
    send_asked(counted_send_none[round], where);
    send_all(counted_recv[round], NULL);
    for (int i = 0; i < round; i++)
        hear_peer(GO);
    for (int i = 0; i < round; i++)
        say_something(LAST);
    tell_peer(where);
}

/* Rank 0 listens on an abstract name made of its pid. */
static struct sockaddr_un open_socket(int rank)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int pid = (int)getpid(), root = rank == 0 ? MPI_ROOT : 0;

    MPI_Bcast(&pid, 1, MPI_INT, between ? root : 0, comm);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
             "weft-short-path-%d", pid);
    there = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (there < 0 ||
        (rank == 0 &&
         bind(there, (const struct sockaddr *)&name, sizeof name) != 0))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(comm);
    return name;
}

/* Meet the peer of another job. Returns the number of this side. */
static int meet_peer(const char *program)
{
    char *argv[] = {"between", NULL};

    MPI_Comm_get_parent(&comm);
    if (comm != MPI_COMM_NULL)
        return 1;
    MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm,
                   MPI_ERRCODES_IGNORE);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un name;
    bool engines = argc > 1 && strcmp(argv[1], "engines") == 0;
    bool multiple = argc > 1 && (engines || strcmp(argv[1], "multiple") == 0);
    bool alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    bool derived = argc > 1 && strcmp(argv[1], "derived") == 0;
    bool window = argc > 1 && strcmp(argv[1], "window") == 0;
    int rank, level;
    MPI_Win win;

    between = argc > 1 && strcmp(argv[1], "between") == 0;

    MPI_Init_thread(&argc, &argv,
                    multiple || alone ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    if (multiple)
        start_second_thread();
    if (engines || derived)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (window)
        MPI_Win_create(buf, SIZE, 1, MPI_INFO_NULL, comm, &win);
    if (between)
        rank = meet_peer(argv[0]);
    else
        MPI_Comm_rank(comm, &rank);
    peer = between ? 0 : 1 - rank;
    name = open_socket(rank);
    for (int i = 0; i < ROUNDS; i++) {
        if (!between)
            send_all(counted_bcast_none[i], counted_allreduce_none[i]);
        if (rank == 0)
            rank_0(i);
        else
            rank_1(i, &name);
    }
    close(there);
    if (window)
        MPI_Win_free(&win);
    if (between)
        MPI_Comm_disconnect(&comm);
    MPI_Finalize();
    return 0;
}

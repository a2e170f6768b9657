/* This program measures the cost of matching: rank 0 receives, rank 1 sends.
 *
 *   mpi_match WHEN ORDER MS N...
 *
 * WHEN   posted      the receives are there before the messages
 *        unexpected  the messages are there before the receives
 * ORDER  order       tags are received as they were sent
 *        reverse     the last one first
 *        wild        from any source, every second with any tag
 *        depth       N entries that do not match lie in the queue while a
 *                    ping-pong of one byte goes on
 *
 * Prints ns per message (ns), or half of the round trip (us), for each N.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { GO = 0, PING = 1, FIRST = 10, N_MAX = 65536, TRIPS = 20 };

struct queue {
    int rank, n, unexpected, reverse, wild;
    MPI_Request *reqs;
    char *bytes;
};

static void send_go(int to)
{
    MPI_Send(NULL, 0, MPI_BYTE, to, GO, MPI_COMM_WORLD);
}

static void await_go(int from)
{
    MPI_Recv(NULL, 0, MPI_BYTE, from, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_all(struct queue *q, int to)
{
    for (int i = 0; i < q->n; i++)
        MPI_Isend(q->bytes, 1, MPI_BYTE, to, FIRST + i, MPI_COMM_WORLD,
                  &q->reqs[i]);
}

static void post_all(struct queue *q, int from)
{
    for (int i = 0; i < q->n; i++) {
        int tag = FIRST + (q->reverse ? q->n - 1 - i : i);
        MPI_Irecv(q->bytes + i, 1, MPI_BYTE, q->wild ? MPI_ANY_SOURCE : from,
                  q->wild && i % 2 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD,
                  &q->reqs[i]);
    }
}

static void complete_all(struct queue *q)
{
    MPI_Waitall(q->n, q->reqs, MPI_STATUSES_IGNORE);
}

static double run_receiver(struct queue *q)
{
    double start;

    if (q->unexpected) {
        await_go(1); /* sent last, so all messages are here */
        start = now_us();
        post_all(q, 1);
    } else {
        post_all(q, 1);
        start = now_us();
        send_go(1);
    }
    complete_all(q);
    return (now_us() - start) * 1e3 / q->n;
}

static double run_sender(struct queue *q)
{
    if (!q->unexpected)
        await_go(0);
    send_all(q, 0);
    if (q->unexpected)
        send_go(0);
    complete_all(q);
    return 0;
}

static double run_storm(void *what)
{
    struct queue *q = what;

    return q->rank == 0 ? run_receiver(q) : run_sender(q);
}

static double ping_pong(void *what)
{
    struct queue *q = what;
    double start = now_us();
    char byte = 0;

    for (int i = 0; i < TRIPS; i++) {
        if (q->rank == 0)
            MPI_Send(&byte, 1, MPI_BYTE, 1, PING, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_BYTE, 1 - q->rank, PING, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (q->rank == 1)
            MPI_Send(&byte, 1, MPI_BYTE, 0, PING, MPI_COMM_WORLD);
    }
    return (now_us() - start) / (2 * TRIPS);
}

/* Measure a ping-pong while both ranks have n entries in the queue of their
 * side. */
static int ping_pong_at_depth(struct queue *q, double limit_us, double *v)
{
    struct queue other = *q;
    int peer = 1 - q->rank, n;

    other.reqs = malloc((size_t)N_MAX * sizeof *other.reqs);
    if (q->unexpected)
        send_all(q, peer);
    else
        post_all(q, peer);
    MPI_Barrier(MPI_COMM_WORLD);
    n = repeat_batches(ping_pong, q, limit_us, v);
    if (q->unexpected)
        post_all(&other, peer);
    else
        send_all(&other, peer);
    complete_all(&other);
    complete_all(q);
    free(other.reqs);
    return n;
}

static void measure_order(struct queue *q, int depth, double limit_us)
{
    static _Thread_local double v[BATCHES];
    int n = depth ? ping_pong_at_depth(q, limit_us, v)
                  : repeat_batches(run_storm, q, limit_us, v);

    if (q->rank == 0)
        print_times(depth ? "us" : "ns", q->n, v, n);
}

int main(int argc, char **argv)
{
    struct queue q = {.bytes = allocate_buffer(N_MAX)};

    if (argc < 5)
        return 2;
    q.reqs = malloc((size_t)N_MAX * sizeof *q.reqs);
    q.unexpected = strcmp(argv[1], "unexpected") == 0;
    q.reverse = strcmp(argv[2], "reverse") == 0;
    q.wild = strcmp(argv[2], "wild") == 0;
    q.rank = start_rank(&argc, &argv);
    for (int i = 4; i < argc; i++) {
        q.n = atoi(argv[i]);
        if (q.n >= 0 && q.n <= N_MAX)
            measure_order(&q, strcmp(argv[2], "depth") == 0,
                          atof(argv[3]) * 1e3);
    }
    MPI_Finalize();
    return 0;
}

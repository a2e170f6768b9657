/* This program times starts of a persistent send, one by one, while bulk
 * messages of the same pair of ranks are under way.
 *
 *   mpi_channel with|without STARTS MS
 *
 * with: the requests are on a communicator that asks for a real-time channel by
 * its info keys, which other libraries ignore; without: on one that does not.
 * Times are from MPI_Start to the arrival of the answer, half of it, and of at
 * most so many starts, or ms.
 *
 *     rank 1   take bulk   "ready" -.        .-> wait, answer
 *     rank 0   post bulk   wait <---'  start-'   wait          the time of this
 *
 * So both ranks are at the channel when the time begins, and the bulk messages
 * that rank 0 has just posted lie before the ping, as far as both go the same
 * way.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "percentiles.h"
#include "repeat.h"

enum { WINDOW = 4, BULK = 32 << 10, READY = 1, PING = 2, BULK_TAG = 3 };

/* Bulk messages from rank 0 to rank 1. */
struct bulk {
    int rank;
    long posted;
    char *memory;
    MPI_Request request[WINDOW];
};

static void post_bulk(struct bulk *b, int i)
{
    char *at = b->memory + (size_t)i * BULK;

    b->posted++;
    if (b->rank == 0)
        MPI_Isend(at, BULK, MPI_BYTE, 1, BULK_TAG, MPI_COMM_WORLD,
                  &b->request[i]);
    else
        MPI_Irecv(at, BULK, MPI_BYTE, 0, BULK_TAG, MPI_COMM_WORLD,
                  &b->request[i]);
}

static void begin_bulk(struct bulk *b)
{
    b->memory = allocate_buffer((size_t)WINDOW * BULK);
    for (int i = 0; i < WINDOW; i++)
        post_bulk(b, i);
}

/* Post again what has completed. */
static void continue_bulk(struct bulk *b)
{
    int done[WINDOW], n;

    MPI_Testsome(WINDOW, b->request, &n, done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        post_bulk(b, done[i]);
}

/* Post as many as the other rank has posted, and await all. */
static void end_bulk(struct bulk *b)
{
    long most;
    int i;

    MPI_Allreduce(&b->posted, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    while (b->posted < most) {
        MPI_Waitany(WINDOW, b->request, &i, MPI_STATUS_IGNORE);
        post_bulk(b, i);
    }
    MPI_Waitall(WINDOW, b->request, MPI_STATUSES_IGNORE);
    free(b->memory);
}

/* The persistent requests of a rank, and their memory. */
struct ends {
    double out, in; /* a ping that is not 0 is the last */
    MPI_Request send, receive, ready;
};

static void make_requests(struct ends *e, MPI_Comm c, int rank)
{
    MPI_Send_init(&e->out, 1, MPI_DOUBLE, 1 - rank, PING, c, &e->send);
    MPI_Recv_init(&e->in, 1, MPI_DOUBLE, 1 - rank, PING, c, &e->receive);
    if (rank == 0)
        MPI_Recv_init(NULL, 0, MPI_BYTE, 1, READY, c, &e->ready);
    else
        MPI_Send_init(NULL, 0, MPI_BYTE, 0, READY, c, &e->ready);
}

static void start_and_wait(MPI_Request *r)
{
    MPI_Start(r);
    MPI_Wait(r, MPI_STATUS_IGNORE);
}

static double time_ping(struct ends *e)
{
    double start;

    MPI_Start(&e->receive);
    start = now_us();
    MPI_Start(&e->send);
    MPI_Wait(&e->receive, MPI_STATUS_IGNORE);
    start = (now_us() - start) / 2;
    MPI_Wait(&e->send, MPI_STATUS_IGNORE);
    return start;
}

/* Returns how many starts were timed. */
static long time_starts(struct ends *e, struct bulk *b, double *v, long most,
                        double limit_us)
{
    double began = now_us();
    long n = 0;

    while (!e->out) {
        continue_bulk(b);
        start_and_wait(&e->ready);
        e->out = n + 1 == most || !has_time(n, began, limit_us);
        v[n++] = time_ping(e);
    }
    return n;
}

static void answer_starts(struct ends *e, struct bulk *b)
{
    while (!e->in) {
        continue_bulk(b);
        MPI_Start(&e->receive);
        start_and_wait(&e->ready);
        MPI_Wait(&e->receive, MPI_STATUS_IGNORE);
        start_and_wait(&e->send);
    }
}

static MPI_Comm make_comm(const char *kind)
{
    MPI_Comm c;
    MPI_Info info;

    MPI_Info_create(&info);
    if (strcmp(kind, "with") == 0)
        MPI_Info_set(info, "weft_channel", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &c);
    MPI_Info_free(&info);
    return c;
}

int main(int argc, char **argv)
{
    struct ends e = {0};
    struct bulk b = {0};
    double *v;
    long most, n;
    MPI_Comm c;

    if (argc != 4 || (most = atol(argv[2])) < 1)
        return 2;
    b.rank = start_rank(&argc, &argv);
    v = (double *)(void *)allocate_buffer((size_t)most * sizeof *v);
    c = make_comm(argv[1]);
    make_requests(&e, c, b.rank);
    begin_bulk(&b);
    if (b.rank == 0) {
        n = time_starts(&e, &b, v, most, atof(argv[3]) * 1e3);
        print_percentiles("us", v, n);
    } else {
        answer_starts(&e, &b);
    }
    end_bulk(&b);
    MPI_Request_free(&e.send);
    MPI_Request_free(&e.receive);
    MPI_Request_free(&e.ready);
    MPI_Comm_free(&c);
    free(v);
    MPI_Finalize();
    return 0;
}

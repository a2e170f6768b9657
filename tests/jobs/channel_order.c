/* The rules of MPI hold on a real-time channel: order, tags, wildcards, cancel,
 * free, requests of a channel and of other communicators in one call, messages
 * beyond what is reserved, and channels that are made again and again.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "channel.h"

enum { MANY = 40, AGAIN = 30 };

static _Thread_local int me, all, to, from;

/* Sends of two tags, started in order; the receives ask for the second first.
 * Within a tag messages keep their order. */
static void check_tags(MPI_Comm c)
{
    int out[MANY], in[MANY];
    MPI_Request r[2 * MANY];

    for (int i = 0; i < MANY; i++) {
        int k = (i + MANY / 2) % MANY; /* the half with tag 1 comes first */
        out[i] = me * 1000 + i;
        in[k] = -1;
        MPI_Recv_init(&in[k], 1, MPI_INT, from, k >= MANY / 2, c, &r[i]);
        MPI_Send_init(&out[i], 1, MPI_INT, to, i >= MANY / 2, c, &r[MANY + i]);
    }
    for (int round = 0; round < 3; round++) {
        MPI_Startall(MANY, r + MANY);
        MPI_Startall(MANY, r);
        CHECK(MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < MANY; i++)
            CHECK(in[i] == from * 1000 + i);
    }
    for (int i = 0; i < 2 * MANY; i++)
        MPI_Request_free(&r[i]);
}

/* A persistent receive with wildcards takes all messages, in the order of each
 * sender. */
static void check_wildcards(MPI_Comm c)
{
    int next[64] = {0}, x, y;
    MPI_Request r, s;
    MPI_Status status;

    MPI_Recv_init(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &r);
    if (me != 0)
        MPI_Send_init(&y, 1, MPI_INT, 0, me, c, &s);
    for (int i = 0; me != 0 && i < MANY; i++) {
        y = i;
        MPI_Start(&s);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
    }
    for (int i = 0; me == 0 && i < MANY * (all - 1); i++) {
        MPI_Start(&r);
        MPI_Wait(&r, &status);
        CHECK(status.MPI_TAG == status.MPI_SOURCE);
        CHECK(x == next[status.MPI_SOURCE]++);
    }
    if (me != 0)
        MPI_Request_free(&s);
    MPI_Request_free(&r);
    MPI_Barrier(c);
}

static void check_cancel_and_free(MPI_Comm c)
{
    int x = -1, y = 3, cancelled = 0;
    MPI_Request r, s;
    MPI_Status status;

    MPI_Recv_init(&x, 1, MPI_INT, from, 77, c, &r);
    MPI_Start(&r);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled && x == -1);
    MPI_Barrier(c); /* nobody sends before */
    MPI_Start(&r); /* and it may be started again */
    MPI_Send_init(&y, 1, MPI_INT, to, 77, c, &s);
    MPI_Start(&s);
    MPI_Request_free(&s); /* active: it is sent all the same */
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(x == 3);
    MPI_Request_free(&r);
}

/* One call waits for requests of the channel and of MPI_COMM_WORLD. */
static void check_both(MPI_Comm c)
{
    int out = me, in[2] = {-1, -1}, which, n = 0;
    MPI_Request r[4];

    MPI_Recv_init(&in[0], 1, MPI_INT, from, 1, c, &r[0]);
    MPI_Send_init(&out, 1, MPI_INT, to, 1, c, &r[1]);
    MPI_Recv_init(&in[1], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Send_init(&out, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &r[3]);
    MPI_Startall(4, r);
    CHECK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(in[0] == from && in[1] == from);
    MPI_Startall(4, r);
    while (n < 4) {
        CHECK(MPI_Waitany(4, r, &which, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(which >= 0 && which < 4);
        if (which < 0)
            break;
        n++;
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&r[i]);
}

/* The messages of channels that found no room, as the tool interface counts
 * them; negative: it cannot be asked. */
static long count_exceeded(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int provided, index, n;
    unsigned long long value = 0;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_get_index("channel.exceeded", MPI_T_PVAR_CLASS_COUNTER,
                               &index) == MPI_SUCCESS);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return (long)value;
}

/* Messages beyond the reservation go as ordinary ones do. */
static void check_beyond(MPI_Comm c)
{
    enum { LARGE = 300000, BURST = 2000 };
    int *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);
    static _Thread_local MPI_Request r[2 * BURST];
    long before = count_exceeded();

    for (int i = 0; i < LARGE; i++)
        out[i] = me + i;
    MPI_Irecv(in, LARGE, MPI_INT, from, 4, c, &r[0]);
    MPI_Isend(out, LARGE, MPI_INT, to, 4, c, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    CHECK(count_exceeded() > before); /* a rendezvous at least */
    for (int i = 0; i < LARGE; i++)
        if (in[i] != from + i)
            job_failures++;
    for (int i = 0; i < BURST; i++)
        MPI_Isend(&out[i], 1, MPI_INT, to, 5, c, &r[i]);
    for (int i = 0; i < BURST; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, from, 5, c, &r[BURST + i]);
    MPI_Waitall(2 * BURST, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BURST; i++)
        if (in[i] != from + i)
            job_failures++;
    free(out);
    free(in);
}

static void check_partitions(MPI_Comm c)
{
    enum { PARTS = 8, EACH = 4 };
    int out[PARTS * EACH] = {0}, in[PARTS * EACH];
    MPI_Request s, r;

    MPI_Psend_init(out, PARTS, EACH, MPI_INT, to, 2, c, MPI_INFO_NULL, &s);
    MPI_Precv_init(in, PARTS, EACH, MPI_INT, from, 2, c, MPI_INFO_NULL, &r);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PARTS * EACH; i++) {
            out[i] = me * 100 + i + round;
            in[i] = -1;
        }
        MPI_Start(&r);
        MPI_Start(&s);
        for (int i = PARTS; i-- > 0;)
            MPI_Pready(i, s);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int i = 0; i < PARTS * EACH; i++)
            CHECK(in[i] == from * 100 + i + round);
    }
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

/* A channel that was freed is there for the next communicator: neither numbers
 * nor descriptors run out. */
static void check_again(void)
{
    int before = 0;

    for (int i = 0; i < AGAIN; i++) {
        MPI_Comm c = make_channel(MPI_COMM_WORLD);
        CHECK(is_channel(c));
        check_talks(c);
        MPI_Comm_free(&c);
        if (i == 1)
            before = job_descriptors();
    }
    if (!getenv("WEFT_PROCESS_RANKS")) /* others open theirs meanwhile */
        CHECK(job_descriptors() == before);
}

/* There is a limit, beyond which communicators go without. */
static void check_many(void)
{
    enum { COMMS = 8 };
    MPI_Comm c[COMMS];
    int channels = 0, x;
    MPI_Status status;

    for (int i = 0; i < COMMS; i++) {
        c[i] = make_channel(MPI_COMM_WORLD);
        channels += is_channel(c[i]);
    }
    CHECK(channels == 6);
    for (int i = 0; i < COMMS; i++) {
        x = -1;
        MPI_Sendrecv(&i, 1, MPI_INT, to, 0, &x, 1, MPI_INT, from, 0, c[i],
                     &status);
        CHECK(x == i);
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&c[i]);
}

/* A request keeps the channel of a communicator that was freed. */
static void check_held(void)
{
    MPI_Comm c = make_channel(MPI_COMM_WORLD), d;
    int x = -1, y = me;
    MPI_Request r, s;

    MPI_Irecv(&x, 1, MPI_INT, from, 0, c, &r);
    MPI_Send_init(&y, 1, MPI_INT, to, 0, c, &s);
    MPI_Comm_free(&c);
    d = make_channel(MPI_COMM_WORLD);
    CHECK(is_channel(d));
    check_talks(d);
    MPI_Start(&s);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(x == from);
    MPI_Request_free(&s);
    MPI_Comm_free(&d);
}

int main(int argc, char **argv)
{
    MPI_Comm c;

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    c = make_channel(MPI_COMM_WORLD);
    CHECK(is_channel(c));
    check_tags(c);
    check_wildcards(c);
    check_cancel_and_free(c);
    check_both(c);
    check_beyond(c);
    check_partitions(c);
    check_talks(c);
    MPI_Comm_free(&c);
    check_again();
    check_many();
    check_held();
    return job_end();
}

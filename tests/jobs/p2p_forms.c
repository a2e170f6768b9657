/* Each way to send with each way to receive, in the int form of one with the
 * large form of the other, carries a type with holes intact.
 *
 * The ranks form a ring. Blocking sends meet receives that are posted before;
 * so do ready sends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MOST = 30000, BUFFER = 4 << 20 };

static const int lengths[] = {0, 3, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static int me, to, from;
static MPI_Datatype two; /* ints, with one between them */

typedef int call(int *buf, int n, int peer, int tag, MPI_Request *);

#define WHERE buf, n, two, peer, tag, MPI_COMM_WORLD
#define BLOCKING(Name)                                                         \
    static int Name(int *buf, int n, int peer, int tag, MPI_Request *r)        \
    {                                                                          \
        return MPI_##Name(WHERE);                                              \
    }
#define NONBLOCKING(name)                                                      \
    static int name(int *buf, int n, int peer, int tag, MPI_Request *r)        \
    {                                                                          \
        return MPI_##name(WHERE, r);                                           \
    }
#define PERSISTENT(Name)                                                       \
    static int Name(int *buf, int n, int peer, int tag, MPI_Request *r)        \
    {                                                                          \
        return MPI_##Name(WHERE, r) || MPI_Start(r);                           \
    }
#define BOTH(KIND, name) KIND(name) KIND(name##_c)

BOTH(BLOCKING, Send)
BOTH(BLOCKING, Ssend)
BOTH(BLOCKING, Rsend)
BOTH(BLOCKING, Bsend)
BOTH(NONBLOCKING, Isend)
BOTH(NONBLOCKING, Issend)
BOTH(NONBLOCKING, Irsend)
BOTH(NONBLOCKING, Ibsend)
BOTH(PERSISTENT, Send_init)
BOTH(PERSISTENT, Ssend_init)
BOTH(PERSISTENT, Rsend_init)
BOTH(PERSISTENT, Bsend_init)
BOTH(NONBLOCKING, Irecv)
BOTH(PERSISTENT, Recv_init)

#define RECEIVE(Name)                                                          \
    static int Name(int *buf, int n, int peer, int tag, MPI_Request *r)        \
    {                                                                          \
        MPI_Status s;                                                          \
        int rc = MPI_##Name(WHERE, &s);                                        \
        CHECK(s.MPI_SOURCE == peer && s.MPI_TAG == tag);                       \
        return rc;                                                             \
    }
BOTH(RECEIVE, Recv)

#define MATCHED(Mrecv, ...)                                                    \
    static int Mrecv(int *buf, int n, int peer, int tag, MPI_Request *r)       \
    {                                                                          \
        MPI_Message m;                                                         \
        int rc = MPI_Mprobe(peer, tag, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE); \
        return rc || MPI_##Mrecv(buf, n, two, &m, __VA_ARGS__);                \
    }
MATCHED(Mrecv, MPI_STATUS_IGNORE)
MATCHED(Mrecv_c, MPI_STATUS_IGNORE)
MATCHED(Imrecv, r)
MATCHED(Imrecv_c, r)

struct way {
    const char *name;
    call *of[2]; /* int, large */
    int early;   /* to send: the receive has to be posted; to receive: it is */
};
#define WAY(name, early) {#name, {name, name##_c}, early}

static const struct way sends[] = {
    WAY(Send, 1),       WAY(Ssend, 1),      WAY(Rsend, 1),
    WAY(Bsend, 0),      WAY(Isend, 0),      WAY(Issend, 0),
    WAY(Irsend, 1),     WAY(Ibsend, 0),     WAY(Send_init, 0),
    WAY(Ssend_init, 0), WAY(Rsend_init, 1), WAY(Bsend_init, 0),
};
static const struct way receives[] = {
    WAY(Irecv, 1), WAY(Recv_init, 1), WAY(Recv, 0), WAY(Mrecv, 0),
    WAY(Imrecv, 0),
};
enum {
    SENDS = sizeof sends / sizeof *sends,
    RECEIVES = sizeof receives / sizeof *receives
};

/* ---- data ---------------------------------------------------------------- */

static int out[3 * MOST + 1], in[3 * MOST + 1];

static int value_of(int rank, int tag, int i)
{
    return rank * 1000003 + tag * 7919 + i;
}

static void fill_buffer(int tag)
{
    for (int i = 0; i <= 3 * MOST; i++) {
        out[i] = value_of(me, tag, i);
        in[i] = -1;
    }
}

/* The first `n` elements have come, the holes and the rest are as they were. */
static int has_arrived(const int *buf, int n, int tag)
{
    for (int i = 0; i <= 3 * MOST; i++)
        if (buf[i] !=
            (i < 3 * n && i % 3 != 1 ? value_of(from, tag, i)
             : buf == in             ? -1
                                     : value_of(me, tag, i)))
            return 0;
    return 1;
}

static void finish_case(MPI_Request *r)
{
    CHECK(MPI_Wait(r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (*r != MPI_REQUEST_NULL)
        MPI_Request_free(r);
}

/* ---- one message --------------------------------------------------------- */

static void pass_time(const struct way *s, const struct way *r, int large,
                      int n, int tag)
{
    MPI_Request sent = MPI_REQUEST_NULL, got = MPI_REQUEST_NULL;

    fill_buffer(tag);
    if (r->early) {
        CHECK(r->of[!large](in, n, from, tag, &got) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(s->of[large](out, n, to, tag, &sent) == MPI_SUCCESS);
    if (!r->early)
        CHECK(r->of[!large](in, n, from, tag, &got) == MPI_SUCCESS);
    finish_case(&got);
    finish_case(&sent);
    if (!has_arrived(in, n, tag)) {
        fprintf(stderr, "%s%s to %s%s, %d elements:\n", s->name,
                large ? "_c" : "", r->name, large ? "" : "_c", n);
        CHECK(!"the data arrived");
    }
}

static void every_way(void)
{
    int tag = 0;

    for (int s = 0; s < SENDS; s++)
        for (int r = 0; r < RECEIVES; r++)
            for (int large = 0; large < 2; large++)
                for (int i = 0; i < LENGTHS; i++)
                    if (receives[r].early || !sends[s].early)
                        pass_time(&sends[s], &receives[r], large, lengths[i],
                             ++tag);
}

/* ---- both at once -------------------------------------------------------- */

#define OUT out, n, two, to, tag
#define IN in, n, two, from, tag, MPI_COMM_WORLD
#define REPLACE out, n, two, to, tag, from, tag, MPI_COMM_WORLD

static int exchange_messages(int which, int n, int tag, MPI_Request *r)
{
    switch (which) {
    case 0: return MPI_Sendrecv(OUT, IN, MPI_STATUS_IGNORE);
    case 1: return MPI_Sendrecv_c(OUT, IN, MPI_STATUS_IGNORE);
    case 2: return MPI_Isendrecv(OUT, IN, r);
    case 3: return MPI_Isendrecv_c(OUT, IN, r);
    case 4: return MPI_Sendrecv_replace(REPLACE, MPI_STATUS_IGNORE);
    case 5: return MPI_Sendrecv_replace_c(REPLACE, MPI_STATUS_IGNORE);
    case 6: return MPI_Isendrecv_replace(REPLACE, r);
    default: return MPI_Isendrecv_replace_c(REPLACE, r);
    }
}

static void check_exchanges(void)
{
    for (int which = 0; which < 8; which++)
        for (int i = 0; i < LENGTHS; i++) {
            MPI_Request r = MPI_REQUEST_NULL;
            fill_buffer(which);
            CHECK(exchange_messages(which, lengths[i], which, &r) ==
                  MPI_SUCCESS);
            finish_case(&r);
            CHECK(has_arrived(which < 4 ? in : out, lengths[i], which));
        }
}

/* ---- in parts ------------------------------------------------------------ */

static int parts_init(int large, int parts, int n, MPI_Request r[2])
{
    const int tag = 9;

    if (large)
        return MPI_Psend_init_c(out, parts, n, two, to, tag, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &r[0]) ||
               MPI_Precv_init(in, parts, n, two, from, tag, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &r[1]);
    return MPI_Psend_init(out, parts, n, two, to, tag, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &r[0]) ||
           MPI_Precv_init_c(in, parts, n, two, from, tag, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r[1]);
}

static void check_parts(void)
{
    enum { PARTS = 5 };

    for (int large = 0; large < 2; large++)
        for (int n = 1; n <= MOST / PARTS; n *= 17) {
            MPI_Request r[2];
            fill_buffer(n);
            CHECK(parts_init(large, PARTS, n, r) == MPI_SUCCESS);
            MPI_Startall(2, r);
            for (int i = 0; i < PARTS; i++)
                CHECK(MPI_Pready((3 * i + 1) % PARTS, r[0]) == MPI_SUCCESS);
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            CHECK(has_arrived(in, PARTS * n, n));
            MPI_Request_free(&r[0]);
            MPI_Request_free(&r[1]);
        }
}

/* ---- buffers ------------------------------------------------------------- */

/* A buffer that one form attached can be detached by the other form. */
static void check_buffers(void *memory)
{
    MPI_Session session;
    MPI_Count large = -1;
    void *back = NULL;
    int size = -1;

    CHECK(MPI_Buffer_detach_c(&back, &large) == MPI_SUCCESS);
    CHECK(back == memory && large == BUFFER);
    CHECK(MPI_Comm_attach_buffer_c(MPI_COMM_WORLD, memory, BUFFER) ==
          MPI_SUCCESS);
    CHECK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &back, &size) == MPI_SUCCESS);
    CHECK(back == memory && size == BUFFER);
    CHECK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory, 1000) == MPI_SUCCESS);
    CHECK(MPI_Comm_detach_buffer_c(MPI_COMM_WORLD, &back, &large) ==
          MPI_SUCCESS);
    CHECK(back == memory && large == 1000);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    CHECK(MPI_Session_attach_buffer_c(session, memory, BUFFER) == MPI_SUCCESS);
    CHECK(MPI_Session_detach_buffer_c(session, &back, &large) == MPI_SUCCESS);
    CHECK(back == memory && large == BUFFER);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    void *memory = malloc(BUFFER);

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    to = (me + 1) % size_of(MPI_COMM_WORLD);
    from = (me + size_of(MPI_COMM_WORLD) - 1) % size_of(MPI_COMM_WORLD);
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_commit(&two);
    CHECK(MPI_Buffer_attach_c(memory, BUFFER) == MPI_SUCCESS);
    every_way();
    check_exchanges();
    check_parts();
    check_buffers(memory);
    MPI_Type_free(&two);
    free(memory);
    return job_end();
}

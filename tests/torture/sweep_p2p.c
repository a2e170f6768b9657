/* The phases of sweep_job that are messages between two ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sweep_job.h"

enum { LARGE = 300000, MANY = 40 };

static const MPI_Comm *point_to_world(void)
{
    static const MPI_Comm w = MPI_COMM_WORLD;
    return &w;
}

#define WORLD (*point_to_world())
#define PEER (1 - sweep_rank)

/* One message there and one back, by blocking calls. */
static void exchange_messages(int n, int tag)
{
    char *buf = sweep_memory(n);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == sweep_rank) {
            sweep_fill(buf, n, sweep_rank, tag);
            RETRY(MPI_Send(buf, n, MPI_CHAR, PEER, tag, WORLD));
        } else {
            RETRY(MPI_Recv(buf, n, MPI_CHAR, PEER, tag, WORLD,
                           MPI_STATUS_IGNORE));
            sweep_check(buf, n, PEER, tag);
        }
    }
    free(buf);
}

static void exchange_first(void)
{
    exchange_messages(8, 1);
    exchange_messages(LARGE, 2);
}

static void check_eager(void)
{
    static const int sizes[] = {0, 1, 8, 60, 300, 2000, 9000};
    for (int i = 0; i < 7; i++)
        exchange_messages(sizes[i], i);
}

static void check_rendezvous(void)
{
    exchange_messages(LARGE, 1);
    exchange_messages(4 * LARGE, 2);
}

/* Received in the opposite order: all but the last is unexpected. */
static void check_unexpected(void)
{
    static const int sizes[] = {0, 8, 100, 1500, 9000, LARGE};
    MPI_Request r[6];
    char *buf[6];
    for (int i = 0; i < 6; i++) {
        buf[i] = sweep_memory(sizes[i] + 1);
        sweep_fill(buf[i], sizes[i], sweep_rank, i);
        RETRY(MPI_Isend(buf[i], sizes[i], MPI_CHAR, PEER, i, WORLD, &r[i]));
    }
    char *in = sweep_memory(LARGE);
    for (int i = 5; i >= 0; i--) {
        RETRY(MPI_Recv(in, LARGE, MPI_CHAR, PEER, i, WORLD, MPI_STATUS_IGNORE));
        sweep_check(in, sizes[i], PEER, i);
    }
    ONCE(MPI_Waitall(6, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 6; i++)
        free(buf[i]);
    free(in);
}

static void check_nonblocking(void)
{
    static const int sizes[] = {8, 700, 9000, 70000};
    MPI_Request r[2 * MANY];
    char *out = sweep_memory(MANY * 70000), *in = sweep_memory(MANY * 70000);
    for (int i = 0; i < MANY; i++)
        RETRY(MPI_Irecv(in + i * 70000, sizes[i % 4], MPI_CHAR, PEER, i, WORLD,
                        &r[i]));
    for (int i = 0; i < MANY; i++) {
        sweep_fill(out + i * 70000, sizes[i % 4], sweep_rank, i);
        RETRY(MPI_Isend(out + i * 70000, sizes[i % 4], MPI_CHAR, PEER, i, WORLD,
                        &r[MANY + i]));
    }
    ONCE(MPI_Waitall(2 * MANY, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
        sweep_check(in + i * 70000, sizes[i % 4], PEER, i);
    free(out);
    free(in);
}

static void check_persistent(void)
{
    MPI_Request r[4];
    char *out = sweep_memory(9000), *in = sweep_memory(9000);
    RETRY(MPI_Recv_init(in, 9000, MPI_CHAR, PEER, 1, WORLD, &r[0]));
    RETRY(MPI_Send_init(out, 9000, MPI_CHAR, PEER, 1, WORLD, &r[1]));
    for (int i = 0; i < 3; i++) {
        sweep_fill(out, 9000, sweep_rank, i);
        RETRY(MPI_Start(&r[0]));
        RETRY(MPI_Start(&r[1]));
        ONCE(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        sweep_check(in, 9000, PEER, i);
    }
    RETRY(MPI_Request_free(&r[0]));
    RETRY(MPI_Request_free(&r[1]));
    free(out);
    free(in);
}

static void check_partitioned(void)
{
    MPI_Request r[2];
    char *out = sweep_memory(8000), *in = sweep_memory(8000);
    RETRY(MPI_Psend_init(out, 8, 1000, MPI_CHAR, PEER, 1, WORLD, MPI_INFO_NULL,
                         &r[0]));
    RETRY(MPI_Precv_init(in, 4, 2000, MPI_CHAR, PEER, 1, WORLD, MPI_INFO_NULL,
                         &r[1]));
    for (int round = 0; round < 2; round++) {
        sweep_fill(out, 8000, sweep_rank, round);
        RETRY(MPI_Start(&r[0]));
        RETRY(MPI_Start(&r[1]));
        for (int i = 7; i >= 0; i--)
            RETRY(MPI_Pready(i, r[0]));
        ONCE(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        sweep_check(in, 8000, PEER, round);
    }
    RETRY(MPI_Request_free(&r[0]));
    RETRY(MPI_Request_free(&r[1]));
    free(out);
    free(in);
}

static void probe_message(void)
{
    char *out = sweep_memory(LARGE), *in = sweep_memory(LARGE);
    static const int sizes[] = {8, 9000, LARGE};
    for (int i = 0; i < 3; i++) {
        MPI_Request r;
        MPI_Message m;
        MPI_Status s;
        int n = 0;
        sweep_fill(out, sizes[i], sweep_rank, i);
        RETRY(MPI_Isend(out, sizes[i], MPI_CHAR, PEER, i, WORLD, &r));
        RETRY(MPI_Probe(MPI_ANY_SOURCE, i, WORLD, &s));
        RETRY(MPI_Mprobe(PEER, i, WORLD, &m, &s));
        MPI_Get_count(&s, MPI_CHAR, &n);
        RIGHT(n == sizes[i]);
        ONCE(MPI_Mrecv(in, n, MPI_CHAR, &m, MPI_STATUS_IGNORE));
        sweep_check(in, n, PEER, i);
        ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
    free(out);
    free(in);
}

/* Receives that nothing matches, and sends that nobody has received. */
static void cancel_request(void)
{
    char *out = sweep_memory(9000), *in = sweep_memory(9000);
    static const int sizes[] = {8, 9000};
    for (int i = 0; i < 2; i++) {
        MPI_Request r;
        MPI_Status s;
        int gone = 0;
        RETRY(MPI_Irecv(in, sizes[i], MPI_CHAR, PEER, 70 + i, WORLD, &r));
        RETRY(MPI_Cancel(&r));
        ONCE(MPI_Wait(&r, &s));
        RETRY(MPI_Test_cancelled(&s, &gone));
        RIGHT(gone);
        RETRY(MPI_Issend(out, sizes[i], MPI_CHAR, PEER, 80 + i, WORLD, &r));
        RETRY(MPI_Cancel(&r));
        ONCE(MPI_Wait(&r, &s));
        RETRY(MPI_Test_cancelled(&s, &gone));
        RIGHT(gone);
    }
    free(out);
    free(in);
    exchange_messages(9000, 9);
}

/* The ways to ask what is done. */
static void check_completion(void)
{
    enum { N = 6 };
    MPI_Request r[2 * N];
    char *out = sweep_memory(N * 9000), *in = sweep_memory(N * 9000);
    int done[2 * N], n, which, all = 0;
    for (int i = 0; i < N; i++)
        RETRY(MPI_Irecv(in + i * 9000, 9000, MPI_CHAR, MPI_ANY_SOURCE, i, WORLD,
                        &r[i]));
    for (int i = 0; i < N; i++) {
        sweep_fill(out + i * 9000, 9000, sweep_rank, i);
        RETRY(MPI_Isend(out + i * 9000, 9000, MPI_CHAR, PEER, i, WORLD,
                        &r[N + i]));
    }
    ONCE(MPI_Waitany(2 * N, r, &which, MPI_STATUS_IGNORE));
    ONCE(MPI_Waitsome(2 * N, r, &n, done, MPI_STATUSES_IGNORE));
    ONCE(MPI_Testany(2 * N, r, &which, &all, MPI_STATUS_IGNORE));
    ONCE(MPI_Testsome(2 * N, r, &n, done, MPI_STATUSES_IGNORE));
    for (all = 0; !all;)
        ONCE(MPI_Testall(2 * N, r, &all, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++)
        sweep_check(in + i * 9000, 9000, PEER, i);
    free(out);
    free(in);
}

static void check_modes(void)
{
    int room = 20000 + MPI_BSEND_OVERHEAD;
    char *out = sweep_memory(9000), *in = sweep_memory(9000);
    char *attached = sweep_memory(room);
    MPI_Request r;
    RETRY(MPI_Buffer_attach(attached, room));
    sweep_fill(out, 9000, sweep_rank, 1);
    RETRY(MPI_Bsend(out, 9000, MPI_CHAR, PEER, 1, WORLD));
    RETRY(MPI_Recv(in, 9000, MPI_CHAR, PEER, 1, WORLD, MPI_STATUS_IGNORE));
    sweep_check(in, 9000, PEER, 1);
    sweep_fill(out, 9000, sweep_rank, 2);
    RETRY(MPI_Issend(out, 9000, MPI_CHAR, PEER, 2, WORLD, &r));
    RETRY(MPI_Recv(in, 9000, MPI_CHAR, PEER, 2, WORLD, MPI_STATUS_IGNORE));
    sweep_check(in, 9000, PEER, 2);
    ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
    sweep_fill(out, 9000, sweep_rank, 3);
    ONCE(MPI_Sendrecv(out, 9000, MPI_CHAR, PEER, 3, in, 9000, MPI_CHAR, PEER, 3,
                      WORLD, MPI_STATUS_IGNORE));
    sweep_check(in, 9000, PEER, 3);
    ONCE(MPI_Sendrecv_replace(out, 9000, MPI_CHAR, PEER, 4, PEER, 4, WORLD,
                              MPI_STATUS_IGNORE));
    sweep_check(out, 9000, PEER, 3);
    RETRY(MPI_Buffer_detach(&attached, &room));
    free(out);
    free(in);
    free(attached);
}

/* n ints, every other one, as derived types of several kinds. */
static void transfer_data(MPI_Datatype t, int n, int tag)
{
    int *out = (int *)sweep_memory(n * 8), *in = (int *)sweep_memory(n * 8);
    MPI_Request r;
    for (int i = 0; i < n; i++)
        out[2 * i] = i + 1000 * sweep_rank;
    RETRY(MPI_Irecv(in, 1, t, PEER, tag, WORLD, &r));
    RETRY(MPI_Send(out, 1, t, PEER, tag, WORLD));
    ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        RIGHT(in[2 * i] == i + 1000 * PEER && in[2 * i + 1] == 0);
    free(out);
    free(in);
}

static void pack_data(MPI_Datatype t, int n)
{
    int *from = (int *)sweep_memory(n * 8), *to = (int *)sweep_memory(n * 8);
    int room = 0, at = 0, used;
    for (int i = 0; i < n; i++)
        from[2 * i] = i;
    RETRY(MPI_Pack_size(1, t, WORLD, &room));
    char *packed = sweep_memory(room);
    RETRY(MPI_Pack(from, 1, t, packed, room, &at, WORLD));
    used = at, at = 0;
    RETRY(MPI_Unpack(packed, used, &at, to, 1, t, WORLD));
    for (int i = 0; i < n; i++)
        RIGHT(to[2 * i] == i);
    free(from);
    free(to);
    free(packed);
}

static void check_datatypes(void)
{
    int lengths[] = {1, 1}, sizes[] = {2000}, part[] = {1}, start[] = {0};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype v, s, d, a, kinds[] = {MPI_INT, MPI_INT}, big;
    RETRY(MPI_Type_vector(1000, 1, 2, MPI_INT, &v));
    RETRY(MPI_Type_commit(&v));
    transfer_data(v, 1000, 1);
    pack_data(v, 1000);
    RETRY(MPI_Type_dup(v, &d));
    RETRY(MPI_Type_create_struct(2, lengths, places, kinds, &s));
    RETRY(MPI_Type_commit(&s));
    transfer_data(s, 2, 2);
    RETRY(MPI_Type_create_subarray(1, sizes, part, start, MPI_ORDER_C, MPI_INT,
                                   &a));
    RETRY(MPI_Type_commit(&a));
    transfer_data(a, 1, 3);
    RETRY(MPI_Type_vector(50000, 1, 2, MPI_INT, &big));
    RETRY(MPI_Type_commit(&big));
    transfer_data(big, 50000, 4);
    RETRY(MPI_Type_free(&v));
    RETRY(MPI_Type_free(&s));
    RETRY(MPI_Type_free(&d));
    RETRY(MPI_Type_free(&a));
    RETRY(MPI_Type_free(&big));
}

const struct sweep_phase sweep_p2p[] = {{"first", exchange_first, 1},
                                        {"eager", check_eager, 0},
                                        {"rendezvous", check_rendezvous, 0},
                                        {"unexpected", check_unexpected, 0},
                                        {"nonblocking", check_nonblocking, 0},
                                        {"persistent", check_persistent, 0},
                                        {"partitioned", check_partitioned, 0},
                                        {"probe", probe_message, 0},
                                        {"cancel", cancel_request, 0},
                                        {"completion", check_completion, 0},
                                        {"modes", check_modes, 0},
                                        {"datatypes", check_datatypes, 0},
                                        {NULL, NULL, 0}};

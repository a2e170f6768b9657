/* Every send mode carries every size and layout intact.
 *
 * The ranks stand in a ring; each sends to the right, also when it is alone
 * and sends to itself. Sizes stand on both sides of every limit.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

/* The thread sanitizer looks at each byte of the patterns. */
#ifdef __SANITIZE_THREAD__
enum { LONGEST = 2 << 20 };
#else
enum { LONGEST = 8 << 20 };
#endif
static const int sizes[] = {0,     1,     40,        41,      1 << 10,
                            4096,  32768, 65536 + 1, 1 << 20, LONGEST};
enum { SIZES = sizeof sizes / sizeof *sizes, STRIDE = 3, BLOCK = 2,
       STRIDED_MAX = 1 << 20 };

enum mode { STANDARD, SYNCHRONOUS, READY, BUFFERED, MODES };

static unsigned char byte_of(int from, int tag, size_t i)
{
    return (unsigned char)(i * 7 + i / 251 + (size_t)from * 31 +
                           (size_t)tag * 13 + 1);
}

static int start_case(enum mode mode, const void *buf, int n, MPI_Datatype type,
                 int to, int tag, MPI_Request *r)
{
    switch (mode) {
    case SYNCHRONOUS:
        return MPI_Issend(buf, n, type, to, tag, MPI_COMM_WORLD, r);
    case READY:
        return MPI_Irsend(buf, n, type, to, tag, MPI_COMM_WORLD, r);
    case BUFFERED:
        return MPI_Ibsend(buf, n, type, to, tag, MPI_COMM_WORLD, r);
    default:
        return MPI_Isend(buf, n, type, to, tag, MPI_COMM_WORLD, r);
    }
}

static int send_message(enum mode mode, const void *buf, int n,
                        MPI_Datatype type, int to, int tag)
{
    switch (mode) {
    case SYNCHRONOUS:
        return MPI_Ssend(buf, n, type, to, tag, MPI_COMM_WORLD);
    case READY:
        return MPI_Rsend(buf, n, type, to, tag, MPI_COMM_WORLD);
    case BUFFERED:
        return MPI_Bsend(buf, n, type, to, tag, MPI_COMM_WORLD);
    default:
        return MPI_Send(buf, n, type, to, tag, MPI_COMM_WORLD);
    }
}

static void check_status(MPI_Status *s, int from, int tag, int n)
{
    int got = -1;
    CHECK(s->MPI_SOURCE == from);
    CHECK(s->MPI_TAG == tag);
    CHECK(MPI_Get_count(s, MPI_BYTE, &got) == MPI_SUCCESS);
    CHECK(got == n);
}

/* The receive stands before the send starts: ready mode asks for that. */
static void exchange_messages(enum mode mode, int n, int nonblocking)
{
    int me = rank_in(MPI_COMM_WORLD), all = size_of(MPI_COMM_WORLD);
    int to = (me + 1) % all, from = (me + all - 1) % all, tag = n % 1000 + mode;
    unsigned char *out = malloc((size_t)n + 1), *in = calloc(1, (size_t)n + 1);
    MPI_Request rs[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status st[2];
    size_t bad = 0;

    for (int i = 0; i < n; i++)
        out[i] = byte_of(me, tag, (size_t)i);
    in[n] = 0xa5;
    CHECK(MPI_Irecv(in, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &rs[0]) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (nonblocking)
        CHECK(start_case(mode, out, n, MPI_BYTE, to, tag, &rs[1]) ==
              MPI_SUCCESS);
    else
        CHECK(send_message(mode, out, n, MPI_BYTE, to, tag) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, rs, st) == MPI_SUCCESS);
    check_status(&st[0], from, tag, n);
    for (int i = 0; i < n; i++)
        bad += in[i] != byte_of(from, tag, (size_t)i);
    CHECK(bad == 0);
    CHECK(in[n] == 0xa5);
    free(out);
    free(in);
}

/* n bytes as blocks of two ints out of every three, to a plain receive; and
 * back the other way. */
static void check_strided(enum mode mode, int n, int unexpected)
{
    int me = rank_in(MPI_COMM_WORLD), all = size_of(MPI_COMM_WORLD);
    int to = (me + 1) % all, from = (me + all - 1) % all;
    int blocks = n / (int)sizeof(int) / BLOCK, ints = blocks * BLOCK, bad = 0;
    int *sparse = malloc(((size_t)blocks * STRIDE + 1) * sizeof(int));
    int *dense = calloc((size_t)ints + 1, sizeof(int));
    int *wide = malloc(((size_t)blocks * STRIDE + 1) * sizeof(int));
    MPI_Datatype vector;
    MPI_Request rs[4];
    MPI_Status st[4];

    MPI_Type_vector(blocks, BLOCK, STRIDE, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    for (int i = 0; i < blocks * STRIDE; i++) {
        sparse[i] = me * 1000000 + i;
        wide[i] = -1;
    }
    if (unexpected) {
        CHECK(start_case(mode, sparse, 1, vector, to, 1, &rs[0]) ==
              MPI_SUCCESS);
        CHECK(start_case(mode, sparse, 1, vector, to, 2, &rs[1]) ==
              MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Irecv(dense, ints, MPI_INT, from, 1, MPI_COMM_WORLD, &rs[2]);
    MPI_Irecv(wide, 1, vector, from, 2, MPI_COMM_WORLD, &rs[3]);
    if (!unexpected) {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(start_case(mode, sparse, 1, vector, to, 1, &rs[0]) ==
              MPI_SUCCESS);
        CHECK(start_case(mode, sparse, 1, vector, to, 2, &rs[1]) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(4, rs, st) == MPI_SUCCESS);
    for (int i = 0; i < ints; i++)
        bad += dense[i] !=
               from * 1000000 + i / BLOCK * STRIDE + i % BLOCK;
    CHECK(bad == 0);
    for (int i = 0; i < blocks * STRIDE - 1; i++)
        bad += wide[i] != (i % STRIDE < BLOCK ? from * 1000000 + i : -1);
    CHECK(bad == 0);
    MPI_Type_free(&vector);
    free(sparse);
    free(dense);
    free(wide);
}

/* The receive comes after the message: nothing is lost in between. */
static void check_late(enum mode mode, int n)
{
    int me = rank_in(MPI_COMM_WORLD), all = size_of(MPI_COMM_WORLD);
    int to = (me + 1) % all, from = (me + all - 1) % all, bad = 0;
    unsigned char *out = malloc((size_t)n + 1), *in = calloc(1, (size_t)n + 1);
    MPI_Request r;
    MPI_Status st;

    for (int i = 0; i < n; i++)
        out[i] = byte_of(me, 3, (size_t)i);
    CHECK(start_case(mode, out, n, MPI_BYTE, to, 3, &r) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Recv(in, n, MPI_BYTE, from, 3, MPI_COMM_WORLD, &st) == 0);
    check_status(&st, from, 3, n);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n; i++)
        bad += in[i] != byte_of(from, 3, (size_t)i);
    CHECK(bad == 0);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    int room = 3 * (sizes[SIZES - 1] + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room);

    job_begin(&argc, &argv);
    MPI_Buffer_attach(buffer, room);
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < SIZES; i++) {
            exchange_messages(mode, sizes[i], 1);
            /* a blocking synchronous or rendezvous send is safe here: the
             * receive of the other stands already */
            exchange_messages(mode, sizes[i], 0);
            if (sizes[i] <= STRIDED_MAX)
                check_strided(mode, sizes[i], 0);
            if (mode == READY)
                continue;
            check_late(mode, sizes[i]);
            if (sizes[i] <= STRIDED_MAX)
                check_strided(mode, sizes[i], 1);
        }
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    return job_end();
}

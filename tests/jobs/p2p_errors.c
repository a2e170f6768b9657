/* Every wrong argument of point-to-point gives its error class, through the
 * communicator's handler, and leaves the library usable.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>

#include "check.h"

static int v[4], flag, n;
static MPI_Request r, rs[2];
static MPI_Message m;
static MPI_Status st, sts[2];
static MPI_Datatype uncommitted;

#define WANT(class, call)                                                      \
    do {                                                                       \
        int got_ = class_of(call);                                             \
        if (got_ != class) {                                                   \
            char a_[MPI_MAX_ERROR_STRING], b_[MPI_MAX_ERROR_STRING];           \
            MPI_Error_string(got_, a_, &n);                                    \
            MPI_Error_string(class, b_, &n);                                   \
            fprintf(stderr, "%s:%d: %s: got %s, not %s\n", __FILE__, __LINE__, \
                    #call, a_, b_);                                            \
            job_failures++;                                                    \
        }                                                                      \
    } while (0)

#define W MPI_COMM_WORLD
#define I MPI_INT

/* One sending function with every argument wrong in turn; the last argument
 * of nonblocking functions is given by `end`. */
#define SENDER(f, ...)                                                         \
    do {                                                                       \
        WANT(MPI_ERR_COUNT, f(v, -1, I, 0, 1, W __VA_ARGS__));                 \
        WANT(MPI_ERR_COUNT, f(v, INT_MIN, I, 0, 1, W __VA_ARGS__));            \
        WANT(MPI_ERR_TYPE, f(v, 1, MPI_DATATYPE_NULL, 0, 1, W __VA_ARGS__));   \
        WANT(MPI_ERR_TYPE, f(v, 1, uncommitted, 0, 1, W __VA_ARGS__));         \
        WANT(MPI_ERR_RANK, f(v, 1, I, size, 1, W __VA_ARGS__));                \
        WANT(MPI_ERR_RANK, f(v, 1, I, -77, 1, W __VA_ARGS__));                 \
        WANT(MPI_ERR_RANK, f(v, 1, I, MPI_ANY_SOURCE, 1, W __VA_ARGS__));      \
        WANT(MPI_ERR_TAG, f(v, 1, I, 0, -1, W __VA_ARGS__));                   \
        WANT(MPI_ERR_TAG, f(v, 1, I, 0, MPI_ANY_TAG, W __VA_ARGS__));          \
        WANT(MPI_ERR_COMM, f(v, 1, I, 0, 1, MPI_COMM_NULL __VA_ARGS__));       \
        WANT(MPI_ERR_BUFFER, f(NULL, 1, I, 0, 1, W __VA_ARGS__));              \
    } while (0)

#define RECEIVER(f, last)                                                      \
    do {                                                                       \
        WANT(MPI_ERR_COUNT, f(v, -1, I, 0, 1, W, last));                       \
        WANT(MPI_ERR_TYPE, f(v, 1, MPI_DATATYPE_NULL, 0, 1, W, last));         \
        WANT(MPI_ERR_TYPE, f(v, 1, uncommitted, 0, 1, W, last));               \
        WANT(MPI_ERR_RANK, f(v, 1, I, size, 1, W, last));                      \
        WANT(MPI_ERR_RANK, f(v, 1, I, -77, 1, W, last));                       \
        WANT(MPI_ERR_TAG, f(v, 1, I, 0, -9, W, last));                         \
        WANT(MPI_ERR_COMM, f(v, 1, I, 0, 1, MPI_COMM_NULL, last));             \
        WANT(MPI_ERR_BUFFER, f(NULL, 1, I, 0, 1, W, last));                    \
    } while (0)

#define COMMA_R , &r

static void run_senders(int size)
{
    SENDER(MPI_Send);
    SENDER(MPI_Ssend);
    SENDER(MPI_Rsend);
    SENDER(MPI_Bsend);
    SENDER(MPI_Isend, COMMA_R);
    SENDER(MPI_Issend, COMMA_R);
    SENDER(MPI_Irsend, COMMA_R);
    SENDER(MPI_Ibsend, COMMA_R);
    SENDER(MPI_Send_init, COMMA_R);
    SENDER(MPI_Ssend_init, COMMA_R);
    SENDER(MPI_Rsend_init, COMMA_R);
    SENDER(MPI_Bsend_init, COMMA_R);
    SENDER(MPI_Send_c);
    SENDER(MPI_Isend_c, COMMA_R);
    WANT(MPI_ERR_ARG, MPI_Isend(v, 1, I, 0, 1, W, NULL));
}

static void run_receivers(int size)
{
    RECEIVER(MPI_Recv, &st);
    RECEIVER(MPI_Irecv, &r);
    RECEIVER(MPI_Recv_init, &r);
    RECEIVER(MPI_Recv_c, &st);
}

static void check_probes(int size)
{
    WANT(MPI_ERR_RANK, MPI_Probe(size, 1, W, &st));
    WANT(MPI_ERR_TAG, MPI_Probe(0, -9, W, &st));
    WANT(MPI_ERR_COMM, MPI_Probe(0, 1, MPI_COMM_NULL, &st));
    WANT(MPI_ERR_RANK, MPI_Iprobe(-9, 1, W, &flag, &st));
    WANT(MPI_ERR_ARG, MPI_Iprobe(0, 1, W, NULL, &st));
    WANT(MPI_ERR_RANK, MPI_Mprobe(size, 1, W, &m, &st));
    WANT(MPI_ERR_TAG, MPI_Improbe(0, -9, W, &flag, &m, &st));
    WANT(MPI_ERR_ARG, MPI_Mprobe(0, 1, W, NULL, &st));
    m = MPI_MESSAGE_NULL;
    WANT(MPI_ERR_REQUEST, MPI_Mrecv(v, 1, I, &m, &st));
    WANT(MPI_ERR_REQUEST, MPI_Imrecv(v, 1, I, &m, &r));
}

static void check_pairs(int size)
{
    WANT(MPI_ERR_RANK, MPI_Sendrecv(v, 1, I, size, 1, v + 1, 1, I, 0, 1, W,
                                    &st));
    WANT(MPI_ERR_RANK, MPI_Sendrecv(v, 1, I, 0, 1, v + 1, 1, I, size, 1, W,
                                    &st));
    WANT(MPI_ERR_TAG, MPI_Sendrecv(v, 1, I, 0, -5, v + 1, 1, I, 0, 1, W, &st));
    WANT(MPI_ERR_COUNT, MPI_Sendrecv(v, 1, I, 0, 5, v + 1, -1, I, 0, 1, W,
                                     &st));
    WANT(MPI_ERR_TYPE, MPI_Sendrecv(v, 1, I, 0, 5, v + 1, 1, uncommitted, 0, 1,
                                    W, &st));
    WANT(MPI_ERR_COUNT, MPI_Sendrecv_replace(v, -1, I, 0, 1, 0, 1, W, &st));
    WANT(MPI_ERR_RANK, MPI_Isendrecv(v, 1, I, size, 1, v + 1, 1, I, 0, 1, W,
                                     &r));
    WANT(MPI_ERR_RANK, MPI_Isendrecv_replace(v, 1, I, 0, 1, size, 1, W, &r));
}

static void check_completions(void)
{
    MPI_Request bad = (MPI_Request)(void *)v; /* no request at all */

    r = MPI_REQUEST_NULL;
    WANT(MPI_ERR_REQUEST, MPI_Start(&r));
    WANT(MPI_ERR_REQUEST, MPI_Cancel(&r));
    WANT(MPI_ERR_REQUEST, MPI_Request_free(&r));
    WANT(MPI_SUCCESS, MPI_Wait(&r, &st));
    WANT(MPI_ERR_REQUEST, MPI_Wait(&bad, &st));
    WANT(MPI_ERR_REQUEST, MPI_Test(&bad, &flag, &st));
    rs[0] = MPI_REQUEST_NULL;
    rs[1] = bad;
    WANT(MPI_ERR_REQUEST, MPI_Waitall(2, rs, sts));
    WANT(MPI_ERR_REQUEST, MPI_Startall(2, rs));
    WANT(MPI_ERR_ARG, MPI_Wait(NULL, &st));
    WANT(MPI_ERR_COUNT, MPI_Waitall(-1, rs, sts));
    WANT(MPI_ERR_ARG, MPI_Waitany(1, NULL, &n, &st));
    /* an active request cannot be started, an ordinary one never */
    MPI_Recv_init(v, 1, I, MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &r);
    MPI_Start(&r);
    WANT(MPI_ERR_REQUEST, MPI_Start(&r));
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
    MPI_Irecv(v, 1, I, MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &r);
    WANT(MPI_ERR_REQUEST, MPI_Start(&r));
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Counts beyond 31 bits: taken as numbers, never as memory. */
static void check_large(int size)
{
    MPI_Count huge = (MPI_Count)1 << 40;

    WANT(MPI_ERR_RANK, MPI_Send_c(v, huge, I, size, 1, W));
    WANT(MPI_SUCCESS, MPI_Send_c(v, huge, I, MPI_PROC_NULL, 1, W));
    WANT(MPI_SUCCESS, MPI_Recv_c(v, huge, I, MPI_PROC_NULL, 1, W, &st));
    WANT(MPI_SUCCESS, MPI_Irecv_c(v, huge, I, MPI_ANY_SOURCE, 98,
                                  MPI_COMM_SELF, &r));
    v[1] = 42;
    WANT(MPI_SUCCESS, MPI_Send(v + 1, 1, I, 0, 98, MPI_COMM_SELF));
    WANT(MPI_SUCCESS, MPI_Wait(&r, &st));
    CHECK(v[0] == 42);
    WANT(MPI_ERR_COUNT, MPI_Isend_c(v, -huge, I, 0, 1, W, &r));
}

static int called;

static void count_error(MPI_Comm *c, int *code, ...)
{
    called += class_of(*code) == MPI_ERR_RANK && *c != MPI_COMM_NULL;
}

static void check_handlers(int size)
{
    MPI_Errhandler e;
    MPI_Comm c;

    MPI_Comm_create_errhandler(count_error, &e);
    MPI_Comm_dup(W, &c);
    MPI_Comm_set_errhandler(c, e);
    MPI_Errhandler_free(&e);
    WANT(MPI_ERR_RANK, MPI_Send(v, 1, I, size, 1, c));
    CHECK(called == 1);
    WANT(MPI_ERR_RANK, MPI_Recv(v, 1, I, size, 1, c, &st));
    CHECK(called == 2);
    WANT(MPI_ERR_RANK, MPI_Send(v, 1, I, size, 1, W));
    CHECK(called == 2);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    int size;

    job_begin(&argc, &argv);
    size = size_of(W);
    MPI_Type_vector(2, 1, 2, I, &uncommitted);
    run_senders(size);
    run_receivers(size);
    check_probes(size);
    check_pairs(size);
    check_completions();
    check_large(size);
    check_handlers(size);
    WANT(MPI_ERR_BUFFER, MPI_Bsend(v, 1, I, 0, 1, W));
    WANT(MPI_ERR_ARG, MPI_Get_count(NULL, I, &n));
    WANT(MPI_ERR_TYPE, MPI_Get_count(&st, MPI_DATATYPE_NULL, &n));
    MPI_Type_free(&uncommitted);
    check_talks(W);
    return job_end();
}

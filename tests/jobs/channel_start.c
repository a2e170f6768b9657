/* A start on a real-time channel: it allocates nothing, and it does not wait
 * for the credit that other messages of the pair have used up.
 *
 * Two ranks. With CHANNEL_EXPECT=without the same communicator is made without
 * the key: then the send waits for its receive.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "channel.h"

enum { BULK = 300, BULK_BYTES = 1000, TESTS = 20000, ROUNDS = 2000, DEPTH = 8 };

/* ---- allocations of this thread ------------------------------------------ */

static _Thread_local long allocations;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
int __sanitizer_install_malloc_and_free_hooks(
    void (*)(const volatile void *, size_t), void (*)(const volatile void *));

static void note_malloc(const volatile void *p, size_t n)
{
    allocations++;
}

static void note_free(const volatile void *p)
{
}

static int count_allocations(void)
{
    return __sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) >
           0;
}
#else /* the linker puts these in the place of the C library's: --wrap */
#include "../fake/wrapped_memory.h"

void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t to, size_t n)
{
    allocations++;
    return __real_aligned_alloc(to, n);
}

static int count_allocations(void)
{
    return 1;
}
#endif

/* ---- credit -------------------------------------------------------------- */

static _Thread_local int me;
static _Thread_local int without;

/* Rank 0 sends more than the pair has credit for, at last in small messages,
 * which use up what the others left; rank 1 takes none of it. */
static void send_bulk(MPI_Request *r)
{
    static _Thread_local char out[BULK_BYTES];

    for (int i = 0; i < BULK; i++)
        MPI_Isend(out, i < BULK - 20 ? BULK_BYTES : 1, MPI_CHAR, 1, 1,
                  MPI_COMM_WORLD, &r[i]);
}

static void receive_bulk(void)
{
    static _Thread_local char in[BULK_BYTES];

    for (int i = 0; i < BULK; i++)
        MPI_Recv(in, BULK_BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Start a send for which no receive is there. Without a channel it completes
 * only when rank 1 receives it. */
static void start_without_receive(MPI_Comm c)
{
    int x = 7, word = 1, done = 0;
    MPI_Request s;

    MPI_Send_init(&x, 1, MPI_INT, 1, 5, c, &s);
    MPI_Start(&s);
    for (int i = 0; i < TESTS && !done; i++)
        MPI_Test(&s, &done, MPI_STATUS_IGNORE);
    CHECK(done == !without);
    MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Request_free(&s);
}

/* The same, while rank 1 waits for nothing but this message. */
static void start_to_receive(MPI_Comm c)
{
    int x = 8;
    MPI_Request r;

    if (me == 0)
        MPI_Send_init(&x, 1, MPI_INT, 1, 6, c, &r);
    else
        MPI_Recv_init(&x, 1, MPI_INT, 0, 6, c, &r);
    MPI_Start(&r);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(x == 8);
    MPI_Request_free(&r);
}

static void no_wait_for_credit(MPI_Comm c)
{
    static _Thread_local MPI_Request bulk[BULK];
    int x = 0, word;

    if (me == 0)
        send_bulk(bulk);
    MPI_Barrier(c);
    if (me == 0) {
        start_without_receive(c);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&x, 1, MPI_INT, 0, 5, c, MPI_STATUS_IGNORE);
        CHECK(x == 7);
    }
    start_to_receive(c);
    if (me == 1)
        receive_bulk();
    else
        MPI_Waitall(BULK, bulk, MPI_STATUSES_IGNORE);
}

/* ---- memory -------------------------------------------------------------- */

static _Thread_local char out[DEPTH][64], in[DEPTH][64];

/* Back and forth, both requests of a rank started in turn. */
static void rounds_allocate_nothing(MPI_Comm c, int bytes)
{
    MPI_Request s, r;
    long before;

    MPI_Send_init(out[0], bytes, MPI_CHAR, 1 - me, 9, c, &s);
    MPI_Recv_init(in[0], bytes, MPI_CHAR, 1 - me, 9, c, &r);
    MPI_Barrier(c);
    before = allocations;
    for (int i = 0; i < ROUNDS; i++) {
        out[0][0] = (char)i;
        MPI_Start(&r);
        if (me == 0)
            MPI_Start(&s);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (me == 1)
            MPI_Start(&s);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        if (in[0][0] != (char)i)
            job_failures++;
    }
    CHECK(allocations == before);
    MPI_Barrier(c);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
}

/* As many as are reserved, of which the receiver takes none until all have
 * left; starts of receives find them stored. */
static void bursts_allocate_nothing(MPI_Comm c, int bytes)
{
    MPI_Request r[DEPTH];
    long before;
    int done;

    for (int i = 0; i < DEPTH; i++)
        if (me == 0)
            MPI_Send_init(out[i], bytes, MPI_CHAR, 1, i % 4, c, &r[i]);
        else
            MPI_Recv_init(in[i], bytes, MPI_CHAR, 0, i % 4, c, &r[i]);
    for (int round = 0; round < 50; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        before = allocations;
        if (me == 0) {
            MPI_Startall(DEPTH, r);
            MPI_Testall(DEPTH, r, &done, MPI_STATUSES_IGNORE);
            CHECK(done); /* none has waited for room or credit */
            CHECK(allocations == before);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        before = allocations;
        if (me == 1) {
            MPI_Startall(DEPTH, r);
            CHECK(allocations == before);
        }
        MPI_Waitall(DEPTH, r, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < DEPTH; i++)
        MPI_Request_free(&r[i]);
}

/* A start allocates nothing while bulk payload of the pair is under way. */
static void starts_beside_bulk_allocate_nothing(MPI_Comm c)
{
    enum { LARGE = 4 << 20 };
    char *bulk = malloc(LARGE);
    MPI_Request b, s, r;
    long before, counted = 0;

    memset(bulk, 1, LARGE);
    MPI_Send_init(out[0], 64, MPI_CHAR, 1 - me, 9, c, &s);
    MPI_Recv_init(in[0], 64, MPI_CHAR, 1 - me, 9, c, &r);
    for (int i = 0; i < 50; i++) {
        if (me == 0)
            MPI_Isend(bulk, LARGE, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &b);
        else
            MPI_Irecv(bulk, LARGE, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &b);
        before = allocations;
        MPI_Start(&r);
        MPI_Start(&s);
        counted += allocations - before;
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Wait(&s, MPI_STATUS_IGNORE);
        MPI_Wait(&b, MPI_STATUS_IGNORE);
    }
    CHECK(counted == 0);
    MPI_Request_free(&s);
    MPI_Request_free(&r);
    free(bulk);
}

int main(int argc, char **argv)
{
    const char *expected = getenv("CHANNEL_EXPECT");
    MPI_Comm c;

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    without = expected && !strcmp(expected, "without");
    CHECK(dup_with_keys(MPI_COMM_WORLD, without ? NULL : "true", NULL, NULL,
                        &c) == MPI_SUCCESS);
    CHECK(is_channel(c) == !without);
    no_wait_for_credit(c);
    if (!without && count_allocations()) {
        rounds_allocate_nothing(c, 8);
        rounds_allocate_nothing(c, 64);
        bursts_allocate_nothing(c, 8);
        bursts_allocate_nothing(c, 64);
        starts_beside_bulk_allocate_nothing(c);
    }
    MPI_Comm_free(&c);
    return job_end();
}

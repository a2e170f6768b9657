/* Nonblocking collectives of five ranks that are bound to one CPU: what goes to
 * all is put once where all can read it, and messages only say where.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sent.h"

enum {
    BLOCKING = 8,         /* calls until there is memory that all share */
    NOTE = 24,            /* bytes */
    POOL_BYTES = 8 << 20, /* as much may be under way there */
    ROUNDS = 40,
    CALLS = 9,
    MOST = 3 << 20
};

#define WORLD MPI_COMM_WORLD

static unsigned seed = 5;

static void fill_buffer(char *buf, int n, int from)
{
    for (int i = 0; i < n; i++)
        buf[i] = (char)(i % 251 + from);
}

static int has_values(const char *buf, int n, int from)
{
    for (int i = 0; i < n; i++)
        if (buf[i] != (char)(i % 251 + from))
            return 0;
    return 1;
}

/* Check readers that come when the root has gone on. */
static void a_root_sends_notes_and_waits_for_nobody(char *buf)
{
    unsigned long long before = bytes_sent("shm");
    int rank = rank_in(WORLD), go = 0;
    MPI_Request r;

    if (rank == 2) {
        fill_buffer(buf, MOST, 1);
        MPI_Ibcast(buf, MOST, MPI_CHAR, 2, WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(bytes_sent("shm") - before == 4 * NOTE);
        memset(buf, 0, MOST);
        for (int i = 0; i < size_of(WORLD); i++)
            if (i != rank)
                MPI_Send(&go, 1, MPI_INT, i, 0, WORLD);
        return;
    }
    MPI_Recv(&go, 1, MPI_INT, 2, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Ibcast(buf, MOST, MPI_CHAR, 2, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(has_values(buf, MOST, 1));
}

/* Four at once, of which it holds two. */
static void what_finds_no_room_goes_as_messages(char *buf)
{
    unsigned long long before = bytes_sent("shm");
    int rank = rank_in(WORLD), go = 0;
    MPI_Request r[4];

    if (rank != 2)
        MPI_Recv(&go, 1, MPI_INT, 2, 0, WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < 4; k++) {
        if (rank == 2)
            fill_buffer(buf + (size_t)k * MOST, MOST, k);
        MPI_Ibcast(buf + (size_t)k * MOST, MOST, MPI_CHAR, 2, WORLD, &r[k]);
    }
    for (int i = 0; rank == 2 && i < size_of(WORLD); i++)
        if (i != rank)
            MPI_Send(&go, 1, MPI_INT, i, 0, WORLD);
    CHECK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int k = 0; k < 4; k++)
        CHECK(has_values(buf + (size_t)k * MOST, MOST, k));
    if (rank == 2)
        CHECK(bytes_sent("shm") - before != 4 * (sizeof go + 4 * NOTE));
}

/* More than there is room for at once; in any order of waiting. */
static void calls_of_any_roots_may_be_under_way(char *buf)
{
    MPI_Request r[CALLS];
    int n[CALLS], root[CALLS], which;
    char *at = buf;

    for (int round = 0; round < ROUNDS; round++) {
        at = buf;
        for (int k = 0; k < CALLS; k++, at += MOST) {
            n[k] = 1 + (int)draw_from(&seed, round % 2 ? MOST : 40000);
            root[k] = (int)draw_from(&seed, 5);
            if (rank_in(WORLD) == root[k])
                fill_buffer(at, n[k], round + k);
            MPI_Ibcast(at, n[k], MPI_CHAR, root[k], WORLD, &r[k]);
        }
        for (int k = 0; k < CALLS; k++) {
            CHECK(MPI_Waitany(CALLS, r, &which, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(has_values(buf + (size_t)which * MOST, n[which],
                             round + which));
        }
    }
}

/* Broadcast more than the pool holds, again and again. */
static void a_persistent_one_brings_what_is_there_when_it_starts(char *buf)
{
    static const int lengths[] = {9000, MOST, POOL_BYTES, POOL_BYTES + 1};
    MPI_Request r;

    for (int k = 0; k < 4; k++) {
        MPI_Bcast_init(buf, lengths[k], MPI_CHAR, 1, WORLD, MPI_INFO_NULL, &r);
        for (int i = 0; i < 5; i++) {
            if (rank_in(WORLD) == 1)
                fill_buffer(buf, lengths[k], i + k);
            MPI_Start(&r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            CHECK(has_values(buf, lengths[k], i + k));
        }
        MPI_Request_free(&r);
    }
}

/* Every second short here, all together there. */
static void types_may_differ_where_their_elements_do_not(short *buf)
{
    enum { N = 100000 };
    int rank = rank_in(WORLD);
    MPI_Datatype second;
    MPI_Request r;

    MPI_Type_vector(N, 1, 2, MPI_SHORT, &second);
    MPI_Type_commit(&second);
    for (int root = 0; root < 5; root++) {
        int step = rank % 2 ? 2 : 1;
        for (int i = 0; i < 2 * N; i++)
            buf[i] = -1;
        for (int i = 0; rank == root && i < N; i++)
            buf[step * i] = (short)(i % 3001 + root);
        if (step == 2)
            MPI_Ibcast(buf, 1, second, root, WORLD, &r);
        else
            MPI_Ibcast(buf, N, MPI_SHORT, root, WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++)
            if (buf[step * i] != i % 3001 + root ||
                (step == 2 && buf[2 * i + 1] != -1)) {
                CHECK(!"the elements that the root has");
                break;
            }
    }
    MPI_Type_free(&second);
}

static void different_counts_are_found(char *buf)
{
    int rank = rank_in(WORLD), rc;
    MPI_Request r;

    for (int i = 0; i < 2 * POOL_BYTES / MOST + 1; i++) {
        MPI_Ibcast(buf, rank == 0 ? MOST : MOST - 1, MPI_CHAR, 0, WORLD, &r);
        rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(class_of(rc) == (rank ? MPI_ERR_COUNT : MPI_SUCCESS));
        check_talks(WORLD);
    }
    MPI_Ibcast(buf, rank == 0 ? MOST : 100, MPI_CHAR, 0, WORLD, &r);
    rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(class_of(rc) == (rank ? MPI_ERR_COUNT : MPI_SUCCESS));
    check_talks(WORLD);
}

/* Pieces of the result go that way as well, if they are whole bytes in
 * memory. */
static void reductions_bring_their_results(double *in, double *out)
{
    struct {
        double value;
        int at;
    } *mine = (void *)in, *best = (void *)out;
    int rank = rank_in(WORLD), n = 3;
    MPI_Request r;

    for (; n < 300000; n = 3 * n + 1) {
        for (int i = 0; i < n; i++)
            in[i] = rank + i % 1000;
        MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            if (out[i] != 10 + 5 * (i % 1000)) {
                CHECK(!"the sum");
                break;
            }
    }
    n /= 8;
    for (int i = 0; i < n; i++) {
        mine[i].value = (rank + i) % 5;
        mine[i].at = rank;
    }
    MPI_Iallreduce(mine, best, n, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        if (best[i].value != 4 || (best[i].at + i) % 5 != 4) {
            CHECK(!"the greatest and whose it is");
            break;
        }
}

int main(int argc, char **argv)
{
    char *buf = malloc((size_t)CALLS * MOST), *other = malloc(MOST);

    job_begin(&argc, &argv);
    for (int i = 0; i < BLOCKING; i++)
        MPI_Barrier(WORLD);
    CHECK(buf && other);
    if (buf && other) {
        a_root_sends_notes_and_waits_for_nobody(buf);
    what_finds_no_room_goes_as_messages(buf);
        calls_of_any_roots_may_be_under_way(buf);
        a_persistent_one_brings_what_is_there_when_it_starts(buf);
        types_may_differ_where_their_elements_do_not((short *)(void *)buf);
        different_counts_are_found(buf);
        reductions_bring_their_results((double *)(void *)buf,
                                       (double *)(void *)other);
        a_root_sends_notes_and_waits_for_nobody(buf); /* room has come back */
    }
    free(buf);
    free(other);
    return job_end();
}

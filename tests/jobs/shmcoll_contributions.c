/* Contributions of different lengths, which lie in different parts of shared
 * memory, follow each other in calls of many kinds; a root, or another member,
 * is behind. Every byte arrives.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sched.h>

#include "check.h"

enum { ROUNDS = 300, MOST = 20000 /* bytes */, GAP = 3, BEHIND = 4 };

/* Lines, pieces of a block, whole blocks, messages. */
static const int lengths[] = {0,    8,    48,   49,   64,    200,
                              1024, 1025, 4096, 4097, 16384, MOST};
enum {
    LENGTHS = sizeof lengths / sizeof *lengths,
    VARIED = 4 /* of those in a call */
};

static _Thread_local unsigned char *in, *out;
static _Thread_local unsigned seed;

static unsigned char byte_of(int rank, int call, int i)
{
    return (unsigned char)(31 * rank + 7 * call + 3 * i + (i >> 8));
}

static unsigned char sum_up_to(int rank, int call, int i)
{
    return (unsigned char)(31 * (rank * (rank + 1) / 2) +
                           (rank + 1) * byte_of(0, call, i));
}

static void fill_buffer(int rank, int call, int n)
{
    for (int i = 0; i < n; i++)
        in[i] = byte_of(rank, call, i);
}

static int has_bytes(const unsigned char *at, int rank, int call, int n)
{
    for (int i = 0; i < n; i++)
        if (at[i] != byte_of(rank, call, i))
            return 0;
    return 1;
}

/* Lets the other ranks go on, which may share this one's CPU. */
static void fall_behind(void)
{
    for (int i = 0; i < BEHIND; i++)
        sched_yield();
}

/* Each member's length is one of those from `least` on. */
static void gather_varied(MPI_Comm c, int call, int root, unsigned least)
{
    int rank = rank_in(c), size = size_of(c), at = 0;
    int *counts = malloc(2 * (size_t)size * sizeof *counts),
        *displs = counts + size;

    CHECK(counts != NULL);
    for (int r = 0; counts && r < size; r++, at += GAP) {
        counts[r] = lengths[least + draw_from(&seed, VARIED)];
        displs[r] = at;
        at += counts[r];
    }
    if (!counts)
        return;
    fill_buffer(rank, call, counts[rank]);
    memset(out, 1, rank == root ? (size_t)at : 0);
    MPI_Gatherv(in, counts[rank], MPI_BYTE, out, counts, displs, MPI_BYTE, root,
                c);
    for (int r = 0; rank == root && r < size; r++) {
        CHECK(has_bytes(out + displs[r], r, call, counts[r]));
        for (int i = 0; i < GAP; i++)
            CHECK(out[displs[r] + counts[r] + i] == 1);
    }
    free(counts);
}

static void gather_equal(MPI_Comm c, int call, int root, int n)
{
    fill_buffer(rank_in(c), call, n);
    MPI_Gather(in, n, MPI_BYTE, out, n, MPI_BYTE, root, c);
    for (int r = 0; rank_in(c) == root && r < size_of(c); r++)
        CHECK(has_bytes(out + r * n, r, call, n));
}

static void scan_bytes(MPI_Comm c, int call, int n)
{
    int rank = rank_in(c), wrong = 0;

    fill_buffer(rank, call, n);
    MPI_Scan(in, out, n, MPI_UNSIGNED_CHAR, MPI_SUM, c);
    for (int i = 0; i < n; i++)
        wrong += out[i] != sum_up_to(rank, call, i);
    CHECK(wrong == 0);
}

static void reduce_bytes(MPI_Comm c, int call, int root, int n)
{
    int wrong = 0;

    fill_buffer(rank_in(c), call, n);
    MPI_Reduce(in, out, n, MPI_UNSIGNED_CHAR, MPI_SUM, root, c);
    for (int i = 0; rank_in(c) == root && i < n; i++)
        wrong += out[i] != sum_up_to(size_of(c) - 1, call, i);
    CHECK(wrong == 0);
}

static void broadcast_bytes(MPI_Comm c, int call, int root, int n)
{
    fill_buffer(rank_in(c), call, n);
    MPI_Bcast(in, n, MPI_BYTE, root, c);
    CHECK(has_bytes(in, root, call, n));
}

/* Makes a call of some kind, with lengths from that one on. */
static void make_call(MPI_Comm c, unsigned kind, int call, int root,
                      unsigned least)
{
    int n = lengths[least];

    if (kind < 3)
        gather_varied(c, call, root, least);
    else if (kind < 6)
        scan_bytes(c, call, n);
    else if (kind == 6)
        gather_equal(c, call, root, n);
    else if (kind == 7)
        reduce_bytes(c, call, root, n);
    else
        broadcast_bytes(c, call, root, n);
}

/* Makes several calls of a kind; all members draw the same. */
static void make_calls(MPI_Comm c, int first)
{
    static const int numbers[] = {1, 2, 7, 8, 9, 40, 140};
    unsigned size = (unsigned)size_of(c), kind = draw_from(&seed, 9),
             least = draw_from(&seed, LENGTHS - VARIED + 1);
    int root = (int)draw_from(&seed, size), late = (int)draw_from(&seed, size),
        n = numbers[draw_from(&seed, 7)];

    if (rank_in(c) == late || rank_in(c) == root)
        fall_behind();
    for (int i = 0; i < n; i++)
        make_call(c, kind, first + i, root, least);
}

int main(int argc, char **argv)
{
    size_t room;

    MPI_Init(&argc, &argv);
    seed = 11;
    room = (size_t)size_of(MPI_COMM_WORLD) * (MOST + GAP);
    in = malloc(room);
    out = malloc(room);
    CHECK(in && out);
    for (int i = 0; in && out && i < ROUNDS; i++)
        make_calls(MPI_COMM_WORLD, i);
    check_talks(MPI_COMM_WORLD);
    free(in);
    free(out);
    return job_end();
}

/* Messages from and into memory of MPI_Alloc_mem, which transports may move
 * with fewer copies.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { ROOM = 3 << 20, AGAIN = 3, WINDOW = 4 };

static int me, all, to, from;

/* MPI_Finalize takes it back, or it is plain memory that stays; visible to
 * all, so that it stays in sight of leak checks. */
unsigned char *kept;

static unsigned char *allocate_memory(int by_mpi)
{
    unsigned char *m = NULL;

    if (!by_mpi)
        return malloc(ROOM);
    CHECK(MPI_Alloc_mem(ROOM, MPI_INFO_NULL, &m) == MPI_SUCCESS);
    return m;
}

static void release_object(unsigned char *m, int by_mpi)
{
    if (by_mpi)
        CHECK(MPI_Free_mem(m) == MPI_SUCCESS);
    else
        free(m);
}

static void fill_buffer(unsigned char *m, int n, int seed)
{
    for (int i = 0; i < n; i++)
        m[i] = (unsigned char)(seed * 31 + i + (i >> 8) * 7);
}

static int is_same(const unsigned char *m, int n, int seed)
{
    for (int i = 0; i < n; i++)
        if (m[i] != (unsigned char)(seed * 31 + i + (i >> 8) * 7))
            return 0;
    return 1;
}

static void check_one(unsigned char *out, unsigned char *in, int n, int seed)
{
    fill_buffer(out, n, me + seed);
    memset(in, 0xee, (size_t)n + 1);
    CHECK(MPI_Sendrecv(out, n, MPI_BYTE, to, n % 1000, in, n, MPI_BYTE, from,
                       n % 1000, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_same(in, n, from + seed));
    CHECK(in[n] == 0xee);
}

static void every_pair_of_memories(void)
{
    static const int sizes[] = {65536, 300001, (2 << 20) + 3};

    for (int kinds = 0; kinds < 4; kinds++) {
        unsigned char *out = allocate_memory(kinds & 1),
                      *in = allocate_memory(kinds & 2);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < AGAIN; k++)
                check_one(out + 13 * k, in + 29 * k, sizes[i], kinds + k);
        release_object(in, kinds & 2);
        release_object(out, kinds & 1);
    }
}

static void several_at_once(void)
{
    unsigned char *out = allocate_memory(1), *in = allocate_memory(1);
    int n = ROOM / WINDOW;
    MPI_Request r[2 * WINDOW];

    fill_buffer(out, ROOM, me);
    for (int k = 0; k < AGAIN; k++) {
        memset(in, 0xee, ROOM);
        for (int i = 0; i < WINDOW; i++) {
            MPI_Irecv(in + i * n, n, MPI_BYTE, from, i, MPI_COMM_WORLD, &r[i]);
            MPI_Isend(out + i * n, n, MPI_BYTE, to, i, MPI_COMM_WORLD,
                      &r[WINDOW + i]);
        }
        CHECK(MPI_Waitall(2 * WINDOW, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(is_same(in, WINDOW * n, from));
    }
    release_object(in, 1);
    release_object(out, 1);
}

static void a_short_receive_gets_its_part_and_no_more(void)
{
    unsigned char *out = allocate_memory(1), *in = allocate_memory(1);
    int n = 1 << 20, part = 700001, class;

    fill_buffer(out, n, me);
    for (int k = 0; k < AGAIN; k++) {
        MPI_Request r;
        memset(in, 0xee, (size_t)part + 1);
        MPI_Irecv(in, part, MPI_BYTE, from, 1, MPI_COMM_WORLD, &r);
        MPI_Send(out, n, MPI_BYTE, to, 1, MPI_COMM_WORLD);
        MPI_Error_class(MPI_Wait(&r, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        CHECK(is_same(in, part, from) && in[part] == 0xee);
    }
    release_object(in, 1);
    release_object(out, 1);
}

static void freed_memory_may_come_again(void)
{
    for (int k = 0; k < 20; k++) {
        unsigned char *m = allocate_memory(1), *in = allocate_memory(k & 1);
        check_one(m, in, 200000, k);
        check_one(m, in, 200000, k + 1);
        release_object(m, 1);
        release_object(in, k & 1);
    }
}

/* Blocks that were freed are kept for the next call of their size, but not all
 * of them; and none is in the way of others. */
static void freed_memory_is_kept_within_limits(void)
{
    enum { MB = 1 << 20, MANY = 300, LARGE = 3 };
    static unsigned char *m[MANY];
    unsigned char *first, *second;
    int before = job_descriptors();

    CHECK(MPI_Alloc_mem(MB, MPI_INFO_NULL, &first) == MPI_SUCCESS);
    if (before >= 0 && job_descriptors() > before) { /* of a transport */
        first[MB / 2] = 77;
        MPI_Free_mem(first);
        CHECK(job_descriptors() == before + 1);
        CHECK(MPI_Alloc_mem(MB - 1, MPI_INFO_NULL, &second) == MPI_SUCCESS);
        CHECK(second == first && second[MB / 2] == 77);
        first = second;
    }
    MPI_Free_mem(first);
    for (int i = 0; i < LARGE; i++)
        CHECK(MPI_Alloc_mem(40 * MB, MPI_INFO_NULL, &m[i]) == MPI_SUCCESS);
    for (int i = 0; i < LARGE; i++)
        MPI_Free_mem(m[i]);
    CHECK(before < 0 || job_descriptors() <= before + 2);
    for (int i = 0; i < MANY; i++) { /* each of a size of its own */
        CHECK(MPI_Alloc_mem(65536 + 4096 * i, MPI_INFO_NULL, &m[i]) ==
              MPI_SUCCESS);
        m[i][65536 + 4096 * i - 1] = 1;
        if (i % 2)
            MPI_Free_mem(m[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        MPI_Free_mem(m[i]);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    every_pair_of_memories();
    several_at_once();
    a_short_receive_gets_its_part_and_no_more();
    freed_memory_may_come_again();
    freed_memory_is_kept_within_limits();
    kept = allocate_memory(1);
    memset(kept, 1, ROOM);
    return job_end();
}

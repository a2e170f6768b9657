/* Windows of MPI_Win_create, whose members' memory lies in blocks of
 * MPI_Alloc_mem, or elsewhere in some: what is mapped, and that operations,
 * locks and the end of the window or of the memory are right in any case.
 *
 *   RMA_EXPECT   "blocks": a window is mapped if all memory is in blocks;
 *                "any": whatever memory it is; "apart": never; else either
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { BLOCK = 100000, WORDS = 1000, TIMES = 100 };

static _Thread_local int rank, size;
static _Thread_local MPI_Comm comm;

static int does_expect(const char *what)
{
    const char *value = getenv("RMA_EXPECT");

    return value && !strcmp(value, what);
}

static MPI_Win create_window(void *base, MPI_Aint bytes, int unit)
{
    MPI_Win win;

    CHECK(MPI_Win_create(base, bytes, unit, MPI_INFO_NULL, comm, &win) ==
          MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

static void *allocate_block(MPI_Aint bytes)
{
    void *p = NULL;

    CHECK(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &p) == MPI_SUCCESS);
    memset(p, 0, (size_t)bytes);
    return p;
}

/* Returns the address here of the memory of a member; NULL: it is not
 * mapped. */
static void *query_memory(MPI_Win win, int member, MPI_Aint *bytes)
{
    void *at = &win;
    int unit;

    CHECK(MPI_Win_shared_query(win, member, bytes, &unit, &at) == MPI_SUCCESS);
    CHECK(at || *bytes == 0);
    return at;
}

/* Returns how many members with memory are mapped by all. */
static int count_mapped(MPI_Win win)
{
    int mine = 0, least;
    MPI_Aint bytes;

    for (int r = 0; r < size; r++)
        mine += query_memory(win, r, &bytes) != NULL;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm);
    return least;
}

/* Adds to words of all members, by integers that the processor adds and by
 * doubles, which need a lock stripe, at the same time as all others. */
static void add_everywhere(MPI_Win win, int integers, int doubles)
{
    long *old = calloc((size_t)TIMES * (size_t)size, sizeof *old), one = 1;
    double half = 0.5;

    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TIMES; i++)
        for (int r = 0; r < size; r++) {
            if (i % 2)
                MPI_Fetch_and_op(&one, &old[i * size + r], MPI_LONG, r,
                                 integers, MPI_SUM, win);
            else
                MPI_Accumulate(&one, 1, MPI_LONG, r, integers, 1, MPI_LONG,
                               MPI_SUM, win);
            MPI_Accumulate(&half, 1, MPI_DOUBLE, r, doubles, 1, MPI_DOUBLE,
                           MPI_SUM, win);
        }
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    free(old);
    MPI_Barrier(comm);
}

/* Counts under the exclusive lock of rank 0 by get and put. */
static void count_under_lock(MPI_Win win, int at)
{
    long value;

    for (int i = 0; i < TIMES; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, at, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, at, 1, MPI_LONG, win);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    }
    MPI_Barrier(comm);
}

static void check_operations(MPI_Win win, long *base)
{
    double *doubles = (double *)base;
    long value = 1000 + rank;

    MPI_Win_fence(0, win);
    CHECK(class_of(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, WORDS, 1,
                           MPI_LONG, win)) == MPI_ERR_RMA_RANGE);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, WORDS - 1, 1, MPI_LONG,
            win);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
    CHECK(base[WORDS - 1] == 1000 + (rank + size - 1) % size);
    add_everywhere(win, 3, 4);
    count_under_lock(win, 5);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(base[3] == (long)TIMES * size && doubles[4] == 0.5 * TIMES * size);
    CHECK(rank || base[5] == (long)TIMES * size);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(comm);
    base[3] = base[5] = 0;
    doubles[4] = 0;
    MPI_Barrier(comm);
}

/* Memory of the window, which begins anywhere in the block. */
static long *place_in(char *block)
{
    return (long *)(block + 8 * (1 + rank));
}

/* All have blocks, of which the window is a part. */
static void check_blocks(void)
{
    char *block = allocate_block(BLOCK + 4096 * rank);
    long *base = place_in(block), *other;
    MPI_Win win = create_window(base, WORDS * 8, 8);
    int mapped = count_mapped(win);
    MPI_Aint bytes;

    CHECK(size == 1 || !does_expect("blocks") || mapped == size);
    CHECK(!does_expect("any") || mapped == size);
    CHECK(!does_expect("apart") || mapped == 1);
    check_operations(win, base);
    base[7] = rank;
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        other = query_memory(win, r, &bytes);
        CHECK(!other || (other[7] == r && bytes == WORDS * 8));
        CHECK(r != rank || other == base);
    }
    MPI_Win_fence(0, win);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Free_mem(block);
}

/* Some have memory of another kind: all members of a node agree. */
static void check_elsewhere(int heap_from)
{
    char *block = rank < heap_from ? allocate_block(BLOCK) : calloc(BLOCK, 1);
    long *base = place_in(block);
    MPI_Win win = create_window(base, WORDS * 8, 8);
    int mapped = count_mapped(win);

    CHECK(!does_expect("any") || mapped == size);
    CHECK(!does_expect("blocks") || mapped == 1);
    CHECK(!does_expect("apart") || mapped == 1);
    check_operations(win, base);
    MPI_Win_free(&win);
    if (rank < heap_from)
        MPI_Free_mem(block);
    else
        free(block);
}

/* A range that ends outside of its block is not in it. */
static void check_range_across_blocks(void)
{
    char *block = allocate_block(BLOCK);
    MPI_Win win = create_window(block, rank ? BLOCK : 0, 1);

    (void)count_mapped(win);
    MPI_Win_free(&win);
    MPI_Free_mem(block);
}

/* Members without memory, and units that differ. */
static void check_sizes(void)
{
    int empty = rank % 3 == 1, unit = 1 << rank % 4, last = -1;
    char *block = empty ? NULL : allocate_block(BLOCK);
    MPI_Win win = create_window(block, empty ? 0 : BLOCK, unit);
    MPI_Aint bytes;
    int mapped = count_mapped(win), holders = size - (size + 1) / 3;

    CHECK(!does_expect("blocks") || mapped == holders);
    CHECK(!does_expect("any") || mapped == holders);
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        int there = r % 3 != 1, to = 1 << r % 4, value = 77 + r;
        CHECK(!query_memory(win, r, &bytes) || (bytes == BLOCK && there));
        if (there && rank == (r + 1) % size)
            MPI_Put(&value, 1, MPI_INT, r, (BLOCK - 32) / to, 1, MPI_INT, win);
        if (!there)
            CHECK(class_of(MPI_Put(&value, 1, MPI_INT, r, 0, 1, MPI_INT,
                                   win)) == MPI_ERR_RMA_RANGE);
        CHECK(MPI_Put(&value, 0, MPI_INT, r, 0, 0, MPI_INT, win) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    if (!empty)
        memcpy(&last, block + BLOCK - 32, sizeof last);
    CHECK(empty || last == 77 + rank);
    MPI_Win_free(&win);
    if (block)
        MPI_Free_mem(block);
    win = create_window(NULL, 0, 1); /* nobody has any */
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

/* The program frees the memory first. The next block of that size is another
 * one as long as the window exists, if others have it mapped. */
static void check_memory_freed_first(void)
{
    char *block = allocate_block(BLOCK), *next;
    MPI_Win win = create_window(block, BLOCK, 1);
    char mark = 'x';
    int mapped = count_mapped(win) == size && size > 1;

    MPI_Barrier(comm);
    /* It is the program's error if nobody has mapped it. */
    if (mapped && does_expect("blocks")) {
        MPI_Free_mem(block);
        next = allocate_block(BLOCK);
        CHECK(next != block);
        MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
        MPI_Put(&mark, 1, MPI_CHAR, (rank + 1) % size, 9, 1, MPI_CHAR, win);
        CHECK(MPI_Win_unlock((rank + 1) % size, win) == MPI_SUCCESS);
        MPI_Barrier(comm);
        CHECK(next[9] == 0);
        MPI_Win_free(&win);
        char *last = allocate_block(BLOCK); /* the first one has become spare */
        CHECK(last == block);
        MPI_Free_mem(last);
        MPI_Free_mem(next);
    } else {
        MPI_Win_free(&win);
        MPI_Free_mem(block);
    }
}

/* Windows over the same block one after another, and several at once that
 * overlap: integers are atomic by whichever of them. */
static void check_again(void)
{
    char *block = allocate_block(BLOCK);
    long *words = (long *)block, one = 1;
    MPI_Win first, second;

    for (int i = 0; i < 5; i++) {
        first = create_window(block, BLOCK, 8);
        second = create_window(block + 8, BLOCK - 8, 8);
        int times = count_mapped(first) == size ? TIMES : 0;
        MPI_Win_lock_all(0, first);
        MPI_Win_lock_all(0, second);
        for (int n = 0; n < times; n++)
            for (int r = 0; r < size; r++)
                MPI_Accumulate(&one, 1, MPI_LONG, r, n % 2, 1, MPI_LONG,
                               MPI_SUM, n % 2 ? first : second);
        MPI_Win_unlock_all(first);
        MPI_Win_unlock_all(second);
        MPI_Barrier(comm);
        MPI_Win_sync(first);
        CHECK(words[1] == (long)times * size);
        MPI_Barrier(comm);
        words[1] = 0;
        MPI_Win_free(i % 2 ? &first : &second);
        MPI_Win_free(i % 2 ? &second : &first);
    }
    MPI_Free_mem(block);
}

/* A large one is mapped as a whole. */
static void check_large(void)
{
    MPI_Aint bytes = (MPI_Aint)24 << 20;
    char *block = allocate_block(bytes), *data = malloc(1 << 20);
    MPI_Win win = create_window(block, bytes, 1);

    memset(data, 'a' + rank, 1 << 20);
    MPI_Win_fence(0, win);
    MPI_Put(data, 1 << 20, MPI_CHAR, (rank + 1) % size, bytes - (1 << 20),
            1 << 20, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    int from = (rank + size - 1) % size, wrong = 0;
    for (int i = 0; i < 1 << 20; i += 997)
        wrong += block[bytes - 1 - i] != 'a' + from;
    CHECK(wrong == 0 && block[bytes - (1 << 20) - 1] == 0);
    MPI_Win_free(&win);
    MPI_Free_mem(block);
    free(data);
}

int main(int argc, char **argv)
{
    int level;

    if (getenv("RMA_THREADS")) /* then there may be several engines */
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    else
        job_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    rank = rank_in(comm);
    size = size_of(comm);
    check_blocks();
    check_elsewhere(0);
    check_elsewhere(size / 2);
    check_range_across_blocks();
    check_sizes();
    check_memory_freed_first();
    check_again();
    check_large();
    MPI_Comm_free(&comm);
    for (int i = 0; i < 4; i++) { /* over communicators of any engine */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        check_blocks();
        check_memory_freed_first();
        MPI_Comm_free(&comm);
    }
    return job_end();
}

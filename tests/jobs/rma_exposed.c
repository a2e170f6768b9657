/* Operations on windows in memory that no process has mapped of another: what
 * the transport does itself and what goes by messages must fit together.
 *
 *   rma_exposed         prints how many ranks found something wrong
 *   rma_exposed death   rank 1 dies while rank 0 operates on its memory, which
 *                       prints that all of that has ended
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 40000, ROUNDS = 60 };

static _Thread_local int rank, size, wrong;
static _Thread_local long *memory;
static _Thread_local MPI_Win win;

#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            wrong = 1;                                                         \
            fprintf(stderr, "rank %d: line %d: " #condition "\n", rank,        \
                    __LINE__);                                                 \
        }                                                                      \
    } while (0)

static void clear_memory(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(memory, 0, WORDS * sizeof *memory);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void put_and_get(void)
{
    long *mine = malloc(WORDS * sizeof *mine), *got;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;

    got = malloc(WORDS * sizeof *got);
    MPI_Win_fence(0, win);
    for (int n = 1, turn = 0; n < WORDS; n = n * 3 + 1, turn++) {
        for (int i = 0; i < n; i++)
            mine[i] = rank * 1000000L + turn * 100 + i;
        MPI_Put(mine, n, MPI_LONG, next, 0, n, MPI_LONG, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < n; i++)
            EXPECT(memory[i] == before * 1000000L + turn * 100 + i);
        MPI_Get(got, n, MPI_LONG, next, 0, n, MPI_LONG, win);
        MPI_Win_fence(0, win);
        EXPECT(memcmp(got, mine, (size_t)n * sizeof *got) == 0);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    free(mine);
    free(got);
}

/* All add, by single words and by arrays, which are messages. */
static void add_everywhere(void)
{
    long one = 1, old, ones[3] = {1, 1, 1}, last = -1;
    int half = 1, small;

    clear_memory();
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++)
        for (int r = 0; r < size; r++) {
            MPI_Fetch_and_op(&one, &old, MPI_LONG, r, 0, MPI_SUM, win);
            MPI_Win_flush(r, win);
            EXPECT(r != 0 || old > last);
            if (r == 0)
                last = old;
            MPI_Fetch_and_op(&half, &small, MPI_INT, r, 4, MPI_SUM, win);
            MPI_Accumulate(&one, 1, MPI_LONG, r, 1, 1, MPI_LONG, MPI_SUM, win);
            if (i % 4 == 0)
                MPI_Accumulate(ones, 3, MPI_LONG, r, 0, 3, MPI_LONG, MPI_SUM,
                               win);
        }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    EXPECT(memory[0] == (long)size * (ROUNDS + (ROUNDS + 3) / 4));
    EXPECT(memory[1] == (long)size * (ROUNDS + (ROUNDS + 3) / 4));
    EXPECT(memory[2] == (long)size * ((ROUNDS + 3) / 4));
    EXPECT(*(int *)&memory[4] == size * ROUNDS);
    MPI_Win_unlock(rank, win);
}

/* A lock made of compare and swap protects a word. */
static void swap_words(void)
{
    long none = -1, me = rank, old, value;

    clear_memory();
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        memory[0] = -1;
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS / 4; i++) {
        do {
            MPI_Compare_and_swap(&me, &none, &old, MPI_LONG, 0, 0, win);
            MPI_Win_flush(0, win);
        } while (old != -1);
        MPI_Get(&value, 1, MPI_LONG, 0, 9, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 9, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Fetch_and_op(&none, &old, MPI_LONG, 0, 0, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        EXPECT(old == rank);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EXPECT(memory[9] == (long)size * (ROUNDS / 4));
        MPI_Win_unlock(0, win);
    }
}

/* Accumulates of one origin are carried out in order, whichever way they go. */
static void keep_order(void)
{
    long one = 1, hundred[2] = {100, 100}, old[3] = {0, 0, 0}, none = 0;
    int next = (rank + 1) % size;

    clear_memory();
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &old[0], MPI_LONG, next, 20, MPI_SUM, win);
        MPI_Accumulate(hundred, 2, MPI_LONG, next, 20, 2, MPI_LONG, MPI_REPLACE,
                       win);
        MPI_Fetch_and_op(&one, &old[1], MPI_LONG, next, 20, MPI_SUM, win);
        MPI_Fetch_and_op(&none, &old[2], MPI_LONG, next, 20, MPI_NO_OP, win);
        MPI_Win_flush(next, win);
        EXPECT(old[1] == 100 && old[2] == 101);
        EXPECT(old[0] == (i ? 101 : 0));
    }
    MPI_Win_unlock_all(win);
}

/* A put that was flushed is there when a message says so. */
static void flush_and_tell(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, dummy;

    clear_memory();
    MPI_Win_lock_all(0, win);
    for (int i = 1; i <= ROUNDS; i++) {
        long value = i, seen;
        MPI_Request request;

        if (i % 2) {
            MPI_Put(&value, 1, MPI_LONG, next, 30, 1, MPI_LONG, win);
        } else {
            MPI_Rput(&value, 1, MPI_LONG, next, 30, 1, MPI_LONG, win, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Win_flush(next, win);
        MPI_Sendrecv(&i, 1, MPI_INT, next, 0, &dummy, 1, MPI_INT, before, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_sync(win);
        EXPECT(((volatile long *)memory)[30] == i);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Rget(&seen, 1, MPI_LONG, next, 30, 1, MPI_LONG, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(seen == i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
}

/* MPI_Win_complete comes after what was put; a put under a lock of its own. */
static void start_and_lock(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Group world, to, from;

    clear_memory();
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &before, &from);
    for (long i = 1; i <= ROUNDS; i++) {
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(&i, 1, MPI_LONG, next, 35, 1, MPI_LONG, win);
        MPI_Put(&i, 1, MPI_LONG, next, WORDS - 1, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        EXPECT(memory[35] == i && memory[WORDS - 1] == i);
    }
    for (int i = 0; i < ROUNDS / 4; i++) {
        long value;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, 36, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 36, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        EXPECT(memory[36] == (long)size * (ROUNDS / 4));
        MPI_Win_unlock(0, win);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
}

static void use_window(int in_block)
{
    MPI_Aint bytes = WORDS * (MPI_Aint)sizeof *memory;

    if (in_block)
        MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    else
        memory = malloc((size_t)bytes);
    memset(memory, 0, (size_t)bytes);
    MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    put_and_get();
    add_everywhere();
    swap_words();
    keep_order();
    flush_and_tell();
    start_and_lock();
    MPI_Barrier(MPI_COMM_WORLD);
    if (in_block)
        MPI_Free_mem(memory); /* the window goes later */
    MPI_Win_free(&win);
    if (!in_block)
        free(memory);
}

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

static void await_death(void)
{
    long value = 0, old, one = 1, *many = calloc(WORDS, sizeof *many);
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS) {
        value++;
        MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Put(many, WORDS / 2, MPI_LONG, 1, WORDS / 2, WORDS / 2, MPI_LONG,
                win);
        MPI_Get(many, WORDS / 4, MPI_LONG, 1, WORDS / 4, WORDS / 4, MPI_LONG,
                win);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 1, MPI_SUM, win);
        rc = value % 3 ? MPI_SUCCESS : MPI_Win_flush(1, win);
    }
    EXPECT(class_of(rc) == MPI_ERR_PROC_ABORTED);
    MPI_Win_unlock_all(win); /* it returns */
    if (!wrong)
        printf("operations ended\n");
    fflush(stdout);
    _exit(wrong);
}

static void die_while_operated_on(void)
{
    memory = calloc(WORDS, sizeof *memory);
    MPI_Win_create(memory, WORDS * sizeof *memory, sizeof *memory,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        await_death();
    while (((volatile long *)memory)[0] < 50)
        MPI_Win_sync(win);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    int all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        die_while_operated_on();
    use_window(0);
    use_window(rank % 2 == 0); /* mixed: it is not mapped */
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d ranks wrong\n", all, size);
    MPI_Finalize();
    return all != 0;
}

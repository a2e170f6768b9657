/* A random program of one-sided operations beside a sequential model of all
 * windows. Every rank draws the same numbers, so it knows what all others do.
 *
 *   window of a target   | slot of origin 0 | slot of origin 1 | ... | shared |
 *
 * In its slot an origin may do what it wants: in one epoch either accumulates
 * and their relatives, which keep their order, or puts and gets of pieces that
 * do not overlap. In the shared part all add, under any lock.
 *
 * There is a window of MPI_Win_allocate, one of MPI_Win_create on blocks of
 * MPI_Alloc_mem, and one for which some members have other memory.
 *
 *   job_rma_random [SEED]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { SLOT = 24000, SHARED = 16, EPOCHS = 15, OPERATIONS = 12, PIECES = 8 };
enum kind { ALLOCATED, IN_BLOCKS, ELSEWHERE, KINDS };
enum how { FENCE, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_ALL, GROUPS, HOWS };

static _Thread_local int rank, size;
static _Thread_local unsigned seed;
static _Thread_local int64_t *model; /* [size][cells] */

struct result { /* of an operation of this rank, and what it must be */
    int64_t *got, *want;
    int n;
    struct result *next;
};
static _Thread_local struct result *results;
static _Thread_local void *buffers[1 << 14];
static _Thread_local int buffer_count;

static int cells_of_window(void)
{
    return SLOT * size + SHARED;
}

static int64_t *cell_at(int target, int at)
{
    return model + (size_t)target * (size_t)cells_of_window() + at;
}

static unsigned draw_of(unsigned n)
{
    return draw_from(&seed, n);
}

static void *keep_buffer(size_t n)
{
    void *p = calloc(n ? n : 1, 1);

    buffers[buffer_count++] = p;
    return p;
}

/* A type of n elements, `step` apart; 1: contiguous. */
static MPI_Datatype make_type(int n, int step, int indexed)
{
    MPI_Datatype t;
    int displs[64];

    if (indexed && n <= 64) {
        for (int i = 0; i < n; i++)
            displs[i] = i * step;
        MPI_Type_create_indexed_block(n, 1, displs, MPI_INT64_T, &t);
    } else
        MPI_Type_vector(n, 1, step, MPI_INT64_T, &t);
    MPI_Type_commit(&t);
    return t;
}

static void expect_result(int64_t *got, const int64_t *want, int n, int step)
{
    struct result *r = malloc(sizeof *r);

    r->got = got;
    r->want = malloc((size_t)n * 8);
    for (int i = 0; i < n; i++)
        r->want[i] = want[i * step];
    r->n = n;
    r->next = results;
    results = r;
}

static void check_results(void)
{
    while (results) {
        struct result *r = results;

        CHECK(!memcmp(r->got, r->want, (size_t)r->n * 8));
        results = r->next;
        free(r->want);
        free(r);
    }
    while (buffer_count)
        free(buffers[--buffer_count]);
}

static int64_t combine_values(MPI_Op op, int64_t old, int64_t in)
{
    return op == MPI_SUM       ? old + in
           : op == MPI_MAX     ? (old > in ? old : in)
           : op == MPI_BXOR    ? (old ^ in)
           : op == MPI_REPLACE ? in
                               : old;
}

/* An accumulate, a fetch or a swap at cell `at` of target, by origin. */
static void accumulate_random(MPI_Win win, int origin, int target, int at,
                              int room)
{
    MPI_Op op = (MPI_Op[]){MPI_SUM, MPI_MAX, MPI_BXOR, MPI_REPLACE,
                           MPI_NO_OP}[draw_of(5)];
    int kind = (int)draw_of(4), most = kind < 2 ? room : 1;
    int n = most > 1 ? 1 + (int)draw_of((unsigned)(draw_of(3) ? 20 : most)) : 1;
    int step = n * 3 < room ? 1 + (int)draw_of(3) : 1;
    int indexed = (int)draw_of(2);
    int64_t *to = cell_at(target, at), first = (int64_t)draw_of(1000);
    int mine = origin == rank, start = (int)draw_of(100);
    int64_t *in = mine ? keep_buffer((size_t)n * 8) : NULL;
    int64_t *old = mine ? keep_buffer((size_t)n * 8) : NULL;
    int64_t *compare = mine ? keep_buffer(8) : NULL;

    for (int i = 0; mine && i < n; i++)
        in[i] = first + i;
    if (mine && kind > 0)
        expect_result(old, to, n, step);
    MPI_Datatype t = mine ? make_type(n, step, indexed) : MPI_DATATYPE_NULL;
    if (kind == 0 && op == MPI_NO_OP)
        op = MPI_SUM;
    if (mine && kind == 0)
        MPI_Accumulate(in, n, MPI_INT64_T, target, at, 1, t, op, win);
    if (mine && kind == 1)
        MPI_Get_accumulate(in, n, MPI_INT64_T, old, n, MPI_INT64_T, target, at,
                           1, t, op, win);
    if (mine && kind == 2)
        MPI_Fetch_and_op(in, old, MPI_INT64_T, target, at, op, win);
    if (kind == 3) {
        int64_t was = start < 50 ? *to : -1;
        if (mine) {
            *compare = was;
            MPI_Compare_and_swap(in, compare, old, MPI_INT64_T, target, at,
                                 win);
        }
        *to = *to == was ? first : *to;
    } else
        for (int i = 0; i < n; i++)
            to[i * step] = combine_values(op, to[i * step], first + i);
    if (mine)
        MPI_Type_free(&t);
}

/* A put or a get of the piece that begins at `at`. */
static void move_random(MPI_Win win, int origin, int target, int at, int room)
{
    int put = (int)draw_of(2), n = 1 + (int)draw_of((unsigned)room);
    int step = n * 2 <= room ? 1 + (int)draw_of(2) : 1;
    int apart = 1 + (int)draw_of(2);
    int64_t *to = cell_at(target, at), first = (int64_t)draw_of(100000);
    int64_t *buf;

    if (origin == rank) {
        MPI_Datatype t = make_type(n, step, 0), local = make_type(n, apart, 0);
        buf = keep_buffer((size_t)n * 8 * (size_t)apart);
        for (int i = 0; put && i < n; i++)
            buf[i * apart] = first + i;
        if (put)
            MPI_Put(buf, 1, local, target, at, 1, t, win);
        else {
            buf = keep_buffer((size_t)n * 8);
            MPI_Get(buf, n, MPI_INT64_T, target, at, 1, t, win);
            expect_result(buf, to, n, step);
        }
        MPI_Type_free(&t);
        MPI_Type_free(&local);
    }
    for (int i = 0; put && i < n; i++)
        to[i * step] = first + i;
}

/* Adds to a cell of the shared part. */
static void add_shared(MPI_Win win, int origin, int target)
{
    int at = SLOT * size + (int)draw_of(SHARED);
    int64_t *in = origin == rank ? keep_buffer(8) : NULL, value = draw_of(50);

    if (in) {
        *in = value;
        MPI_Accumulate(in, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM,
                       win);
    }
    *cell_at(target, at) += value;
}

static void operate_random(MPI_Win win, int origin, int target, int may_add)
{
    int accumulates = (int)draw_of(2), n = (int)draw_of(OPERATIONS);

    for (int i = 0; i < n; i++) {
        int slot = SLOT * origin, piece = SLOT / PIECES;
        if (may_add && draw_of(4) == 0)
            add_shared(win, origin, target);
        else if (accumulates) {
            int at = (int)draw_of(SLOT - 100);
            accumulate_random(win, origin, target, slot + at, SLOT - at);
        } else if (i < PIECES)
            move_random(win, origin, target, slot + i * piece, piece);
    }
}

/* All operations of an epoch, of which this rank starts its own. */
static void run_epoch(MPI_Win win, enum how how, MPI_Group all)
{
    if (how == FENCE)
        MPI_Win_fence(0, win);
    if (how == LOCK_ALL)
        MPI_Win_lock_all(draw_of(3) ? 0 : MPI_MODE_NOCHECK, win);
    if (how == GROUPS) {
        MPI_Win_post(all, 0, win);
        MPI_Win_start(all, 0, win);
    }
    for (int origin = 0; origin < size; origin++)
        for (int target = 0; target < size; target++) {
            int flush = (int)draw_of(4), locks = how == LOCK_SHARED ||
                                              how == LOCK_EXCLUSIVE;
            if (locks && origin == rank)
                MPI_Win_lock(how == LOCK_SHARED ? MPI_LOCK_SHARED
                                                : MPI_LOCK_EXCLUSIVE,
                             target, 0, win);
            operate_random(win, origin, target, 1);
            if (origin != rank)
                continue;
            if (how != FENCE && how != GROUPS && flush == 0)
                CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
            if (how != FENCE && how != GROUPS && flush == 1)
                CHECK(MPI_Win_flush_local(target, win) == MPI_SUCCESS);
            if (locks)
                CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
        }
    if (how == FENCE)
        CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win) == MPI_SUCCESS);
    if (how == LOCK_ALL)
        CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    if (how == GROUPS) {
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    }
}

static int draw_seed(int argc, char **argv)
{
    int value = argc > 1 ? atoi(argv[1]) : 1;

    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

static MPI_Win make_window(enum kind kind, MPI_Aint bytes, int64_t **base)
{
    MPI_Win win;

    if (kind == ALLOCATED) {
        MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, &win);
    } else {
        if (kind == IN_BLOCKS || rank % 3 != 1) {
            MPI_Alloc_mem(bytes, MPI_INFO_NULL, base);
            memset(*base, 0, (size_t)bytes);
        } else
            *base = calloc(1, (size_t)bytes);
        MPI_Win_create(*base, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

static void free_window(enum kind kind, MPI_Win win, int64_t *base)
{
    MPI_Win_free(&win);
    if (kind == IN_BLOCKS || (kind == ELSEWHERE && rank % 3 != 1))
        MPI_Free_mem(base);
    else if (kind == ELSEWHERE)
        free(base);
}

/* Returns whether memory and model have become the same. */
static int run_and_compare(MPI_Win win, const int64_t *base, MPI_Group all)
{
    enum how how = (enum how)draw_of(HOWS);
    size_t bytes = (size_t)cells_of_window() * 8;
    int same;

    run_epoch(win, how, all);
    MPI_Barrier(MPI_COMM_WORLD);
    check_results();
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    same = !memcmp(base, cell_at(rank, 0), bytes);
    MPI_Win_unlock(rank, win);
    CHECK(same);
    if (!same)
        fprintf(stderr, "rank %d, how %d\n", rank, how);
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return same;
}

static void run_kind(enum kind kind)
{
    MPI_Aint bytes = cells_of_window() * (MPI_Aint)8;
    int64_t *base;
    MPI_Win win = make_window(kind, bytes, &base);
    MPI_Group all;

    MPI_Win_get_group(win, &all);
    model = calloc((size_t)size, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < EPOCHS && run_and_compare(win, base, all); i++)
        continue;
    MPI_Group_free(&all);
    free_window(kind, win, base);
    free(model);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    seed = (unsigned)draw_seed(argc, argv);
    for (enum kind kind = 0; kind < KINDS; kind++)
        run_kind(kind);
    return job_end();
}

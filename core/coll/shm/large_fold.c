/* Large shared-memory reductions. The vector is cut into one block for each
 * member, as the schedules cut it, and every step takes a piece of each block:
 *
 *   chunk of a member   piece of block 0 | of block 1 | ... | result
 *
 *   publish   the operands of this step, for all blocks
 *   fold      the own block, over the chunks of all, into `result`
 *   publish   again: the result is there, for all that want it
 *
 * A scan leaves the sum up to each rank in place of that rank's operand.
 *
 * Each element is computed by one member, in the order and with the brackets of
 * the schedule that would run: the same bits everywhere, whichever way a call
 * goes. The chunks of a step have been read when all have published the next
 * one.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/decision.h"
#include "coll/shm/large_fold.h"
#include "coll/shm/fold.h"
#include "coll/shm/tuning.h"

/* A reduction or scan through the staging ring. */
struct staged_reduction {
    /* first member: callbacks are given it; its pieces are of one block */
    struct wf_staged_call g;
    enum wf_shmcoll_order order;
    uint64_t block_count[WF_SHMCOLL_RANKS_MAX],
        block_first[WF_SHMCOLL_RANKS_MAX]; /* elements, by block */
    uint64_t piece_count;                  /* elements of a piece */
    int reader; /* rank that gets the whole result, or one of the following */
};

/* The part that each rank gets: all of the result; the block of its rank; of a
 * scan, the sum up to its own operand, or below it. */
enum { TO_ALL = -1, TO_OWNER = -2, SCAN_INCLUSIVE = -3, SCAN_EXCLUSIVE = -4 };
/* ---- the order ----------------------------------------------------------- */

static uint32_t able_algorithms(const struct wf_coll_args *a,
                                enum wf_coll_kind kind)
{
    if (kind != WF_COLL_REDUCE_SCATTER && a->rcount < (uint64_t)a->comm->size)
        return WF_ALG_ANY & ~WF_ALG(BLOCKS);
    return WF_ALG_ANY;
}

/* Finds the order in which the schedule that would run evaluates. False: it has
 * another order, or not one order for each element. */
static bool find_order(const struct wf_coll_args *a, enum wf_coll_kind kind,
                       uint64_t bytes, enum wf_shmcoll_order *order)
{
    bool reduce = kind == WF_COLL_REDUCE;

    switch (
        wf_coll_find_rule(a->comm, kind, bytes, able_algorithms(a, kind), NULL)
            ->algorithm) {
    case WF_ALG_BLOCKS:
        *order = WF_SHMCOLL_ORDER_BLOCKS;
        return !reduce; /* one order for all blocks */
    case WF_ALG_RING:
        *order = WF_SHMCOLL_ORDER_RING;
        return !reduce;
    case WF_ALG_CHAIN:
        *order = WF_SHMCOLL_ORDER_CHAIN;
        return reduce;
    case WF_ALG_BINOMIAL:
        *order = WF_SHMCOLL_ORDER_TREE;
        return reduce;
    default:
        return false;
    }
}

/* Returns the bytes of the longest pieces of which one for each member, and a
 * result, fit a chunk: whole lines. */
static uint64_t most_piece_bytes(const struct wf_shmcoll *t)
{
    return t->chunk_bytes / ((uint64_t)t->size + 1) / WF_CACHE_LINE *
           WF_CACHE_LINE;
}

bool wf_staging_can_reduce(const struct wf_coll_args *a, enum wf_coll_kind kind,
                           uint64_t bytes)
{
    enum wf_shmcoll_order order;

    if (!a->op->predefined || !wf_type_is_contiguous(a->rtype) ||
        !most_piece_bytes(a->comm->shmcoll))
        return false;
    if (kind != WF_COLL_REDUCE_SCATTER &&
        a->comm->size < WF_SHMCOLL_REDUCE_FEW &&
        bytes >= WF_SHMCOLL_REDUCE_FEW_MOST)
        return false;
    return find_order(a, kind, bytes, &order);
}

/* ---- pieces -------------------------------------------------------------- */

/* Returns the number of elements of a block in a step. */
static uint64_t count_elements(const struct staged_reduction *x, int block,
                               uint32_t step)
{
    uint64_t before = step * x->piece_count;

    if (before >= x->block_count[block])
        return 0;
    return x->block_count[block] - before < x->piece_count
               ? x->block_count[block] - before
               : x->piece_count;
}

/* Returns where a step's piece of a block is in a vector of the program's. */
static char *piece_of(const struct staged_reduction *x, const void *vector,
                      int block, uint32_t step)
{
    const struct wf_type *type = x->g.a->rtype;

    return wf_type_data(type, vector) +
           (x->block_first[block] + step * x->piece_count) *
               (uint64_t)type->size;
}

/* Returns the bytes of that piece. */
static uint64_t piece_bytes(const struct staged_reduction *x, int block,
                            uint32_t step)
{
    return count_elements(x, block, step) * (uint64_t)x->g.a->rtype->size;
}

/* Returns the place of that member's operands of a block; behind those of all
 * blocks is its result. */
static char *place_of(const struct staged_reduction *x, int rank, int block)
{
    return (char *)wf_staging_chunk_of(x->g.t, rank) +
           (uint64_t)block * x->g.piece_bytes;
}

static char *result_of(const struct staged_reduction *x, int rank)
{
    return place_of(x, rank, x->g.t->size);
}

static int fill_operands(struct wf_staged_call *g, uint32_t step,
                         unsigned char *to)
{
    struct staged_reduction *x = wf_container(g, struct staged_reduction, g);
    const void *from = wf_shmcoll_own_operand(g->a);

    for (int b = 0; b < g->t->size; b++) {
        uint64_t n = piece_bytes(x, b, step);

        if (n)
            wf_staging_copy_in(g->t, to, piece_of(x, from, b, step), n);
        to += g->piece_bytes;
    }
    return MPI_SUCCESS;
}

/* Reduces the own block; all have published their operands. */
static int fold_own_block(struct staged_reduction *x, uint32_t step)
{
    struct wf_shmcoll *t = x->g.t;
    const struct wf_coll_args *a = x->g.a;
    const void *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {.a = a,
                                .offset = (uint64_t)t->rank * x->g.piece_bytes,
                                .count = count_elements(x, t->rank, step),
                                .operands = from,
                                .order = x->order,
                                .first_rank = x->reader >= 0 ? x->reader : 0,
                                .owner = t->rank,
                                .own_first = a->sbuf == MPI_IN_PLACE};

    if (f.count == 0)
        return MPI_SUCCESS;
    for (int r = 0; r < t->size; r++)
        from[r] = wf_staging_chunk_of(t, r);
    f.out = result_of(x, t->rank);
    if (x->reader == TO_OWNER)
        f.out = wf_type_data(a->rtype, a->rbuf) +
                step * x->piece_count * (uint64_t)a->rtype->size;
    return wf_shmcoll_fold(t, &f);
}

/* Computes the sums of the own block: what each rank has published becomes the
 * sum up to that rank. */
static int fold_prefixes(struct staged_reduction *x, uint32_t step)
{
    int me = x->g.t->rank, rc = MPI_SUCCESS;
    uint64_t n = count_elements(x, me, step);

    for (int r = 1; r < x->g.t->size && n && !rc; r++)
        rc = wf_shmcoll_apply_op(x->g.a, place_of(x, r - 1, me),
                                 place_of(x, r, me), n);
    return rc;
}

/* ---- steps --------------------------------------------------------------- */

/* Publishes the operands of a step, unless those of the first one have been
 * published already, and waits for those of all. */
static int exchange_operands(struct staged_reduction *x, uint32_t step)
{
    struct wf_shmcoll *t = x->g.t;
    int rc = MPI_SUCCESS;

    if (step > 0 || !x->g.first_chunk_filled) {
        fill_operands(&x->g, step, wf_staging_chunk_of(t, t->rank));
        wf_staging_publish_chunks(t, 2 * step + 1, MPI_SUCCESS);
    }
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r))
        rc = wf_staging_wait_chunks(t, r, 2 * step + 1);
    return rc;
}

static bool is_scan(const struct staged_reduction *x)
{
    return x->reader <= SCAN_INCLUSIVE;
}

/* Returns true if this member gets a result; that of the lowest rank is nothing
 * in an exclusive scan. */
static bool has_result(const struct staged_reduction *x)
{
    return x->reader == TO_ALL || x->reader == x->g.t->rank ||
           x->reader == SCAN_INCLUSIVE ||
           (x->reader == SCAN_EXCLUSIVE && x->g.t->rank > 0);
}

/* Copies the result of a step: of each block when its member has computed it.
 * The sums of a scan are in the chunk of the last rank that they include. */
static int read_results(struct staged_reduction *x, uint32_t step)
{
    struct wf_shmcoll *t = x->g.t;
    int last = x->reader == SCAN_EXCLUSIVE ? t->rank - 1 : t->rank;
    int r = t->rank, rc = MPI_SUCCESS;

    do {
        uint64_t n = piece_bytes(x, r, step);

        if (n && r != t->rank)
            rc = wf_staging_wait_chunks(t, r, 2 * step + 2);
        if (n && !rc)
            memcpy(piece_of(x, x->g.a->rbuf, r, step),
                   is_scan(x) ? place_of(x, last, r) : result_of(x, r), n);
        r = wf_shmcoll_next_rank(t, r);
    } while (r != t->rank && !rc);
    return rc;
}

static int run_reduction_step(struct wf_staged_call *g, uint32_t step)
{
    struct staged_reduction *x = wf_container(g, struct staged_reduction, g);
    int rc = exchange_operands(x, step);

    if (!rc)
        rc = is_scan(x) ? fold_prefixes(x, step) : fold_own_block(x, step);
    if (x->reader == TO_OWNER)
        return rc;
    wf_staging_publish_chunks(g->t, 2 * step + 2, rc);
    return rc || !has_result(x) ? rc : read_results(x, step);
}

/* ---- calls --------------------------------------------------------------- */

static void cut_vector(struct staged_reduction *x)
{
    const struct wf_coll_args *a = x->g.a;
    uint64_t p = (uint64_t)a->comm->size, at = 0;
    uint64_t size = (uint64_t)a->rtype->size, longest = 0;

    for (uint64_t b = 0; b < p; b++) {
        x->block_count[b] = x->reader == TO_OWNER
                                ? wf_coll_rcount(a, (int)b)
                                : a->rcount / p + (b < a->rcount % p);
        x->block_first[b] = at;
        at += x->block_count[b];
        longest = x->block_count[b] > longest ? x->block_count[b] : longest;
    }
    x->g.piece_bytes = most_piece_bytes(x->g.t);
    WF_ASSERT(x->g.piece_bytes);
    if (longest * size < x->g.piece_bytes)
        x->g.piece_bytes =
            (longest * size + WF_CACHE_LINE) / WF_CACHE_LINE * WF_CACHE_LINE;
    x->g.step_bytes = (uint32_t)(x->g.piece_bytes * (p + 1));
    x->piece_count = x->g.piece_bytes / size;
    x->g.steps = (uint32_t)((longest + x->piece_count - 1) / x->piece_count);
    x->g.bytes = at * size;
    x->g.fill_chunk = fill_operands;
    x->g.run_step = run_reduction_step;
}

static void init_reduction(struct staged_reduction *x,
                           const struct wf_coll_args *a, enum wf_coll_kind kind,
                           int reader)
{
    x->g = (struct wf_staged_call){.t = a->comm->shmcoll, .a = a};
    x->reader = reader;
    x->order = WF_SHMCOLL_ORDER_TREE;
    cut_vector(x);
    (void)find_order(a, kind, x->g.bytes, &x->order);
}

int wf_staging_allreduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct staged_reduction x;

    init_reduction(&x, a, WF_COLL_ALLREDUCE, TO_ALL);
    return wf_staging_run_all_to_all(&x.g, builder);
}

int wf_staging_reduce_scatter(wf_coll_builder *builder,
                              const struct wf_coll_args *a)
{
    struct staged_reduction x;

    init_reduction(&x, a, WF_COLL_REDUCE_SCATTER, TO_OWNER);
    return wf_staging_run_all_to_all(&x.g, builder);
}

int wf_staging_reduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct staged_reduction x;

    init_reduction(&x, a, WF_COLL_REDUCE, a->root);
    return wf_staging_run_synchronized(&x.g, builder);
}

int wf_staging_scan(wf_coll_builder *builder, const struct wf_coll_args *a,
                    bool exclusive)
{
    struct staged_reduction x;

    init_reduction(&x, a, WF_COLL_SCAN,
                   exclusive ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE);
    x.g.some_do_not_wait = true;
    return wf_staging_run_all_to_all(&x.g, builder);
}

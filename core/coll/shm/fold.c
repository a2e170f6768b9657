/* Reducing the contributions of all members in the order and with the brackets
 * of the schedules: the same bits, whichever way a call goes.
 *
 * DESIGN  Of a tree, values stand on a stack, the oldest with the highest
 * level; two of one level become one of the next, as in a binary counter. That
 * is what a binomial tree and recursive doubling compute. In recursive doubling
 * some ranks are combined in pairs first (allreduce.c): they begin one level
 * lower. The other orders combine one rank after the other.
 *
 * A value that is only read stays where its writer put it. One that is written
 * is copied first, the last one to the receive buffer, where the result must
 * be: a merge stores its result in its higher operand.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/fold.h"

#include <stdlib.h>

#include "coll/shm/tuning.h"
#include "datatype/describe.h"
#include "object/error.h"

enum {
    /* levels for the largest number of members, and two more */
    MAX_LEVELS = 12,
    PLACES = MAX_LEVELS + 1, /* of each level, and of a result */
    STACK_SCRATCH = 256
};
_Static_assert(WF_SHMCOLL_RANKS_MAX == 1 << (MAX_LEVELS - 2),
               "a tree has a level for each doubling of the members");

int wf_shmcoll_find_operands(struct wf_shmcoll *t, uint64_t bytes,
                             const void *own, const void **from)
{
    int rc = wf_shmcoll_check_all_lengths(t, bytes);

    for (int r = 0; r < t->size && wf_likely(!rc); r++)
        from[r] = r == t->rank ? own : wf_shmcoll_data_of(t, r, bytes);
    return rc;
}

/* ---- operands ------------------------------------------------------------ */

/* A reduction under way. Operations of the program get copies of the operands,
 * because nobody knows what they do with them; and so do types with holes, in
 * whose layout the copies are. */
struct folding {
    const struct wf_shmcoll_fold *f;
    bool copies;
    int64_t low; /* of the first byte of an operand, from its first element */
    uint64_t stride; /* from a place of the scratch memory to the next */
    char *scratch;   /* PLACES of them */
    char *out;       /* the result, in the layout of the type */
};

static uint64_t operand_bytes(const struct wf_shmcoll_fold *f)
{
    return f->count * (uint64_t)f->a->rtype->size;
}

static const char *operand_of(const struct folding *g, int rank)
{
    return (const char *)g->f->operands[rank] + g->f->offset;
}

static int copy_operand_to(const struct folding *g, char *to, const char *from)
{
    const struct wf_type *t = g->f->a->rtype;

    if (wf_likely(wf_type_is_contiguous(t))) {
        wf_shmcoll_copy_bytes(to, from, operand_bytes(g->f));
        return MPI_SUCCESS;
    }
    return wf_shmcoll_unpack_elements(from, to - g->low, g->f->count, t);
}

/* Computes inout = in op inout: `in` is the lower operand. */
static int apply_op(const struct folding *g, const char *in, char *inout)
{
    const struct wf_coll_args *a = g->f->a;

    return wf_op_apply(a->comm->wf, a->op, in - g->low, inout - g->low,
                       g->f->count, a->rtype);
}

/* Finds scratch memory: `small` if the places fit. */
static bool find_scratch(struct folding *g, struct wf_shmcoll *t, char *small)
{
    uint64_t bytes;

    g->scratch = small;
    if (__builtin_mul_overflow(g->stride, PLACES, &bytes))
        return false;
    if (bytes <= STACK_SCRATCH)
        return true;
    if (bytes > t->scratch_bytes) {
        free(t->scratch);
        t->scratch = malloc(bytes);
        t->scratch_bytes = t->scratch ? bytes : 0;
    }
    g->scratch = t->scratch;
    return t->scratch != NULL;
}

/* Prepares to fold copies of the operands. */
static WF_COLD bool prepare_copies(struct folding *g)
{
    const struct wf_type *t = g->f->a->rtype;
    int64_t high;

    if (!wf_type_reach(t, g->f->count, &g->low, &high))
        return false;
    g->copies = true;
    g->stride = ((uint64_t)(high - g->low) + WF_CACHE_LINE - 1) &
                ~(uint64_t)(WF_CACHE_LINE - 1);
    return true;
}

/* ---- sequential orders --------------------------------------------------- */

static int rank_at(const struct wf_shmcoll_fold *f, int size, int i)
{
    int r;

    if (f->order == WF_SHMCOLL_ORDER_RING)
        return (f->owner + 1 + i) % size;
    if (f->order == WF_SHMCOLL_ORDER_CHAIN)
        return (f->first_rank + size - 1 - i) % size;
    if (i == (f->own_first ? 0 : 1))
        return f->owner;
    r = size - 1 - (i ? i - 1 : 0);
    return r > f->owner ? r : r - 1;
}

static int fold_sequentially(const struct folding *g, int size)
{
    int rc = copy_operand_to(g, g->out, operand_of(g, rank_at(g->f, size, 0)));

    for (int i = 1; i < size && !rc; i++) {
        const char *in = operand_of(g, rank_at(g->f, size, i));

        if (g->copies) {
            rc = copy_operand_to(g, g->scratch, in);
            in = g->scratch;
        }
        if (!rc)
            rc = apply_op(g, in, g->out);
    }
    return rc;
}

/* ---- a tree -------------------------------------------------------------- */

/* A value on the stack. */
struct value {
    const char *at;
    int level;
};

/* The values that are not merged yet. No two that are kept have the same place
 * in the scratch memory, which is that of their level. */
struct stack {
    const struct folding *g;
    struct value v[MAX_LEVELS];
    int n;
};

/* Returns the level that the newest value has when it is merged with all that
 * it can be merged with. */
static int merged_level(const struct stack *s)
{
    int level = s->v[s->n - 1].level;

    for (int i = s->n - 2; i >= 0 && s->v[i].level == level; i--)
        level++;
    return level;
}

/* Copies the newest value to where it may be overwritten. */
static int make_writable(struct stack *s, bool last, char **to)
{
    struct value *v = &s->v[s->n - 1];
    const char *from = v->at;

    *to = last ? s->g->out
               : s->g->scratch + (uint64_t)merged_level(s) * s->g->stride;
    v->at = *to;
    return copy_operand_to(s->g, *to, from);
}

static bool is_top_mergeable(const struct stack *s)
{
    return s->n > 1 && s->v[s->n - 2].level == s->v[s->n - 1].level;
}

/* Merges the two newest values into one of a higher level. `to` is the
 * newest. */
static int merge_top(struct stack *s, char *to)
{
    int rc = apply_op(s->g, s->v[s->n - 2].at, to);

    s->n--;
    s->v[s->n - 1].at = to;
    s->v[s->n - 1].level++;
    return rc;
}

static int push_operand(struct stack *s, int rank, int level, bool last)
{
    char *to = NULL;
    int rc = MPI_SUCCESS;

    s->v[s->n++] = (struct value){operand_of(s->g, rank), level};
    if (last || s->g->copies || is_top_mergeable(s))
        rc = make_writable(s, last, &to);
    while (!rc && s->n > 1 && (last || is_top_mergeable(s)))
        rc = merge_top(s, to);
    return rc;
}

static int fold_tree(const struct folding *g, int size)
{
    const struct wf_shmcoll_fold *f = g->f;
    int rc = MPI_SUCCESS;
    struct stack s = {.g = g};

    for (int i = 0; i < size && !rc; i++) {
        int rank = f->first_rank + i < size ? f->first_rank + i
                                            : f->first_rank + i - size;

        rc = push_operand(&s, rank, i < f->paired_ranks ? 0 : 1, i == size - 1);
    }
    return rc;
}

int wf_shmcoll_fold(struct wf_shmcoll *t, const struct wf_shmcoll_fold *f)
{
    const struct wf_type *type = f->a->rtype;
    bool whole = wf_type_is_contiguous(type);
    _Alignas(16) char small[STACK_SCRATCH];
    struct folding g = {.f = f,
                        .low = type->true_lb,
                        .stride = operand_bytes(f),
                        .out = f->out};
    int rc;

    if ((wf_unlikely(!whole || !f->a->op->predefined) && !prepare_copies(&g)) ||
        !find_scratch(&g, t, small))
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a reduction");
    if (wf_unlikely(!whole))
        g.out = g.scratch + (PLACES - 1) * g.stride;
    rc = f->order == WF_SHMCOLL_ORDER_TREE ? fold_tree(&g, t->size)
                                           : fold_sequentially(&g, t->size);
    if (wf_unlikely(!whole) && !rc)
        rc = wf_type_copy(type, g.out - g.low, f->count, type,
                          (char *)f->out - type->true_lb, f->count);
    return rc;
}

/* Returns the number of ranks that recursive doubling first combines in
 * pairs. */
static int count_paired_ranks(int size)
{
    int members = 1;

    while (2 * members <= size)
        members *= 2;
    return 2 * (size - members);
}

int wf_shmcoll_fold_all(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    const void *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {.a = a,
                                .count = a->rcount,
                                .operands = from,
                                .out = wf_type_data(a->rtype, a->rbuf),
                                .paired_ranks = count_paired_ranks(t->size)};
    int rc = wf_shmcoll_find_operands(
        t, bytes, wf_shmcoll_data_of(t, t->rank, bytes), from);

    return rc ? rc : wf_shmcoll_fold(t, &f);
}

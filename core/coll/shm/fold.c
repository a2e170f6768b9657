/* Reducing the contributions of all members, in the order and with the brackets
 * of the schedules: the same bits, whichever way a call goes.
 *
 * Of a tree, values stand on a stack, the oldest with the highest level; two of
 * one level become one of the next, as in a binary counter. That is what a
 * binomial tree and recursive doubling compute. In recursive doubling some
 * ranks are combined in pairs first (allreduce.c): they begin one level lower.
 * The other orders combine one rank after the other.
 *
 * A value that is only read stays where its writer put it. One that is written
 * is copied first, the last one to the receive buffer, where the result must
 * be: a merge stores its result in its higher operand.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/fold.h"

#include <stdlib.h>

#include "coll/shm/contribution.h"
#include "report/error.h"

enum {
    /* levels for the largest number of members, and one more */
    MAX_LEVELS = 10,
    STACK_SCRATCH = 256
};

void wf_shmcoll_find_operands(struct wf_shmcoll *t, uint64_t bytes,
                              const void *own, const void **from)
{
    for (int r = 0; r < t->size; r++)
        from[r] = r == t->rank ? own : wf_shmcoll_data_of(t, r, bytes);
}

static const char *operand_of(const struct wf_shmcoll_fold *f, int rank)
{
    return (const char *)f->operands[rank] + f->offset;
}

/* out = in op out */
static int apply_op(const struct wf_shmcoll_fold *f, const char *in, char *out)
{
    int64_t lb = f->a->rtype->true_lb;

    return wf_op_apply(f->a->comm->wf, f->a->op, in - lb, out - lb, f->count,
                       f->a->rtype);
}

static uint64_t operand_bytes(const struct wf_shmcoll_fold *f)
{
    return f->count * (uint64_t)f->a->rtype->size;
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

static int fold_sequentially(const struct wf_shmcoll_fold *f, int size)
{
    int rc = MPI_SUCCESS;

    wf_shmcoll_copy_bytes(f->out, operand_of(f, rank_at(f, size, 0)),
                          operand_bytes(f));
    for (int i = 1; i < size && !rc; i++)
        rc = apply_op(f, operand_of(f, rank_at(f, size, i)), f->out);
    return rc;
}

/* ---- a tree -------------------------------------------------------------- */

/* A value on the stack. */
struct value {
    const char *at;
    int level;
};

/* The values that are not merged yet. */
struct stack {
    const struct wf_shmcoll_fold *f;
    struct value v[MAX_LEVELS];
    int n;
    char *
        /* scratch: one place for each level; no two values kept have the
         * same */
        scratch;
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
static char *make_writable(struct stack *s, bool last)
{
    struct value *v = &s->v[s->n - 1];
    char *to =
        last ? s->f->out
             : s->scratch + (uint64_t)merged_level(s) * operand_bytes(s->f);

    wf_shmcoll_copy_bytes(to, v->at, operand_bytes(s->f));
    v->at = to;
    return to;
}

static bool is_top_mergeable(const struct stack *s)
{
    return s->n > 1 && s->v[s->n - 2].level == s->v[s->n - 1].level;
}

/* Merges the two newest values into one of a higher level. `to` is the
 * newest. */
static int merge_top(struct stack *s, char *to)
{
    int rc = apply_op(s->f, s->v[s->n - 2].at, to);

    s->n--;
    s->v[s->n - 1].at = to;
    s->v[s->n - 1].level++;
    return rc;
}

static int push_operand(struct stack *s, int rank, int level, bool last)
{
    char *to = NULL;
    int rc = MPI_SUCCESS;

    s->v[s->n++] = (struct value){operand_of(s->f, rank), level};
    if (last || is_top_mergeable(s))
        to = make_writable(s, last);
    while (!rc && s->n > 1 && (last || is_top_mergeable(s)))
        rc = merge_top(s, to);
    return rc;
}

static bool find_scratch(struct stack *s, struct wf_shmcoll *t, char *small)
{
    size_t bytes = MAX_LEVELS * operand_bytes(s->f);

    s->scratch = small;
    if (bytes <= STACK_SCRATCH)
        return true;
    if (bytes > t->scratch_bytes) {
        free(t->scratch);
        t->scratch = malloc(bytes);
        t->scratch_bytes = t->scratch ? bytes : 0;
    }
    s->scratch = t->scratch;
    return t->scratch != NULL;
}

int wf_shmcoll_fold(struct wf_shmcoll *t, const struct wf_shmcoll_fold *f)
{
    int rc = MPI_SUCCESS;
    _Alignas(16) char small[STACK_SCRATCH];
    struct stack s = {.f = f};

    if (f->order != WF_SHMCOLL_ORDER_TREE)
        return fold_sequentially(f, t->size);
    if (!find_scratch(&s, t, small))
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a reduction");
    for (int i = 0; i < t->size && !rc; i++) {
        int rank = f->first_rank + i < t->size ? f->first_rank + i
                                               : f->first_rank + i - t->size;

        rc = push_operand(&s, rank, i < f->paired_ranks ? 0 : 1,
                          i == t->size - 1);
    }
    return rc;
}

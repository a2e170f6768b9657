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
#include <stdlib.h>

#include "coll/team_data.h"

enum {
    LEVELS = 10 /* levels for the largest number of members, and one more */,
    SMALL = 256
};

void wf_team_sources(struct wf_team *t, uint64_t bytes, const void *own,
                     const void **from)
{
    for (int r = 0; r < t->size; r++)
        from[r] = r == t->rank ? own : wf_team_data(t, r, bytes);
}

static const char *contribution(const struct wf_team_fold *f, int rank)
{
    return (const char *)f->from[rank] + f->at;
}

/* out = in op out */
static int apply(const struct wf_team_fold *f, const char *in, char *out)
{
    int64_t lb = f->a->rtype->true_lb;

    return wf_op_apply(f->a->comm->wf, f->a->op, in - lb, out - lb, f->count,
                       f->a->rtype);
}

static uint64_t length(const struct wf_team_fold *f)
{
    return f->count * (uint64_t)f->a->rtype->size;
}

/* ---- sequential orders ----- */

static int rank_at(const struct wf_team_fold *f, int size, int i)
{
    int r;

    if (f->order == WF_TEAM_BY_RING)
        return (f->owner + 1 + i) % size;
    if (f->order == WF_TEAM_BY_CHAIN)
        return (f->first + size - 1 - i) % size;
    if (i == (f->own_first ? 0 : 1))
        return f->owner;
    r = size - 1 - (i ? i - 1 : 0);
    return r > f->owner ? r : r - 1;
}

static int fold_row(const struct wf_team_fold *f, int size)
{
    int rc = MPI_SUCCESS;

    wf_team_bytes_copy(f->out, contribution(f, rank_at(f, size, 0)),
                       length(f));
    for (int i = 1; i < size && !rc; i++)
        rc = apply(f, contribution(f, rank_at(f, size, i)), f->out);
    return rc;
}

/* ---- a tree ----------------------------------------------------------------- */

struct value {
    const char *at;
    int level;
};

struct stack {
    const struct wf_team_fold *f;
    struct value v[LEVELS];
    int n;
    char *
        /* scratch: one place for each level; no two values kept have the
         * same */
        room;
};

/* Returns the level that the newest value has when it is merged with all that
 * it can be merged with. */
static int level_to_be(const struct stack *s)
{
    int level = s->v[s->n - 1].level;

    for (int i = s->n - 2; i >= 0 && s->v[i].level == level; i--)
        level++;
    return level;
}

/* Copies the newest value to where it may be overwritten. */
static char *writable(struct stack *s, bool last)
{
    struct value *v = &s->v[s->n - 1];
    char *to = last ? s->f->out
                    : s->room + (uint64_t)level_to_be(s) * length(s->f);

    wf_team_bytes_copy(to, v->at, length(s->f));
    v->at = to;
    return to;
}

static bool equal_levels(const struct stack *s)
{
    return s->n > 1 && s->v[s->n - 2].level == s->v[s->n - 1].level;
}

/* Merges the two newest values into one of a higher level. `to` is the
 * newest. */
static int merge(struct stack *s, char *to)
{
    int rc = apply(s->f, s->v[s->n - 2].at, to);

    s->n--;
    s->v[s->n - 1].at = to;
    s->v[s->n - 1].level++;
    return rc;
}

static int push(struct stack *s, int rank, int level, bool last)
{
    char *to = NULL;
    int rc = MPI_SUCCESS;

    s->v[s->n++] = (struct value){contribution(s->f, rank), level};
    if (last || equal_levels(s))
        to = writable(s, last);
    while (!rc && s->n > 1 && (last || equal_levels(s)))
        rc = merge(s, to);
    return rc;
}

static bool find_room(struct stack *s, struct wf_team *t, char *small)
{
    size_t bytes = LEVELS * length(s->f);

    s->room = small;
    if (bytes <= SMALL)
        return true;
    if (bytes > t->scratch_bytes) {
        free(t->scratch);
        t->scratch = malloc(bytes);
        t->scratch_bytes = t->scratch ? bytes : 0;
    }
    s->room = t->scratch;
    return t->scratch != NULL;
}

int wf_team_fold(struct wf_team *t, const struct wf_team_fold *f)
{
    int rc = MPI_SUCCESS;
    _Alignas(16) char small[SMALL];
    struct stack s = {.f = f};

    if (f->order != WF_TEAM_BY_TREE)
        return fold_row(f, t->size);
    if (!find_room(&s, t, small))
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a reduction");
    for (int i = 0; i < t->size && !rc; i++) {
        int rank = f->first + i < t->size ? f->first + i
                                          : f->first + i - t->size;

        rc = push(&s, rank, i < f->pairs ? 0 : 1, i == t->size - 1);
    }
    return rc;
}

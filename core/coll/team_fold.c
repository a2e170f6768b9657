/* Reducing the contributions of a team, in the order and with the brackets of
 * the schedules: the same bits, whichever way a call goes.
 *
 * Values stand on a stack, the oldest with the highest level; two of one level
 * become one of the next, as in a binary counter. That is what a binomial tree
 * and recursive doubling compute. Of the latter, some ranks go in pairs first
 * (allreduce.c): they begin one level lower.
 *
 * A value that is only read stays where its writer put it. One that is written
 * is copied first, the last one to the receive buffer, where the result must be:
 * a merge lands in its higher operand.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "coll/team_data.h"

enum {
    LEVELS = 10 /* that so many members can have, and one more */,
    SMALL = 256
};

struct value {
    const void *at;
    int level;
};

struct stack {
    const struct wf_team_fold *f;
    struct value v[LEVELS];
    int n;
    char *
        room; /* one place for each level: no two that are kept have the same */
};

static const void *contribution(const struct wf_team_fold *f, int rank)
{
    return rank == f->t->rank ? f->own : wf_team_data(f->t, rank, f->bytes);
}

/* The level that the newest value has when it is merged with all it can be. */
static int level_to_be(const struct stack *s)
{
    int level = s->v[s->n - 1].level;

    for (int i = s->n - 2; i >= 0 && s->v[i].level == level; i--)
        level++;
    return level;
}

/* The newest value, where it may be overwritten. */
static char *writable(struct stack *s, bool last)
{
    struct value *v = &s->v[s->n - 1];
    char *to = last ? (char *)s->f->a->rbuf + s->f->a->rtype->true_lb
                    : s->room + (uint64_t)level_to_be(s) * s->f->bytes;

    wf_team_bytes_copy(to, v->at, s->f->bytes);
    v->at = to;
    return to;
}

static bool equal_levels(const struct stack *s)
{
    return s->n > 1 && s->v[s->n - 2].level == s->v[s->n - 1].level;
}

/* The two newest become one of a higher level. to: the newest */
static int merge(struct stack *s, char *to)
{
    const struct wf_coll_args *a = s->f->a;
    int64_t lb = a->rtype->true_lb;
    int rc = wf_op_apply(a->op, (const char *)s->v[s->n - 2].at - lb, to - lb,
                         a->rcount, a->rtype);

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

static bool find_room(struct stack *s, char *small)
{
    struct wf_team *t = s->f->t;

    s->room = small;
    if (LEVELS * s->f->bytes <= SMALL)
        return true;
    if (!t->scratch)
        t->scratch = malloc((size_t)LEVELS * t->block);
    s->room = t->scratch;
    return t->scratch != NULL;
}

int wf_team_fold(const struct wf_team_fold *f)
{
    int size = f->t->size, rc = MPI_SUCCESS;
    _Alignas(16) char small[SMALL];
    struct stack s = {.f = f};

    if (!find_room(&s, small))
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a reduction");
    for (int i = 0; i < size && !rc; i++) {
        int rank = f->first + i < size ? f->first + i : f->first + i - size;

        rc = push(&s, rank, i < f->pairs ? 0 : 1, i == size - 1);
    }
    return rc;
}

/* A cell of the matrix is called, and afterwards the whole memory compared.
 *
 * Types that were made for the call are freed as soon as it has been made.
 * Arguments that are not significant where they are given are wrong on purpose.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix_cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the call ------------------------------------------------------------ */

static void clear_side(struct mx_side *s)
{
    s->buf = NULL;
    s->count = -7;
    s->type = MPI_DATATYPE_NULL;
    for (int i = 0; i < MX_RANKS; i++) {
        s->counts[i] = -7;
        s->counts_c[i] = -7;
        s->types[i] = MPI_DATATYPE_NULL;
    }
}

static void choose_arguments(const struct view *v, struct mx_call *c)
{
    bool bcast = !(v->is & (MX_TO_MANY | MX_FROM_MANY | MX_FOLD));
    const struct mx_rank *m = v->m;

    c->mode = v->c->mode;
    c->large = v->c->large;
    c->op = m->ops[v->c->class][mx_which_op(v)];
    c->comm = v->c->inter ? m->inter[v->c->dice & 1]
              : v->is & MX_NEAR ? m->graph
                                : m->world;
    c->root = v->root;
    if (v->c->inter && v->first == 0)
        c->root = v->me == v->root ? MPI_ROOT : MPI_PROC_NULL;
    if (!v->sends && !(v->is & MX_FOLD))
        clear_side(&c->s);
    if (!v->receives && !(v->is & MX_FOLD) && !(bcast && v->sends))
        clear_side(&c->r);
    if (!v->receives && (v->is & MX_FOLD))
        c->r.buf = NULL;
    if (!v->sends)
        c->s.buf = NULL;
    if (v->place && (v->is & MX_FROM_ROOT)) {
        clear_side(&c->r);
        c->r.buf = MPI_IN_PLACE;
    } else if (v->place) {
        clear_side(&c->s);
        c->s.buf = MPI_IN_PLACE;
    }
}

static void say_something(const struct view *v, const char *what, size_t byte)
{
    static const char *const modes[] = {"blocking", "nonblocking",
                                        "persistent"};
    const struct mx_cell *c = v->c;

    fprintf(stderr,
            "rank %d of %d: %s %s%s, %s%s%s, size %d, root %d, dice %u: byte "
            "%ld of the %s buffer\n",
            v->me, v->m->size, modes[c->mode], c->coll->name,
            c->large ? "_c" : "", mx_classes[c->class].name,
            c->in_place ? ", in place" : "", c->inter ? ", inter" : "", c->size,
            v->root, c->dice, (long)byte - MARGIN, what);
}

static bool is_same(const struct view *v, const char *what,
                 const struct mx_side *s, const char *want)
{
    size_t i = 0;

    if (memcmp(s->memory, want, s->bytes) == 0)
        return true;
    while (s->memory[i] == want[i])
        i++;
    say_something(v, what, i);
    return false;
}

static char *copy_of(const struct mx_side *s)
{
    char *copy = malloc(s->bytes);

    if (copy)
        memcpy(copy, s->memory, s->bytes);
    return copy;
}

/* ---- under way ----------------------------------------------------------- */

struct mx_flight {
    struct view v;
    struct mx_cell cell;
    struct mx_call call;
    char *sent, *want;
    bool good;
};

/* Both sides as they are before a round, and as they are to be after it. */
static bool prepare_case(struct mx_flight *f)
{
    struct mx_call *c = &f->call;

    memset(c->s.memory, UNTOUCHED, c->s.bytes);
    memset(c->r.memory, UNTOUCHED, c->r.bytes);
    if (!(f->v.is & MX_NO_COUNT))
        mx_fill_inputs(&f->v, c);
    f->sent = copy_of(&c->s);
    f->want = copy_of(&c->r);
    if (!f->sent || !f->want)
        return false;
    if (!(f->v.is & MX_NO_COUNT))
        mx_fill_wanted(&f->v, &c->r, f->want + MARGIN);
    return true;
}

static void await_event(struct mx_flight *f)
{
    int done = f->cell.mode == MX_BLOCKING;

    for (int i = 0; i < (int)(f->cell.dice >> 8 & 7) && !done; i++)
        MPI_Test(&f->call.request, &done, MPI_STATUS_IGNORE);
    if (!done)
        MPI_Wait(&f->call.request, MPI_STATUS_IGNORE);
}

bool mx_cell_await(struct mx_flight *f)
{
    struct mx_call *c = &f->call;

    if (!f->good || !f->sent)
        return f->good;
    await_event(f);
    mx_forgive(&f->v, &c->r, f->want);
    f->good = is_same(&f->v, "send", &c->s, f->sent) &&
              is_same(&f->v, "receive", &c->r, f->want);
    free(f->sent);
    free(f->want);
    f->sent = f->want = NULL;
    return f->good;
}

struct mx_flight *mx_cell_start(const struct mx_rank *m,
                                const struct mx_cell *cell)
{
    struct mx_flight *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->cell = *cell;
    f->call.start = cell->coll->start;
    f->v = mx_look(m, &f->cell);
    f->good = mx_send_side(&f->v, &f->call.s) &&
              mx_receive_side(&f->v, &f->call.r) && prepare_case(f);
    if (!f->good)
        return f;
    choose_arguments(&f->v, &f->call);
    f->call.start(&f->call);
    mx_free_types(&f->call.s);
    mx_free_types(&f->call.r);
    if (cell->mode == MX_PERSISTENT)
        MPI_Start(&f->call.request);
    return f;
}

bool mx_cell_again(struct mx_flight *f)
{
    if (f->cell.mode != MX_PERSISTENT)
        return true;
    f->good = prepare_case(f);
    if (f->good)
        MPI_Start(&f->call.request);
    return f->good;
}

bool mx_cell_finish(struct mx_flight *f)
{
    bool good = mx_cell_await(f);

    if (f->cell.mode == MX_PERSISTENT)
        MPI_Request_free(&f->call.request);
    free(f->sent);
    free(f->want);
    free(f->call.s.memory);
    free(f->call.r.memory);
    free(f);
    return good;
}

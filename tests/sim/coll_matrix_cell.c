/* One cell of the matrix: what goes in, what is to come out, in plain loops.
 *
 * A message from s to d has a number of items that both know, and item j of it
 * is worth mx_value(s, slot, j). What a rank is to have is written into a copy of
 * its receive buffer as it was before; afterwards the whole memory is compared,
 * with the gaps of the type and a margin on either side. Arguments that are not
 * significant where they are given are wrong on purpose.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64, UNTOUCHED = 0x5a, IN_ITEMS = -1 };
/* Bytes, or that many items; around where algorithms change. */
static const int sizes[MX_SIZES] = {0,    1 * IN_ITEMS, 3 * IN_ITEMS,
                                    264,  2056,         8200,
                                    17000, 40000,       100000};
static const int64_t very_often = INT64_C(5000000000);

/* How a rank sees the cell; ranks are those of the world. */
struct view {
    const struct mx_rank *m;
    const struct mx_cell *c;
    unsigned is;
    int me, first, size;        /* the own group */
    int peers_first, peers; /* whom it exchanges with: the same, or the other */
    int root;
    bool sends, receives, place; /* place: this rank gives MPI_IN_PLACE */
    int64_t base;
};

/* ---- the view ---------------------------------------------------------------- */

int mx_neighbor_out(const struct mx_rank *m, int i)
{
    static const int step[MX_NEIGHBORS] = {1, 3, 0};
    return (m->rank + step[i]) % m->size;
}

int mx_neighbor_in(const struct mx_rank *m, int i)
{
    static const int step[MX_NEIGHBORS] = {1, 3, 0};
    return (m->rank + 3 * m->size - step[i]) % m->size;
}

static int64_t base_items(const struct mx_cell *c, int ranks)
{
    const struct mx_class *k = &mx_classes[c->class];
    unsigned divided = MX_TO_MANY | MX_FROM_MANY | MX_SPLIT;
    int64_t bytes = sizes[c->size];

    if (!k->words)
        return very_often;
    if (bytes < 0)
        return bytes / IN_ITEMS;
    if (bytes > 4096 && (c->coll->is & divided) && !(c->coll->is & MX_NEAR))
        bytes /= ranks;
    return bytes / ((int64_t)mx_word_size(k->word) * k->words);
}

static void who_takes_part(struct view *v)
{
    bool right = v->c->inter && v->first > 0, is_root = v->me == v->root;

    v->sends = v->receives = true;
    if (v->is & MX_TO_ROOT) {
        v->sends = v->c->inter ? right : true;
        v->receives = is_root;
    } else if (v->is & MX_FROM_ROOT) {
        v->sends = is_root;
        v->receives = v->c->inter ? right : true;
    }
    v->place = v->c->in_place;
    if (v->is & (MX_TO_ROOT | MX_FROM_ROOT))
        v->place = v->place && is_root;
}

static struct view look(const struct mx_rank *m, const struct mx_cell *c)
{
    struct view v = {.m = m, .c = c, .is = c->coll->is, .me = m->rank,
                     .size = m->size, .peers = m->size};
    int left = m->left[c->dice & 1];

    v.root = (int)((c->dice >> 1) % (unsigned)(c->inter ? left : m->size));
    if (c->inter) {
        bool right = m->rank >= left;
        v.first = right ? left : 0;
        v.size = right ? m->size - left : left;
        v.peers_first = right ? 0 : left;
        v.peers = m->size - v.size;
    }
    v.base = base_items(c, m->size);
    who_takes_part(&v);
    return v;
}

static int peer(const struct view *v, int i, bool out)
{
    if (v->is & MX_NEAR)
        return out ? mx_neighbor_out(v->m, i) : mx_neighbor_in(v->m, i);
    return v->peers_first + i;
}

/* How many items go from one rank to another. */
static int64_t between(const struct view *v, int from, int to)
{
    unsigned both = MX_TO_MANY | MX_FROM_MANY;
    int x = (v->is & both) == both ? from + to : v->is & MX_TO_MANY ? to : from;

    return v->base && (v->is & MX_VARY) ? v->base + x % 3 : v->base;
}

/* What rank i of the own group keeps of a scattered reduction. Both sides of an
 * intercommunicator share out as many items. */
static int64_t share(const struct view *v, int i)
{
    int64_t n = v->c->inter ? v->base * v->peers : v->base;

    if (!(v->is & MX_VARY) || !v->base)
        return n;
    if (v->c->inter)
        return v->size < 2 ? n : n + (i == 0) - (i == 1);
    return n + i % 3;
}

static int64_t vector(const struct view *v)
{
    int64_t n = 0;

    for (int i = 0; (v->is & MX_SPLIT) && i < v->size; i++)
        n += share(v, i);
    return v->is & MX_SPLIT ? n : v->base;
}

/* ---- buffers ------------------------------------------------------------------- */

static size_t step(const struct mx_side *s)
{
    return s->flat ? mx_word_size(s->class->word) * (size_t)s->class->words
                   : (size_t)s->class->extent;
}

static void put(const struct mx_side *s, char *at, int64_t item,
                const union mx_item *x)
{
    const struct mx_class *k = s->class;

    for (int i = 0; i < k->words; i++)
        mx_put(k, x, i, at + item * (int64_t)step(s) +
                            (s->flat ? i * 4 : k->at[i]));
}

/* Places blocks one after the other or, with gaps, from the last to the first.
 * Returns how many items they span. */
static int64_t place(struct mx_side *s, bool gaps)
{
    int64_t at = gaps;

    for (int k = 0; k < s->blocks; k++) {
        int b = gaps ? s->blocks - 1 - k : k;
        s->first[b] = at;
        at += s->items[b] + gaps;
    }
    return at;
}

static void arguments(struct mx_side *s, bool in_bytes)
{
    int64_t words = s->flat ? s->class->words : 1;
    int64_t unit = in_bytes ? (int64_t)step(s) : words;

    s->buf = s->at;
    s->count = s->items[0] * words;
    for (int i = 0; i < s->blocks; i++) {
        s->counts_c[i] = s->items[i] * words;
        s->counts[i] = (int)s->counts_c[i];
        s->displs_c[i] = s->first[i] * unit;
        s->displs[i] = (int)s->displs_c[i];
        s->types[i] = s->type;
    }
}

static bool take_memory(struct mx_side *s, int64_t items)
{
    s->bytes = 2 * MARGIN + (s->class->words ? (size_t)items * step(s) : 0);
    s->memory = malloc(s->bytes);
    if (!s->memory)
        return false;
    s->at = s->memory + MARGIN;
    memset(s->memory, UNTOUCHED, s->bytes);
    return true;
}

static bool send_side(const struct view *v, struct mx_side *s)
{
    const struct mx_class *k = &mx_classes[v->c->class];

    s->class = k;
    s->flat = k->words > 1 && !(v->is & MX_FOLD) && (v->c->dice & 64);
    s->type = s->flat ? MPI_INT : v->m->types[v->c->class];
    s->blocks = 1;
    s->items[0] = v->is & MX_FOLD ? vector(v) : between(v, v->me, 0);
    if (v->is & MX_TO_MANY) {
        s->blocks = v->is & MX_NEAR ? MX_NEIGHBORS : v->peers;
        for (int i = 0; i < s->blocks; i++)
            s->items[i] = between(v, v->me, peer(v, i, true));
    }
    if (!take_memory(s, place(s, (v->is & MX_TO_MANY) && (v->is & MX_VARY))))
        return false;
    arguments(s, v->is & MX_BYTES);
    return true;
}

static bool receive_side(const struct view *v, struct mx_side *r)
{
    bool many = v->is & MX_FROM_MANY;
    int64_t room;

    r->class = &mx_classes[v->c->class];
    r->type = v->m->types[v->c->class];
    r->blocks = many ? v->is & MX_NEAR ? MX_NEIGHBORS : v->peers : 1;
    for (int i = 0; i < r->blocks; i++)
        r->items[i] = many ? between(v, peer(v, i, false), v->me)
                           : between(v, v->root, v->me);
    if (v->is & MX_FOLD)
        r->items[0] = vector(v);
    room = place(r, many && (v->is & MX_VARY));
    if (v->is & MX_SPLIT) {
        r->blocks = v->size;
        for (int i = 0; i < v->size; i++)
            r->items[i] = share(v, i);
    }
    if (!take_memory(r, room))
        return false;
    arguments(r, v->is & MX_BYTES);
    return true;
}

/* ---- what goes in and what comes out ------------------------------------------ */

/* The message from a rank, for its `slot`-th receiver. */
static void put_message(const struct mx_side *s, char *at, int block, int from,
                        int slot)
{
    for (int64_t j = 0; s->class->words && j < s->items[block]; j++) {
        union mx_item x = mx_value(s->class, from, slot, j);
        put(s, at, s->first[block] + j, &x);
    }
}

static void put_vector(const struct view *v, const struct mx_side *s)
{
    for (int64_t j = 0, n = vector(v); j < n; j++) {
        union mx_item x = mx_value(s->class, v->me, 0, j);
        put(s, s->at, j, &x);
    }
}

static void fill_inputs(const struct view *v, struct mx_call *c)
{
    const struct mx_side *from = v->place ? &c->r : &c->s;

    if (v->is & MX_FOLD) {
        put_vector(v, from);
        return;
    }
    for (int b = 0; b < c->s.blocks; b++)
        put_message(&c->s, c->s.at, b, v->me, v->is & MX_TO_MANY ? b : 0);
    if (v->place && (v->is & MX_FROM_MANY)) {
        bool own = !(v->is & MX_TO_MANY); /* the own block; else all */
        for (int b = 0; b < c->r.blocks; b++)
            if (!own || b == v->me)
                put_message(&c->r, c->r.at, b, v->me, own ? 0 : b);
    }
    if (!(v->is & (MX_TO_MANY | MX_FROM_MANY)) && v->sends) /* bcast */
        put_message(&c->r, c->r.at, 0, v->me, 0);
}

static void fold_wanted(const struct view *v, const struct mx_side *r, char *at)
{
    int from = v->peers_first, to = v->peers_first + v->peers - 1;
    int64_t n = v->is & MX_SPLIT ? share(v, v->me - v->first) : v->base;
    int64_t skip = 0;

    if (v->is & MX_BELOW)
        to = v->is & MX_NOT_OWN ? v->me - 1 : v->me;
    for (int i = 0; (v->is & MX_SPLIT) && i < v->me - v->first; i++)
        skip += share(v, i);
    for (int64_t j = 0; to >= from && j < n; j++) {
        union mx_item x = mx_value(r->class, to, 0, skip + j);
        for (int rank = to - 1; rank >= from; rank--) {
            union mx_item lower = mx_value(r->class, rank, 0, skip + j);
            mx_fold(r->class, &lower, &x);
        }
        put(r, at, j, &x);
    }
}

static void fill_wanted(const struct view *v, const struct mx_side *r, char *at)
{
    bool kept = v->place && (v->is & MX_FROM_ROOT); /* MPI_IN_PLACE at a root */

    if (!v->receives || kept)
        return;
    if (v->is & MX_FOLD) {
        fold_wanted(v, r, at);
        return;
    }
    for (int b = 0; b < r->blocks; b++) {
        int from = v->is & MX_FROM_MANY ? peer(v, b, false) : v->root;
        int slot = !(v->is & MX_TO_MANY) ? 0
                   : v->is & MX_NEAR     ? b
                                         : v->me - v->first;
        put_message(r, at, b, from, slot);
    }
}

/* What a reduction in place leaves of the operand is nobody's business. */
static void forgive(const struct view *v, const struct mx_side *r, char *want)
{
    size_t from, to;

    if (!v->place || !(v->is & MX_SPLIT))
        return;
    from = (size_t)share(v, v->me - v->first) * step(r);
    to = (size_t)vector(v) * step(r);
    if (to > from)
        memcpy(want + MARGIN + r->class->lb + from,
               r->at + r->class->lb + from, to - from);
}

/* ---- the call -------------------------------------------------------------------- */

static void insignificant(struct mx_side *s)
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
    c->op = m->ops[v->c->class];
    c->comm = v->c->inter ? m->inter[v->c->dice & 1]
              : v->is & MX_NEAR ? m->graph
                                : m->world;
    c->root = v->root;
    if (v->c->inter && v->first == 0)
        c->root = v->me == v->root ? MPI_ROOT : MPI_PROC_NULL;
    if (!v->sends && !(v->is & MX_FOLD))
        insignificant(&c->s);
    if (!v->receives && !(v->is & MX_FOLD) && !(bcast && v->sends))
        insignificant(&c->r);
    if (!v->receives && (v->is & MX_FOLD))
        c->r.buf = NULL;
    if (!v->sends)
        c->s.buf = NULL;
    if (v->place && (v->is & MX_FROM_ROOT)) {
        insignificant(&c->r);
        c->r.buf = MPI_IN_PLACE;
    } else if (v->place) {
        insignificant(&c->s);
        c->s.buf = MPI_IN_PLACE;
    }
}

static void run(struct mx_call *c, uint32_t dice)
{
    int done = 0;

    if (c->mode == MX_PERSISTENT)
        MPI_Start(&c->request);
    else
        c->start(c);
    for (int i = 0; c->mode != MX_BLOCKING && i < (int)(dice >> 8 & 7); i++)
        if (!done)
            MPI_Test(&c->request, &done, MPI_STATUS_IGNORE);
    if (c->mode != MX_BLOCKING && !done)
        MPI_Wait(&c->request, MPI_STATUS_IGNORE);
}

static void say(const struct view *v, const char *what, size_t byte)
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

static bool same(const struct view *v, const char *what,
                 const struct mx_side *s, const char *want)
{
    size_t i = 0;

    if (memcmp(s->memory, want, s->bytes) == 0)
        return true;
    while (s->memory[i] == want[i])
        i++;
    say(v, what, i);
    return false;
}

static char *copy_of(const struct mx_side *s)
{
    char *copy = malloc(s->bytes);

    if (copy)
        memcpy(copy, s->memory, s->bytes);
    return copy;
}

/* One round; a persistent operation has several. */
static bool once(const struct view *v, struct mx_call *c)
{
    char *sent, *want;
    bool good = false;

    memset(c->s.memory, UNTOUCHED, c->s.bytes);
    memset(c->r.memory, UNTOUCHED, c->r.bytes);
    if (!(v->is & MX_NO_COUNT))
        fill_inputs(v, c);
    sent = copy_of(&c->s);
    want = copy_of(&c->r);
    if (sent && want) {
        if (!(v->is & MX_NO_COUNT))
            fill_wanted(v, &c->r, want + MARGIN);
        run(c, v->c->dice);
        forgive(v, &c->r, want);
        good = same(v, "send", &c->s, sent) && same(v, "receive", &c->r, want);
    }
    free(sent);
    free(want);
    return good;
}

bool mx_cell_run(const struct mx_rank *m, const struct mx_cell *cell)
{
    struct mx_call c = {.start = cell->coll->start};
    struct view v = look(m, cell);
    bool good = send_side(&v, &c.s) && receive_side(&v, &c.r);

    if (good) {
        choose_arguments(&v, &c);
        if (c.mode == MX_PERSISTENT)
            c.start(&c);
        good = once(&v, &c) && (c.mode != MX_PERSISTENT || once(&v, &c));
        if (c.mode == MX_PERSISTENT)
            MPI_Request_free(&c.request);
    }
    free(c.s.memory);
    free(c.r.memory);
    return good;
}

bool mx_cell_exists(const struct mx_cell *c, int ranks)
{
    unsigned is = c->coll->is;

    if (c->inter && (ranks < 2 || (is & MX_NO_INTER) || c->in_place))
        return false;
    if (c->in_place && (is & MX_NO_PLACE))
        return false;
    if (is & MX_NO_COUNT)
        return !c->large && c->class == 0 && c->size == 0;
    if (mx_classes[c->class].words == 0)
        return c->large && c->size == 0 && !(is & MX_FOLD);
    return true;
}

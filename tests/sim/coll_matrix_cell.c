/* One cell of the matrix: its buffers, what goes in, and what is to come out,
 * in plain loops.
 *
 * A message from s to d has a number of items that both know, and item j of it
 * is worth mx_value(s, slot, j). The data that a rank has to receive is written
 * into a copy of its receive buffer as it was before; afterwards the whole
 * memory is compared, with the gaps of the type and a margin on either side.
 *
 * Both ends of a message need not give it the same type: one of them may say
 * words where the other says items, or from MPI_BOTTOM with addresses in the
 * type.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix_cell.h"

#include <stdlib.h>
#include <string.h>

enum { IN_ITEMS = -1 };
/* Bytes, or that many items; around where algorithms change. */
static const int sizes[MX_SIZES] = {0,      1 * IN_ITEMS, 3 * IN_ITEMS,
                                    264,    2056,         8200,
                                    17000,  40000,        100000,
                                    300000, 1200000};
enum { HUGE_SIZE = 10, HUGE_RANKS = 6 };
static const int64_t very_often = INT64_C(5000000000);

/* ---- the view ------------------------------------------------------------ */

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

struct view mx_look(const struct mx_rank *m, const struct mx_cell *c)
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

static int peer_of(const struct view *v, int i, bool out)
{
    if (v->is & MX_NEAR)
        return out ? mx_neighbor_out(v->m, i) : mx_neighbor_in(v->m, i);
    return v->peers_first + i;
}

/* How many items go from one rank to another. */
static int64_t count_items(const struct view *v, int from, int to)
{
    unsigned both = MX_TO_MANY | MX_FROM_MANY;
    int x = (v->is & both) == both ? from + to : v->is & MX_TO_MANY ? to : from;

    if (!v->base || !(v->is & MX_VARY))
        return v->base;
    if (v->c->dice & DICE_EMPTY)
        return x % 3 ? v->base : 0;
    return v->base + x % 3;
}

/* Returns the items that rank i of the own group keeps of a scattered
 * reduction. Both sides of an intercommunicator share out as many items. */
static int64_t share_of(const struct view *v, int i)
{
    int64_t n = v->c->inter ? v->base * v->peers : v->base;

    if (!(v->is & MX_VARY) || !v->base)
        return n;
    if (v->c->inter)
        return v->size < 2 ? n : n + (i == 0) - (i == 1);
    if (v->c->dice & DICE_EMPTY)
        return i % 3 ? n : 0;
    return n + i % 3;
}

static int64_t make_vector(const struct view *v)
{
    int64_t n = 0;

    for (int i = 0; (v->is & MX_SPLIT) && i < v->size; i++)
        n += share_of(v, i);
    return v->is & MX_SPLIT ? n : v->base;
}

/* ---- buffers ------------------------------------------------------------- */

/* Is this block given as words? With types for each, every other one may be. */
static bool is_flat(const struct mx_side *s, int block)
{
    return s->flat != (s->mixed && block % 2);
}

static size_t take_step(const struct mx_side *s, int block)
{
    return is_flat(s, block)
               ? mx_word_size(s->class->word) * (size_t)s->class->words
               : (size_t)s->class->extent;
}

/* Returns the unit in which places are counted. */
static size_t unit_of(const struct mx_side *s)
{
    return s->mixed ? (size_t)s->class->extent : take_step(s, 0);
}

static void put_data(const struct mx_side *s, char *at, int block, int64_t item,
                const union mx_item *x)
{
    const struct mx_class *k = s->class;

    at += s->first[block] * (int64_t)unit_of(s) +
          item * (int64_t)take_step(s, block);
    for (int i = 0; i < k->words; i++)
        mx_put(k, x, i, at + (is_flat(s, block) ? i * 4 : k->at[i]));
}

/* Places blocks one after the other or, with gaps, from the last to the first.
 * Returns how many items they span. */
static int64_t place_of(struct mx_side *s, bool gaps)
{
    int64_t at = gaps;

    for (int k = 0; k < s->blocks; k++) {
        int b = gaps ? s->blocks - 1 - k : k;
        s->first[b] = at;
        at += s->items[b] + gaps;
    }
    return at;
}

/* The type with the address of the memory in it. */
static MPI_Datatype make_addressed(MPI_Datatype type, const void *memory)
{
    MPI_Datatype made;
    MPI_Aint at;

    MPI_Get_address(memory, &at);
    MPI_Type_create_hindexed_block(1, 1, &at, type, &made);
    MPI_Type_commit(&made);
    return made;
}

/* Displacements that are wide enough may be addresses, if they are in bytes. */
static void choose_types(const struct view *v, struct mx_side *s, bool bottom)
{
    s->of[0] = v->m->types[v->c->class];
    s->of[1] = MPI_INT;
    s->bottom = bottom && s->class->words && !(v->is & MX_FOLD);
    s->absolute = s->bottom && (v->is & MX_BYTES) &&
                  (v->c->large || (v->is & MX_NEAR)) &&
                  (v->c->dice & DICE_ABSOLUTE);
    s->bottom &= !s->absolute;
    for (int i = 0; i < 2 && s->bottom; i++)
        s->of[i] = make_addressed(s->of[i], s->at);
}

void mx_free_types(struct mx_side *s)
{
    for (int i = 0; i < 2 && s->bottom; i++)
        MPI_Type_free(&s->of[i]);
}

static void set_arguments(struct mx_side *s, const struct view *v)
{
    int64_t words, all = 0;

    for (int i = 0; i < s->blocks; i++) {
        words = is_flat(s, i) ? s->class->words : 1;
        s->counts_c[i] = s->items[i] * words;
        s->counts[i] = (int)s->counts_c[i];
        s->displs_c[i] =
            s->first[i] * (v->is & MX_BYTES ? (int64_t)unit_of(s) : words);
        s->displs[i] = (int)s->displs_c[i];
        if (s->absolute)
            s->displs_c[i] += (MPI_Aint)s->at;
        s->types[i] = s->of[is_flat(s, i)];
        all += s->items[i];
    }
    s->count = s->counts_c[0];
    s->type = s->types[0];
    s->buf = s->bottom || s->absolute ? MPI_BOTTOM : s->at;
    if (!all && (v->c->dice & DICE_NULL))
        s->buf = NULL;
}

static bool take_memory(struct mx_side *s, int64_t items)
{
    s->bytes = 2 * MARGIN + (s->class->words ? (size_t)items * unit_of(s) : 0);
    s->memory = malloc(s->bytes);
    if (!s->memory)
        return false;
    s->at = s->memory + MARGIN;
    memset(s->memory, UNTOUCHED, s->bytes);
    return true;
}

/* May an item be given as its words? Operations are for items. */
static bool is_divisible(const struct view *v)
{
    return mx_classes[v->c->class].words > 1 && !(v->is & MX_FOLD);
}

bool mx_send_side(const struct view *v, struct mx_side *s)
{
    const struct mx_class *k = &mx_classes[v->c->class];

    s->class = k;
    s->flat = is_divisible(v) && (v->c->dice & DICE_SEND_FLAT);
    s->mixed =
        is_divisible(v) && (v->is & MX_BYTES) && (v->c->dice & DICE_MIXED);
    s->blocks = 1;
    s->items[0] = v->is & MX_FOLD ? make_vector(v) : count_items(v, v->me, 0);
    if (v->is & MX_TO_MANY) {
        s->blocks = v->is & MX_NEAR ? MX_NEIGHBORS : v->peers;
        for (int i = 0; i < s->blocks; i++)
            s->items[i] = count_items(v, v->me, peer_of(v, i, true));
    }
    if (!take_memory(s, place_of(s, (v->is & MX_TO_MANY) && (v->is & MX_VARY))))
        return false;
    choose_types(v, s, v->c->dice & DICE_SEND_BOTTOM);
    set_arguments(s, v);
    return true;
}

bool mx_receive_side(const struct view *v, struct mx_side *r)
{
    bool many = v->is & MX_FROM_MANY;
    int64_t room;

    r->class = &mx_classes[v->c->class];
    r->flat = is_divisible(v) && (v->me + !!(v->c->dice & DICE_RECV_FLAT)) % 2;
    r->mixed =
        is_divisible(v) && (v->is & MX_BYTES) && (v->c->dice & DICE_MIXED);
    r->blocks = many ? v->is & MX_NEAR ? MX_NEIGHBORS : v->peers : 1;
    for (int i = 0; i < r->blocks; i++)
        r->items[i] = many ? count_items(v, peer_of(v, i, false), v->me)
                           : count_items(v, v->root, v->me);
    if (v->is & MX_FOLD)
        r->items[0] = make_vector(v);
    room = place_of(r, many && (v->is & MX_VARY));
    if (v->is & MX_SPLIT) {
        r->blocks = v->size;
        for (int i = 0; i < v->size; i++)
            r->items[i] = share_of(v, i);
    }
    if (!take_memory(r, room))
        return false;
    choose_types(v, r, v->c->dice & DICE_RECV_BOTTOM);
    set_arguments(r, v);
    return true;
}

/* ---- what goes in and what comes out ------------------------------------- */

/* The message from a rank, for its `slot`-th receiver. */
static void put_message(const struct mx_side *s, char *at, int block, int from,
                        int slot)
{
    for (int64_t j = 0; s->class->words && j < s->items[block]; j++) {
        union mx_item x = mx_value(s->class, from, slot, j);
        put_data(s, at, block, j, &x);
    }
}

static void put_vector(const struct view *v, const struct mx_side *s)
{
    for (int64_t j = 0, n = make_vector(v); j < n; j++) {
        union mx_item x = mx_value(s->class, v->me, 0, j);
        put_data(s, s->at, 0, j, &x);
    }
}

void mx_fill_inputs(const struct view *v, struct mx_call *c)
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

int mx_which_op(const struct view *v)
{
    return !!(v->c->dice & DICE_OP);
}

static void fold_wanted(const struct view *v, const struct mx_side *r, char *at)
{
    int from = v->peers_first, to = v->peers_first + v->peers - 1;
    int64_t n = v->is & MX_SPLIT ? share_of(v, v->me - v->first) : v->base;
    int64_t skip = 0;

    if (v->is & MX_BELOW)
        to = v->is & MX_NOT_OWN ? v->me - 1 : v->me;
    for (int i = 0; (v->is & MX_SPLIT) && i < v->me - v->first; i++)
        skip += share_of(v, i);
    for (int64_t j = 0; to >= from && j < n; j++) {
        union mx_item x = mx_value(r->class, to, 0, skip + j);
        for (int rank = to - 1; rank >= from; rank--) {
            union mx_item lower = mx_value(r->class, rank, 0, skip + j);
            mx_fold(r->class, mx_which_op(v), &lower, &x);
        }
        put_data(r, at, 0, j, &x);
    }
}

void mx_fill_wanted(const struct view *v, const struct mx_side *r, char *at)
{
    bool kept = v->place && (v->is & MX_FROM_ROOT); /* MPI_IN_PLACE at a root */

    if (!v->receives || kept)
        return;
    if (v->is & MX_FOLD) {
        fold_wanted(v, r, at);
        return;
    }
    for (int b = 0; b < r->blocks; b++) {
        int from = v->is & MX_FROM_MANY ? peer_of(v, b, false) : v->root;
        int slot = !(v->is & MX_TO_MANY) ? 0
                   : v->is & MX_NEAR     ? b
                                         : v->me - v->first;
        put_message(r, at, b, from, slot);
    }
}

/* A reduction in place may leave anything in the operand. */
void mx_forgive(const struct view *v, const struct mx_side *r, char *want)
{
    size_t from, to;

    if (!v->place || !(v->is & MX_SPLIT))
        return;
    from = (size_t)share_of(v, v->me - v->first) * unit_of(r);
    to = (size_t)make_vector(v) * unit_of(r);
    if (to > from)
        memcpy(want + MARGIN + r->class->lb + from,
               r->at + r->class->lb + from, to - from);
}

bool mx_cell_exists(const struct mx_cell *c, int ranks)
{
    unsigned is = c->coll->is;

    if (c->size == HUGE_SIZE && ranks > HUGE_RANKS)
        return false;
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

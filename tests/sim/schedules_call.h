/* One call of a collective over all ranks: what each sends, and what plain
 * loops say that it must receive. The dice are everybody's.
 *
 * Included by schedules.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SIM_SCHEDULES_CALL_H
#define WF_SIM_SCHEDULES_CALL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dice.h"
#include "datatype/predefined.h"
#include "tools/weft-info/plan.h"

enum { GUARD = 0x5a };

/* ---- operations ---------------------------------------------------------- */

/* x -> a x + b, as (a, b): composition is associative, and its order
 * matters. */
static void compose_maps(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const uint32_t *lo = in;
    uint32_t *hi = inout;

    (void)type;
    for (int i = 0; i < *count; i++, lo += 2, hi += 2) {
        uint32_t a = lo[0] * hi[0], b = lo[0] * hi[1] + lo[1];
        hi[0] = a;
        hi[1] = b;
    }
}

static void add_words(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const uint32_t *lo = in;
    uint32_t *hi = inout;

    (void)type;
    for (int i = 0; i < 2 * *count; i++)
        hi[i] += lo[i];
}

/* The engine calls a user's function outside the API section; here there is
 * none, so it is called at once. */
static void apply_op(const struct wf_op *op, void *in, void *inout, uint64_t n)
{
    int count = (int)n;

    (op->commutes ? add_words : compose_maps)(in, inout, &count, NULL);
}

static struct wf_op sum_op = {.object = {WF_KIND_OP, 1 << 28},
                              .commutes = true};
static struct wf_op compose_op = {.object = {WF_KIND_OP, 1 << 28}};

/* ---- one call ------------------------------------------------------------ */

struct call {
    enum wf_coll_kind kind;
    bool exclusive; /* exscan */
    int p, root;
    uint64_t count; /* elements of the vector, or of a block */
    const struct wf_op *op;
    bool in_place;
    uint32_t *send, *recv, *want; /* of all ranks: room words each */
    size_t room;
};

static uint32_t *part_of(const struct call *c, uint32_t *all, int rank)
{
    return all + c->room * (size_t)rank;
}

static void set_value(int rank, uint64_t i, uint32_t v[2])
{
    v[0] = ((uint32_t)rank * 7919u + (uint32_t)i * 31u) * 2 + 1;
    v[1] = (uint32_t)rank * 104729u + (uint32_t)i * 17u + 5;
}

/* The sum of ranks first..last at element i. */
static void reduce_values(const struct call *c, int first, int last, uint64_t i,
                          uint32_t v[2])
{
    set_value(last, i, v);
    for (int r = last - 1; r >= first; r--) {
        uint32_t lower[2];
        set_value(r, i, lower);
        apply_op(c->op, lower, v, 1);
    }
}

static uint64_t count_sent(const struct call *c)
{
    bool blocks = c->kind == WF_COLL_ALLTOALL || c->kind == WF_COLL_SCATTER ||
                  c->kind == WF_COLL_REDUCE_SCATTER;
    return blocks ? c->count * (uint64_t)c->p : c->count;
}

/* Where the own contribution is in the receive buffer, when in place. */
static uint64_t place_of(const struct call *c, int rank)
{
    return c->kind == WF_COLL_ALLGATHER || c->kind == WF_COLL_GATHER
               ? c->count * (uint64_t)rank
               : 0;
}

static bool is_in_place(const struct call *c, int rank)
{
    bool rooted = c->kind == WF_COLL_GATHER || c->kind == WF_COLL_REDUCE;
    return c->kind == WF_COLL_BCAST ? rank == c->root
           : c->kind == WF_COLL_SCATTER || c->kind == WF_COLL_BARRIER
               ? false
               : c->in_place && (!rooted || rank == c->root);
}

/* Element i of what a rank is to have, if it is to have one. */
static bool find_wanted(const struct call *c, int rank, uint64_t i,
                        uint32_t v[2])
{
    uint64_t n = c->count ? c->count : 1;
    int block = (int)(i / n), p = c->p;

    switch (c->kind) {
    case WF_COLL_BCAST:
        set_value(c->root, i, v);
        return i < c->count;
    case WF_COLL_SCATTER:
        set_value(c->root, (uint64_t)rank * n + i, v);
        return i < c->count;
    case WF_COLL_GATHER:
    case WF_COLL_ALLGATHER:
        set_value(block, i % n, v);
        return i < c->count * (uint64_t)p &&
               (c->kind == WF_COLL_ALLGATHER || rank == c->root);
    case WF_COLL_ALLTOALL:
        set_value(block, (uint64_t)rank * n + i % n, v);
        return i < c->count * (uint64_t)p;
    case WF_COLL_BARRIER:
        return false;
    case WF_COLL_SCAN:
        if (i >= c->count || (c->exclusive && rank == 0))
            return false;
        reduce_values(c, 0, rank - c->exclusive, i, v);
        return true;
    case WF_COLL_REDUCE_SCATTER:
        if (i >= c->count)
            return false;
        reduce_values(c, 0, p - 1, (uint64_t)rank * n + i, v);
        return true;
    default:
        if (i >= c->count || (c->kind == WF_COLL_REDUCE && rank != c->root))
            return false;
        reduce_values(c, 0, p - 1, i, v);
        return true;
    }
}

/* Allreduce and reduce want the same everywhere: computed once. */
static void fill_wanted(const struct call *c, int rank)
{
    bool same = c->kind == WF_COLL_ALLREDUCE && rank > 0;
    uint64_t n = c->room / 2;
    uint32_t *out = part_of(c, c->want, rank), v[2];

    if (same) {
        memcpy(out, part_of(c, c->want, 0), c->room * sizeof *out);
        return;
    }
    memcpy(out, part_of(c, c->recv, rank), c->room * sizeof *out);
    for (uint64_t i = 0; i < n; i++)
        if (find_wanted(c, rank, i, v))
            memcpy(out + 2 * i, v, sizeof v);
}

static void fill_buffers(struct call *c)
{
    for (int r = 0; r < c->p; r++) {
        uint32_t *in = is_in_place(c, r)
                           ? part_of(c, c->recv, r) + 2 * place_of(c, r)
                           : part_of(c, c->send, r);
        for (uint64_t i = 0; i < count_sent(c) && c->kind != WF_COLL_BARRIER;
             i++)
            set_value(r, i, in + 2 * i);
    }
    for (int r = 0; r < c->p; r++)
        fill_wanted(c, r);
}

static bool call_init(struct call *c)
{
    bool blocks = count_sent(c) > c->count || c->kind == WF_COLL_ALLGATHER ||
                  c->kind == WF_COLL_GATHER;
    size_t n = 0;

    c->room = 2 * (size_t)(blocks ? c->count * (uint64_t)c->p : c->count) + 4;
    n = c->room * (size_t)c->p;
    c->send = malloc(n * sizeof *c->send);
    c->recv = malloc(n * sizeof *c->recv);
    c->want = malloc(n * sizeof *c->want);
    if (!c->send || !c->recv || !c->want)
        return false;
    memset(c->send, GUARD, n * sizeof *c->send);
    memset(c->recv, GUARD, n * sizeof *c->recv);
    fill_buffers(c);
    return true;
}

static void call_fini(struct call *c)
{
    free(c->send);
    free(c->recv);
    free(c->want);
}

static void set_arguments(void *user, int rank, struct wf_coll_args *a)
{
    struct call *c = user;
    struct wf_type *type = wf_type_of(MPI_UINT64_T);

    a->sbuf = is_in_place(c, rank) ? MPI_IN_PLACE : part_of(c, c->send, rank);
    a->rbuf = part_of(c, c->recv, rank);
    a->scount = a->rcount = c->count;
    a->stype = a->rtype = type;
    a->op = (struct wf_op *)(uintptr_t)c->op;
    a->root = c->root;
}

#endif

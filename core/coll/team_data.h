/* Contributions to and from the lines and blocks of a team.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEAM_DATA_H
#define WF_TEAM_DATA_H

#include "coll/team.h"
#include "coll/vertex.h"

/* Not a call into libc for what most small collectives move. */
static inline void wf_team_bytes_copy(void *to, const void *from, uint64_t n)
{
    if (n == 8)
        memcpy(to, from, 8);
    else if (n)
        memcpy(to, from, n);
}

/* count elements of the program's into packed bytes. */
static inline int wf_team_put(void *to, const void *buf, uint64_t count,
                              const struct wf_type *type)
{
    uint64_t n = count * (uint64_t)type->size;

    if (wf_unlikely(!wf_type_contiguous(type)))
        return wf_type_copy(type, buf, count, wf_coll_byte(), to, n);
    wf_team_bytes_copy(to, wf_type_data(type, buf), n);
    return MPI_SUCCESS;
}

static inline int wf_team_get(const void *from, void *buf, uint64_t count,
                              const struct wf_type *type)
{
    uint64_t n = count * (uint64_t)type->size;

    if (wf_unlikely(!wf_type_contiguous(type)))
        return wf_type_copy(wf_coll_byte(), from, n, type, buf, count);
    wf_team_bytes_copy(wf_type_data(type, buf), from, n);
    return MPI_SUCCESS;
}

/* What goes to oneself. */
static inline int wf_team_own(struct wf_coll_block from,
                              struct wf_coll_block to)
{
    return wf_sched_copy_now(
        (struct wf_sched_block){from.buf, from.count, from.type},
        (struct wf_sched_block){to.buf, to.count, to.type});
}

static inline struct wf_coll_block wf_team_sent(const struct wf_coll_args *a)
{
    return (struct wf_coll_block){(void *)(uintptr_t)a->sbuf, a->scount,
                                  a->stype};
}

/* As for messages: what is too long does not fit, what is too short is wrong. */
WF_COLD int wf_team_bad_length(int source, uint64_t got, uint64_t expected);
static inline int wf_team_length(int source, uint64_t got, uint64_t expected)
{
    return wf_likely(got == expected)
               ? MPI_SUCCESS
               : wf_team_bad_length(source, got, expected);
}

/* The first error of several. */
static inline void wf_team_first(int *rc, int error)
{
    if (wf_unlikely(error) && !*rc)
        *rc = error;
}

/* What a builder finds wrong with the arguments of an unusual call, of which
 * nothing happens. */
WF_COLD int wf_team_check(wf_coll_builder *, const struct wf_coll_args *);

/* Only if the call is not one of which all is known to be in order. */
static inline int wf_team_check_quick(wf_coll_builder *builder,
                                      const struct wf_coll_args *a, bool usual)
{
    return wf_likely(usual) ? MPI_SUCCESS : wf_team_check(builder, a);
}

/* Run the call as a schedule, of which this member reads no more lines. */
WF_COLD int wf_team_schedule(struct wf_team *, wf_coll_builder *,
                             const struct wf_coll_args *);

/* ---- all to all: team_all.c -------------------------------------------------- */

/* This member wants a schedule, and says so: the others wait for its line. */
WF_COLD int wf_team_want_schedule(wf_coll_builder *, const struct wf_coll_args *,
                          uint64_t bytes);
/* Somebody may go without hearing all, so all must want one; or it fails. */
WF_COLD int wf_team_all_schedule(wf_coll_builder *, const struct wf_coll_args *,
                         uint64_t bytes);

/* Nothing that the builder of a reduction would find wrong. */
static inline bool wf_team_usual_reduction(const struct wf_coll_args *a)
{
    return a->op->predefined && wf_type_contiguous(a->rtype) &&
           a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf &&
           !wf_op_check(a->op, a->rtype);
}

/* ---- with a root -------------------------------------------------------------- */

static inline bool wf_team_at_root(const struct wf_coll_args *a)
{
    return a->root == a->comm->rank;
}

static inline bool wf_team_root_ok(const struct wf_coll_args *a)
{
    return (unsigned)a->root < (unsigned)a->comm->size;
}

/* This member has written its data, with `rc`, and needs nothing from others. */
static inline int wf_team_given(struct wf_team *t, uint64_t bytes, int rc)
{
    wf_team_say(t, bytes, 0);
    wf_team_done(t);
    return rc;
}

/* This member neither writes nor reads anything: the call is counted. */
static inline int wf_team_skip(struct wf_team *t, int rc)
{
    wf_team_next(t);
    wf_team_done(t);
    return rc;
}

/* Another member: its contribution is short, and written. */
static inline int wf_team_give(const struct wf_coll_args *a, const void *buf,
                               uint64_t count, const struct wf_type *type)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes = count * (uint64_t)type->size;
    int rc;

    wf_team_begin(t, bytes);
    rc = wf_team_put(wf_team_data(t, t->rank, bytes), buf, count, type);
    return wf_team_given(t, bytes, rc);
}

/* ---- pieces for each other member: team_pieces.c --------------------------- */

static inline uint64_t wf_team_place_of(const struct wf_team *t, int from,
                                        int to)
{
    return (uint64_t)(to > from ? to - from - 1 : to - from - 1 + t->size);
}

static inline int wf_team_after(const struct wf_team *t, int rank)
{
    return rank + 1 < t->size ? rank + 1 : 0;
}

/* Of the table of lengths. */
static inline uint64_t wf_team_table_bytes(const struct wf_team *t)
{
    return t->size > 2 ? (uint64_t)(t->size - 1) * sizeof(uint32_t) : 0;
}

/* Every piece. */
int wf_team_put_pieces(struct wf_team *, const struct wf_coll_args *,
                       unsigned char *to);
void wf_team_put_table(struct wf_team *, const struct wf_coll_args *,
                       unsigned char *at);
/* The piece for this member among those of rank r, which said that it has
 * written `total` bytes. NULL: it is not that long, but *got. */
const unsigned char *wf_team_find_piece(struct wf_team *, int r, uint64_t total,
                                        uint64_t bytes, uint64_t *got);
/* The sum of all counts but that of rank `own`, each cut at INT32_MAX; negative:
 * one of them is. */
int64_t wf_team_sum(struct wf_ints counts, int n, int own);

/* ---- reductions: team_fold.c ------------------------------------------------ */

/* Brackets of the schedules. */
enum wf_team_order {
    WF_TEAM_BY_TREE,   /* binomial tree, recursive doubling */
    WF_TEAM_BY_BLOCKS, /* blocks.c: downwards, the own operand first or second */
    WF_TEAM_BY_RING,   /* ring.c: upwards, the own operand last */
    WF_TEAM_BY_CHAIN   /* chain.c: downwards, that of `first` last */
};

/* Reduce some elements of what all have contributed. */
struct wf_team_fold {
    const struct wf_coll_args *a; /* operation and type */
    uint64_t at, count;           /* bytes before them; elements */
    const void *const *from;      /* contributions, by rank */
    void *out;                    /* true_lb is not before it */
    enum wf_team_order order;
    int first; /* a tree: rank that comes first; they go round */
    int pairs; /* so many of the first ranks go two by two before others */
    int owner; /* blocks, ring: whose block it is */
    bool own_first;
};
/* Where the contribution of each stands: this member's at `own`. */
void wf_team_sources(struct wf_team *, uint64_t bytes, const void *own,
                     const void **from);
int wf_team_fold(struct wf_team *, const struct wf_team_fold *);

#endif

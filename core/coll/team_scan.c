/* Scan and exscan of a team: who has the lines of all lower ranks goes on.
 *
 * The brackets are those of distance doubling (scan.c). Of n vectors, the
 * newest half and more, 2^k with 2^k < n <= 2^(k+1), are a balanced tree, and
 * what is below them is a scan of its own:
 *
 *     scan of 7   (x0 + (x1 + x2)) + ((x3 + x4) + (x5 + x6))
 *
 * An exscan adds blocks of 1, 2, 4, ... from the newest down; the last one is
 * what is left, as a scan.
 *
 * Who wants a schedule must know that all do, for lower ranks do not wait for
 * it (wf_team_all_schedule).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "coll/team_data.h"

enum {
    DEPTH = 9, /* of a tree of so many members, and of scans below scans */
    SMALL = 512
};

struct scanning {
    const struct wf_coll_args *a;
    uint64_t bytes;
    const void *from[WF_TEAM_MOST];
    char *room; /* DEPTH places for trees, and as many for scans */
};

/* in op out, into out */
static int apply(const struct scanning *x, const char *in, char *out)
{
    int64_t lb = x->a->rtype->true_lb;

    return wf_op_apply(x->a->comm->wf, x->a->op, in - lb, out - lb,
                       x->a->rcount, x->a->rtype);
}

static char *place(const struct scanning *x, int i)
{
    return x->room + (uint64_t)i * x->bytes;
}

/* n, a power of two, from `first` on; level: how deep. */
static int tree(const struct scanning *x, int first, int n, char *out,
                int level)
{
    char *lower = place(x, level);
    int rc;

    if (n == 1) {
        wf_team_bytes_copy(out, x->from[first], x->bytes);
        return MPI_SUCCESS;
    }
    rc = tree(x, first + n / 2, n / 2, out, level + 1);
    if (!rc && n == 2)
        return apply(x, x->from[first], out);
    if (!rc)
        rc = tree(x, first, n / 2, lower, level + 1);
    return rc ? rc : apply(x, lower, out);
}

static int most_below(int n)
{
    int d = 1;

    while (2 * d < n)
        d *= 2;
    return d;
}

/* The first n. */
static int scan(const struct scanning *x, int n, char *out, int level)
{
    char *lower = place(x, DEPTH + level);
    int d = most_below(n), rc;

    if (n == 1)
        return tree(x, 0, 1, out, 0);
    rc = tree(x, n - d, d, out, 0);
    if (!rc)
        rc = scan(x, n - d, lower, level + 1);
    return rc ? rc : apply(x, lower, out);
}

static int exscan(const struct scanning *x, int n, char *out)
{
    char *block = place(x, 2 * DEPTH - 1);
    int rc = tree(x, n - 1, 1, out, 0);

    n--;
    for (int d = 2; n > 0 && !rc; n -= d, d *= 2) {
        rc = n >= d ? tree(x, n - d, d, block, 0) : scan(x, n, block, 0);
        if (!rc)
            rc = apply(x, block, out);
    }
    return rc;
}

static bool find_room(struct scanning *x, char *small)
{
    struct wf_team *t = x->a->comm->team;
    size_t bytes = 2 * DEPTH * x->bytes;

    x->room = bytes <= SMALL ? small : wf_team_scratch(t, bytes);
    return x->room != NULL;
}

static int compute(struct scanning *x, bool inclusive)
{
    struct wf_team *t = x->a->comm->team;
    char *out = (char *)x->a->rbuf + x->a->rtype->true_lb;
    _Alignas(16) char small[SMALL];

    if (!find_room(x, small))
        return wf_error(MPI_ERR_NO_MEM, "out of memory for a reduction");
    wf_team_sources(t, x->bytes, wf_team_data(t, t->rank, x->bytes), x->from);
    return inclusive ? scan(x, t->rank + 1, out, 0) : exscan(x, t->rank, out);
}

/* The lines of lower ranks. */
static int hear_lower(struct wf_team *t, uint64_t bytes)
{
    uint64_t word;
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->rank && !rc; r++) {
        rc = wf_team_hear(t, r, &word);
        if (!rc)
            rc = wf_team_length(r, wf_team_bytes(word), bytes);
        if (wf_unlikely(!rc && wf_team_schedules(word)))
            rc = wf_error(MPI_ERR_COUNT,
                          "rank %d calls this collective with "
                          "another operation or type",
                          r);
    }
    return rc;
}

static int run(wf_coll_builder *builder, const struct wf_coll_args *a,
               bool inclusive)
{
    struct wf_team *t = a->comm->team;
    struct scanning x = {.a = a, .bytes = a->rcount * (uint64_t)a->rtype->size};
    int rc;

    if (wf_unlikely(!wf_team_usual_reduction(a)) &&
        (rc = wf_team_check(builder, a)))
        return rc;
    if (x.bytes == 0)
        return MPI_SUCCESS;
    if (!a->op->predefined || !wf_type_contiguous(a->rtype) ||
        x.bytes > t->block)
        return wf_team_all_schedule(builder, a, x.bytes);
    wf_team_begin(t, x.bytes);
    rc = wf_team_put(wf_team_data(t, t->rank, x.bytes),
                     a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf, a->rcount,
                     a->rtype);
    wf_team_publish(t, x.bytes, 0);
    wf_team_first(&rc, hear_lower(t, x.bytes));
    if (wf_likely(!rc) && (inclusive || t->rank > 0))
        rc = compute(&x, inclusive);
    wf_team_done(t);
    return rc;
}

int wf_team_scan(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    return run(builder, a, true);
}

int wf_team_exscan(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    return run(builder, a, false);
}

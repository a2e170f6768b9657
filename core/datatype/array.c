/* Subarrays of global arrays are made by MPI_Type_create_subarray and _darray,
 * MPI-5.0 s5.1.3 and s5.1.4.
 *
 * DESIGN  The placement is composed from vectors, one per dimension from the
 * fastest to the slowest, and kept as the body of the new type; the layout
 * code then normalises it like any other nest of vectors.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/instance.h"
#include "report/state.h"

/* A body that is being built: each step replaces the type. */
struct body {
    struct wf_type *type;
    int64_t stride; /* bytes between neighbours in the current dimension */
    int64_t start;  /* bytes from the array's origin to the first element */
};

static int report_too_big(void)
{
    return wf_error(MPI_ERR_COUNT, "the array spans more than 2^63 - 1 bytes");
}

static void body_init(struct body *b, struct wf_type *oldtype)
{
    wf_type_get(oldtype);
    b->type = oldtype;
    b->stride = oldtype->extent;
    b->start = 0;
}

static int body_replace(struct body *b, int rc, struct wf_type *t)
{
    if (rc)
        return rc;
    wf_type_put(b->type);
    b->type = t;
    return MPI_SUCCESS;
}

/* Repeats the current type n times, step bytes apart. */
static int body_repeat(struct body *b, int64_t n, int64_t step)
{
    struct wf_type *t = NULL;
    int rc = wf_type_make_hvector(n, 1, step, b->type, &t);

    return body_replace(b, rc, t);
}

/* Ends a dimension: the next one starts after `size` of this one. */
static int body_end_dimension(struct body *b, int64_t size)
{
    return __builtin_mul_overflow(b->stride, size, &b->stride)
               ? report_too_big()
               : MPI_SUCCESS;
}

static int body_skip(struct body *b, int64_t n)
{
    int64_t bytes;

    if (__builtin_mul_overflow(b->stride, n, &bytes) ||
        __builtin_add_overflow(b->start, bytes, &b->start))
        return report_too_big();
    return MPI_SUCCESS;
}

/* Shifts the body to its start, and makes it the body of t, whose extent is
 * that of the whole array. */
static int body_finish(struct body *b, struct wf_type *t, MPI_Datatype *newtype)
{
    struct wf_type *placed = NULL;
    int rc = wf_type_make_struct(1, &b->start, &b->type, &placed);

    rc = body_replace(b, rc, placed);
    if (rc)
        goto err;
    t->priv->body = b->type;
    rc = wf_type_derive(t, &t);
    if (rc)
        return rc;
    t->lb = 0;
    t->extent = b->stride;
    t->priv->sticky = true;
    t->flags &= ~(uint32_t)WF_TYPE_CONTIG;
    if (t->layout->kind == WF_LAYOUT_BLOCK && t->size == t->extent)
        t->flags |= WF_TYPE_CONTIG;
    *newtype = wf_type_handle(t);
    return MPI_SUCCESS;
err:
    wf_type_put(b->type);
    wf_type_put(t);
    return rc;
}

/* Returns dimension i of n, counted from the fastest. */
static int dimension_at(int order, int n, int i)
{
    return order == MPI_ORDER_FORTRAN ? i : n - 1 - i;
}

/* ---- subarray --------------------------------------------------------- */

/* The arguments of a subarray. */
struct box {
    int ndims;
    struct wf_ints sizes, subsizes, starts;
};

static int check_box(const struct box *x)
{
    if (x->ndims <= 0)
        return wf_error(MPI_ERR_DIMS, "ndims %d is not positive", x->ndims);
    for (int d = 0; d < x->ndims; d++) {
        long long size = wf_int_at(x->sizes, (size_t)d);
        long long sub = wf_int_at(x->subsizes, (size_t)d);
        long long start = wf_int_at(x->starts, (size_t)d);

        if (size < 1 || sub < 1 || sub > size)
            return wf_error(MPI_ERR_ARG,
                            "array_of_subsizes[%d] is %lld; array_of_sizes[%d] "
                            "is %lld: 1 <= subsize <= size must hold",
                            d, sub, d, size);
        if (start < 0 || start > size - sub)
            return wf_error(MPI_ERR_ARG,
                            "array_of_starts[%d] is %lld; with size %lld and "
                            "subsize %lld it must be 0..%lld",
                            d, start, size, sub, size - sub);
    }
    return MPI_SUCCESS;
}

static int build_box(struct body *b, const struct box *x, int order)
{
    for (int i = 0; i < x->ndims; i++) {
        size_t d = (size_t)dimension_at(order, x->ndims, i);
        int rc = body_repeat(b, wf_int_at(x->subsizes, d), b->stride);

        if (!rc)
            rc = body_skip(b, wf_int_at(x->starts, d));
        if (!rc)
            rc = body_end_dimension(b, wf_int_at(x->sizes, d));
        if (rc)
            return rc;
    }
    return MPI_SUCCESS;
}

static void record_box(struct wf_type *t, const struct box *x, int order)
{
    int64_t *v = t->priv->value;

    *v++ = x->ndims;
    for (int d = 0; d < x->ndims; d++, v++) {
        v[0] = wf_int_at(x->sizes, (size_t)d);
        v[x->ndims] = wf_int_at(x->subsizes, (size_t)d);
        v[2 * (int64_t)x->ndims] = wf_int_at(x->starts, (size_t)d);
    }
    t->priv->value[1 + 3 * (int64_t)x->ndims] = order;
}

static int check_order(int order)
{
    if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG,
                    "order %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN",
                    order);
}

int wf_mpi_type_create_subarray(struct wf_instance *wf, int ndims,
                                struct wf_ints array_of_sizes,
                                struct wf_ints array_of_subsizes,
                                struct wf_ints array_of_starts, int order,
                                struct wf_type *oldtype, MPI_Datatype *newtype)
{
    struct box x = {ndims, array_of_sizes, array_of_subsizes, array_of_starts};
    struct wf_type *t;
    struct body b;
    int rc = check_box(&x);

    if (!rc)
        rc = check_order(order);
    if (rc)
        return rc;
    t = wf_type_create(MPI_COMBINER_SUBARRAY, 2 + 3 * (int64_t)ndims, 0, 1);
    if (!t)
        return wf_type_report_no_memory();
    wf_type_set_older(t, 0, oldtype);
    record_box(t, &x, order);
    t->priv->large = wf_call_now.large || array_of_sizes.width == 8;
    body_init(&b, oldtype);
    rc = build_box(&b, &x, order);
    if (!rc)
        return body_finish(&b, t, newtype);
    wf_type_put(b.type);
    wf_type_put(t);
    return rc;
}

/* ---- darray ----------------------------------------------------------- */

/* One dimension of a distributed array, as one process has it. */
struct share {
    int64_t gsize, procs, coord, block; /* elements of a block; blocks are
                                           dealt cyclically */
};

/* Builds cyclic blocks: whole ones at equal steps, then perhaps a short one. */
static int build_share(struct body *b, const struct share *s)
{
    int64_t round = s->block * s->procs, first = s->block * s->coord;
    int64_t left = s->gsize > first ? s->gsize - first : 0;
    int64_t whole = left / round, rest = left % round;
    struct wf_type *part[2] = {NULL, NULL}, *both = NULL;
    int64_t disp[2];
    int rc;

    if (rest >= s->block) {
        whole++;
        rest = 0;
    }
    disp[0] = 0;
    disp[1] = whole * round * b->stride;
    rc = wf_type_make_hvector(rest, 1, b->stride, b->type, &part[1]);
    if (rc)
        return rc;
    rc = body_repeat(b, s->block, b->stride);
    if (!rc)
        rc = body_repeat(b, whole, round * b->stride);
    part[0] = b->type;
    if (!rc && rest) {
        rc = wf_type_make_struct(2, disp, part, &both);
        rc = body_replace(b, rc, both);
    }
    wf_type_put(part[1]);
    return rc ? rc : body_skip(b, first);
}

/* Checks the arguments of a dimension's distribution and sets the block. */
static int set_share(struct share *s, int d, int distrib, int darg)
{
    int64_t least = (s->gsize + s->procs - 1) / s->procs;

    switch (distrib) {
    case MPI_DISTRIBUTE_NONE:
        if (s->procs != 1)
            return wf_error(MPI_ERR_ARG,
                            "array_of_psizes[%d] is %lld; with "
                            "MPI_DISTRIBUTE_NONE it must be 1",
                            d, (long long)s->procs);
        s->block = s->gsize;
        return MPI_SUCCESS;
    case MPI_DISTRIBUTE_BLOCK:
        s->block = darg == MPI_DISTRIBUTE_DFLT_DARG ? least : darg;
        if (s->block >= least)
            return MPI_SUCCESS;
        return wf_error(MPI_ERR_ARG,
                        "array_of_dargs[%d] is %d; blocks of fewer than %lld "
                        "do not cover the dimension",
                        d, darg, (long long)least);
    case MPI_DISTRIBUTE_CYCLIC:
        s->block = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg;
        if (s->block > 0)
            return MPI_SUCCESS;
        return wf_error(MPI_ERR_ARG, "array_of_dargs[%d] %d is not positive", d,
                        darg);
    default:
        return wf_error(MPI_ERR_ARG,
                        "array_of_distribs[%d] %d is not MPI_DISTRIBUTE_BLOCK, "
                        "_CYCLIC or _NONE",
                        d, distrib);
    }
}

/* The arguments of a distributed array. */
struct grid {
    int size, rank, ndims;
    struct wf_ints gsizes;
    const int *distribs, *dargs, *psizes;
};

static int check_grid(const struct grid *g)
{
    int64_t procs = 1;

    if (g->ndims <= 0)
        return wf_error(MPI_ERR_DIMS, "ndims %d is not positive", g->ndims);
    if (g->rank < 0 || g->rank >= g->size)
        return wf_error(MPI_ERR_RANK, "rank %d is not in 0..%d", g->rank,
                        g->size - 1);
    for (int d = 0; d < g->ndims; d++) {
        if (g->psizes[d] < 1 || wf_int_at(g->gsizes, (size_t)d) < 1)
            return wf_error(MPI_ERR_ARG,
                            "array_of_gsizes[%d] and array_of_psizes[%d] must "
                            "be positive",
                            d, d);
        procs *= g->psizes[d];
        if (procs > g->size)
            break;
    }
    if (procs == g->size)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG,
                    "the product of array_of_psizes is not size %d", g->size);
}

/* Returns this process's coordinate in dimension d; ranks are in row-major
 * order, whatever the order of the array. */
static int64_t grid_coord(const struct grid *g, int d)
{
    int rank = g->rank;

    for (int i = g->ndims - 1; i > d; i--)
        rank /= g->psizes[i];
    return rank % g->psizes[d];
}

static int build_grid(struct body *b, const struct grid *g, int order)
{
    for (int i = 0; i < g->ndims; i++) {
        int d = dimension_at(order, g->ndims, i);
        int64_t start = b->start;
        struct share s = {.gsize = wf_int_at(g->gsizes, (size_t)d),
                          .procs = g->psizes[d],
                          .coord = grid_coord(g, d)};
        int64_t whole = b->stride;
        int rc = set_share(&s, d, g->distribs[d], g->dargs[d]);

        if (!rc && __builtin_mul_overflow(whole, s.gsize, &whole))
            rc = report_too_big();
        if (!rc)
            rc = build_share(b, &s);
        if (rc)
            return rc;
        if (s.gsize <= s.block * s.coord)
            b->start = start; /* this process has nothing: no displacement
                                 either */
        b->stride = whole;
    }
    return MPI_SUCCESS;
}

static void record_grid(struct wf_type *t, const struct grid *g, int order)
{
    int64_t *v = t->priv->value, n = g->ndims;

    v[0] = g->size;
    v[1] = g->rank;
    v[2] = n;
    for (int d = 0; d < g->ndims; d++) {
        v[3 + d] = wf_int_at(g->gsizes, (size_t)d);
        v[3 + n + d] = g->distribs[d];
        v[3 + 2 * n + d] = g->dargs[d];
        v[3 + 3 * n + d] = g->psizes[d];
    }
    v[3 + 4 * n] = order;
}

int wf_mpi_type_create_darray(struct wf_instance *wf, int size, int rank,
                              int ndims, struct wf_ints array_of_gsizes,
                              const int array_of_distribs[],
                              const int array_of_dargs[],
                              const int array_of_psizes[], int order,
                              struct wf_type *oldtype, MPI_Datatype *newtype)
{
    struct grid g = {size,
                     rank,
                     ndims,
                     array_of_gsizes,
                     array_of_distribs,
                     array_of_dargs,
                     array_of_psizes};
    struct wf_type *t;
    struct body b;
    int rc = check_grid(&g);

    if (!rc)
        rc = check_order(order);
    if (rc)
        return rc;
    t = wf_type_create(MPI_COMBINER_DARRAY, 4 + 4 * (int64_t)ndims, 0, 1);
    if (!t)
        return wf_type_report_no_memory();
    wf_type_set_older(t, 0, oldtype);
    record_grid(t, &g, order);
    t->priv->large = wf_call_now.large || array_of_gsizes.width == 8;
    body_init(&b, oldtype);
    rc = build_grid(&b, &g, order);
    if (!rc)
        return body_finish(&b, t, newtype);
    wf_type_put(b.type);
    wf_type_put(t);
    return rc;
}

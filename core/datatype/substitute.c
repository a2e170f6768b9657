/* This file makes a datatype like another one, of other basic types.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/substitute.h"

#include <stdlib.h>

#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "object/error.h"

/* The arguments of a substitution, for all its parts. */
struct substitution {
    struct wf_instance *wf;
    wf_type_resizer *resize;
    void *arg;
};

static int substitute_type(const struct substitution *, const struct wf_type *,
                           struct wf_type **out);

static int substitute_predefined(const struct substitution *s,
                                 const struct wf_type *t, struct wf_type **out)
{
    MPI_Datatype handle;
    int64_t bytes;
    int rc = s->resize(s->arg, t, &bytes);

    if (rc == MPI_SUCCESS)
        rc =
            wf_mpi_type_contiguous(s->wf, bytes, wf_type_of(MPI_BYTE), &handle);
    if (rc == MPI_SUCCESS)
        *out = wf_type_of(handle);
    return rc;
}

/* Makes a subarray or darray over another type. Their records have the values
 * in the order of the arguments. */
static int substitute_array(struct wf_instance *wf, const struct wf_type *t,
                            struct wf_type *older, struct wf_type **out)
{
    bool darray = t->priv->combiner == MPI_COMBINER_DARRAY;
    const int64_t *v = t->priv->value; /* all: it is of no irregular type */
    int64_t n = v[darray ? 2 : 0];
    int *small = calloc((size_t)(3 * n), sizeof *small);
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    int rc;

    WF_ASSERT(t->priv->nvalue == t->priv->nint);
    for (int64_t i = 0; small && darray && i < 3 * n; i++)
        small[i] = (int)v[3 + n + i];
    if (!small)
        rc = wf_type_report_no_memory();
    else if (darray)
        rc = wf_mpi_type_create_darray(
            wf, (int)v[0], (int)v[1], (int)n, (struct wf_ints){v + 3, 8}, small,
            small + n, small + 2 * n, (int)v[3 + 4 * n], older, &handle);
    else
        rc = wf_mpi_type_create_subarray(wf, (int)n, (struct wf_ints){v + 1, 8},
                                         (struct wf_ints){v + 1 + n, 8},
                                         (struct wf_ints){v + 1 + 2 * n, 8},
                                         (int)v[1 + 3 * n], older, &handle);
    free(small);
    if (rc == MPI_SUCCESS)
        *out = wf_type_of(handle);
    return rc;
}

/* Makes a type by the same constructor over other older types. */
static int construct_alike(const struct wf_type *t, struct wf_type **older,
                           struct wf_type **out)
{
    struct wf_type *copy = wf_type_create_alike(t);

    if (!copy)
        return wf_type_report_no_memory();
    for (int64_t i = 0; i < t->priv->ntype; i++)
        wf_type_set_older(copy, i, older[i]);
    return wf_type_derive(copy, out);
}

static int substitute_derived(const struct substitution *s,
                              const struct wf_type *t, struct wf_type **out)
{
    const struct wf_type_private *p = t->priv;
    struct wf_type **older = calloc((size_t)p->ntype + 1, sizeof *older);
    int rc = older ? MPI_SUCCESS : wf_type_report_no_memory();

    for (int64_t i = 0; rc == MPI_SUCCESS && i < p->ntype; i++)
        rc = substitute_type(s, p->older[i], &older[i]);
    if (rc == MPI_SUCCESS && p->body)
        rc = substitute_array(s->wf, t, older[0], out);
    else if (rc == MPI_SUCCESS)
        rc = construct_alike(t, older, out);
    for (int64_t i = 0; older && i < p->ntype; i++)
        if (older[i])
            wf_type_put(older[i]);
    free(older);
    return rc;
}

static int substitute_type(const struct substitution *s,
                           const struct wf_type *t, struct wf_type **out)
{
    return t->predefined ? substitute_predefined(s, t, out)
                         : substitute_derived(s, t, out);
}

int wf_type_substitute(struct wf_instance *wf, const struct wf_type *t,
                       wf_type_resizer *resize, void *arg, struct wf_type **out)
{
    struct substitution s = {wf, resize, arg};

    return substitute_type(&s, t, out);
}

int wf_type_resized_size(const struct wf_type *t, wf_type_resizer *resize,
                         void *arg, int64_t *bytes)
{
    struct wf_type_block b;
    int64_t blocks, part, sum = 0;

    if (t->predefined)
        return resize(arg, t, bytes);
    blocks = wf_type_block_count(t);
    for (int64_t i = 0; i < blocks; i++) {
        if (!wf_type_block(t, i, &b) || b.n == 0)
            continue;
        int rc = wf_type_resized_size(b.type, resize, arg, &part);

        if (rc)
            return rc;
        if (__builtin_mul_overflow(part, b.n, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return wf_error(MPI_ERR_COUNT,
                            "an element of %s is more than 2^63 - 1 bytes",
                            wf_type_name(t));
    }
    *bytes = sum;
    return MPI_SUCCESS;
}

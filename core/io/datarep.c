/* Data representations: how values are in a file (MPI-5.0 s14.5).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/datarep.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/derive.h"
#include "datatype/predefined.h"
#include "datatype/substitute.h"
#include "io/files.h"
#include "object/env.h"
#include "object/error.h"

static const struct wf_datarep predefined[] = {
    {.kind = WF_REP_NATIVE, .name = "native"},
    {.kind = WF_REP_NATIVE, .name = "internal"},
    {.kind = WF_REP_EXTERNAL32, .name = "external32"},
};
enum { PREDEFINED = sizeof predefined / sizeof *predefined };

static const struct wf_datarep *find_by_name(struct wf_instance *wf,
                                             const char *name)
{
    const struct wf_files_state *s = wf_files_find_state(wf);
    const struct wf_datarep *rep = NULL;

    for (int i = 0; i < PREDEFINED; i++)
        if (!strcmp(name, predefined[i].name))
            return &predefined[i];
    if (s)
        WF_SECTION(objects, wf->rank->env)
            rep = s->registered;
    while (rep && strcmp(name, rep->name))
        rep = rep->next;
    return rep;
}

int wf_datarep_find(struct wf_instance *wf, const char *name,
                    const struct wf_datarep **out)
{
    *out = find_by_name(wf, name);
    if (*out)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_UNSUPPORTED_DATAREP,
                    "datarep \"%.40s\" is unknown: use native, internal, "
                    "external32, or one of MPI_Register_datarep",
                    name);
}

int wf_mpi_register_datarep(struct wf_instance *wf, const char *datarep,
                            struct wf_polyfn read_conversion_fn,
                            struct wf_polyfn write_conversion_fn,
                            MPI_Datarep_extent_function *dtype_file_extent_fn,
                            void *extra_state)
{
    struct wf_files_state *s = wf_files_state(wf);
    struct wf_datarep *rep;
    size_t n = strlen(datarep);

    if (n == 0 || n >= MPI_MAX_DATAREP_STRING)
        return wf_error(MPI_ERR_ARG,
                        "datarep has %zu characters but must have 1..%d", n,
                        MPI_MAX_DATAREP_STRING - 1);
    if (!dtype_file_extent_fn)
        return wf_error(MPI_ERR_ARG, "dtype_file_extent_fn is NULL");
    if (find_by_name(wf, datarep))
        return wf_error(MPI_ERR_DUP_DATAREP,
                        "datarep \"%s\" is defined already", datarep);
    rep = s ? calloc(1, sizeof *rep) : NULL;
    if (!rep)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a data representation");
    rep->kind = WF_REP_REGISTERED;
    memcpy(rep->name, datarep, n);
    rep->read = read_conversion_fn;
    rep->write = write_conversion_fn;
    rep->extent = dtype_file_extent_fn;
    rep->extra_state = extra_state;
    WF_SECTION(objects, wf->rank->env) {
        rep->next = s->registered;
        s->registered = rep;
    }
    return MPI_SUCCESS;
}

/* ---- sizes --------------------------------------------------------------- */

/* The argument of the functions below. */
struct sizes {
    struct wf_instance *wf;
    const struct wf_datarep *rep;
};

static int size_external(void *arg, const struct wf_type *t, int64_t *bytes)
{
    *bytes = wf_type_external(t);
    return MPI_SUCCESS;
}

/* Asks the program. */
static int size_registered(void *arg, const struct wf_type *t, int64_t *bytes)
{
    const struct sizes *s = arg;
    MPI_Aint extent = 0;
    int rc;

    wf_cs_leave(&s->wf->api);
    rc = s->rep->extent(wf_type_handle((struct wf_type *)t), &extent,
                        s->rep->extra_state);
    wf_cs_enter(&s->wf->api);
    if (rc || extent < 0)
        return wf_error(MPI_ERR_CONVERSION,
                        "the extent function of datarep \"%s\" returned %d and "
                        "the extent %lld for %s",
                        s->rep->name, rc, (long long)extent, wf_type_name(t));
    *bytes = extent;
    return MPI_SUCCESS;
}

static wf_type_resizer *resizer_of(const struct wf_datarep *rep)
{
    return rep->kind == WF_REP_EXTERNAL32 ? size_external : size_registered;
}

int wf_datarep_size(struct wf_instance *wf, const struct wf_datarep *rep,
                    const struct wf_type *t, int64_t *bytes)
{
    struct sizes s = {wf, rep};

    if (rep->kind == WF_REP_REGISTERED)
        return wf_type_resized_size(t, size_registered, &s, bytes);
    *bytes = rep->kind == WF_REP_NATIVE ? t->size : wf_type_external(t);
    return MPI_SUCCESS;
}

int wf_datarep_tile(struct wf_instance *wf, const struct wf_datarep *rep,
                    struct wf_type *t, struct wf_type **out)
{
    struct sizes s = {wf, rep};

    if (rep->kind != WF_REP_NATIVE)
        return wf_type_substitute(wf, t, resizer_of(rep), &s, out);
    wf_type_get(t);
    *out = t;
    return MPI_SUCCESS;
}

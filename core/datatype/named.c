/* This file keeps names and attributes of predefined types.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/named.h"

#include <stdlib.h>

#include "process/rank.h"

struct wf_type_records *wf_type_records(struct wf_instance *wf)
{
    if (!wf->rank->types)
        wf->rank->types = calloc(1, sizeof *wf->rank->types);
    return wf->rank->types;
}

struct wf_type_named *wf_type_named_find(struct wf_instance *wf,
                                         const struct wf_type *t)
{
    struct wf_type_named *r =
        wf && wf->rank->types ? wf->rank->types->named : NULL;

    while (r && r->predefined != t->predefined)
        r = r->next;
    return r;
}

struct wf_type_named *wf_type_named(struct wf_instance *wf,
                                    const struct wf_type *t)
{
    struct wf_type_named *r = wf_type_named_find(wf, t);

    if (r || !wf || !wf_type_records(wf))
        return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->predefined = t->predefined;
    r->next = wf->rank->types->named;
    wf->rank->types->named = r;
    return r;
}

/* Attributes that are left at the end are dropped without their delete
 * functions: only those of MPI_COMM_SELF run in MPI_Finalize (MPI-5.0 s11.2.4),
 * which is also the last moment at which they could run. */
void wf_types_fini(struct wf_instance *wf)
{
    struct wf_type_records *all = wf->rank->types;

    wf->rank->types = NULL;
    if (!all)
        return;
    for (struct wf_type_named *r = all->named, *next; r; r = next) {
        next = r->next;
        free(r->name);
        free(r);
    }
    for (struct wf_type_f90 *f = all->f90, *next; f; f = next) {
        next = f->next;
        free(f->priv.name);
        free(f);
    }
    free(all);
}

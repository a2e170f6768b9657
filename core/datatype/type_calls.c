/* This file has the MPI calls about datatypes as objects: commit, free, copies,
 * names, sizes and extents.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/named.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/attr.h"
#include "object/error.h"
#include "process/instance.h"

int wf_mpi_type_commit(struct wf_instance *wf, MPI_Datatype *datatype)
{
    struct wf_type *t = wf_type_of(*datatype);

    if (!t)
        return wf_error(MPI_ERR_TYPE, "*datatype is not a datatype");
    if (!(t->flags & WF_TYPE_COMMITTED)) /* the layout was built before */
        t->flags |= WF_TYPE_COMMITTED;
    return MPI_SUCCESS;
}

int wf_mpi_type_free(struct wf_instance *wf, MPI_Datatype *datatype)
{
    struct wf_type *t = wf_type_of(*datatype);
    int rc;

    if (!t)
        return wf_error(MPI_ERR_TYPE, "*datatype is not a datatype");
    if (t->predefined)
        return wf_error(MPI_ERR_TYPE, "%s is predefined and cannot be freed",
                        wf_type_name(t));
    if (t->priv->handles == 1) {
        rc = wf_attr_delete_all(wf, WF_KIND_TYPE, *datatype, &t->priv->attrs);
        if (rc)
            return rc;
    }
    t->priv->handles--;
    wf_type_put(t);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_type_dup(struct wf_instance *wf, struct wf_type *oldtype,
                    MPI_Datatype *newtype)
{
    struct wf_type *t = wf_type_create(MPI_COMBINER_DUP, 0, 0, 1);
    struct wf_attr **attrs;
    int rc;

    if (!t)
        return wf_type_report_no_memory();
    wf_type_set_older(t, 0, oldtype);
    rc = wf_type_derive(t, &t);
    if (rc)
        return rc;
    t->flags |= oldtype->flags & WF_TYPE_COMMITTED;
    attrs = wf_type_attrs(oldtype);
    if (attrs && *attrs)
        rc = wf_attr_copy_all(wf, WF_KIND_TYPE, wf_type_handle(oldtype), *attrs,
                              &t->priv->attrs);
    if (rc) {
        wf_type_put(t);
        return rc;
    }
    *newtype = wf_type_handle(t);
    return MPI_SUCCESS;
}

int wf_mpi_type_get_name(struct wf_instance *wf, struct wf_type *datatype,
                         char *type_name, int *resultlen)
{
    struct wf_type_named *named;
    const char *name = "";
    size_t n;

    if (!datatype) {
        name = "MPI_DATATYPE_NULL";
    } else if (datatype->priv) {
        if (datatype->priv->name)
            name = datatype->priv->name;
    } else {
        named = wf_type_named_find(wf, datatype);
        name =
            named && named->name ? named->name : wf_predefined(datatype)->name;
    }
    n = strlen(name);
    memcpy(type_name, name, n + 1);
    *resultlen = (int)n;
    return MPI_SUCCESS;
}

int wf_mpi_type_set_name(struct wf_instance *wf, struct wf_type *datatype,
                         const char *type_name)
{
    size_t n = strnlen(type_name, MPI_MAX_OBJECT_NAME - 1);
    struct wf_type_named *named;
    char **place, *copy;

    named = datatype->priv ? NULL : wf_type_named(wf, datatype);
    copy = malloc(n + 1);
    if (!copy || (!datatype->priv && !named)) {
        free(copy);
        return wf_error(MPI_ERR_NO_MEM, "no memory for the name");
    }
    memcpy(copy, type_name, n);
    copy[n] = '\0';
    place = named ? &named->name : &datatype->priv->name;
    free(*place);
    *place = copy;
    return MPI_SUCCESS;
}

int wf_mpi_type_size(struct wf_instance *wf, struct wf_type *datatype,
                     MPI_Count *size)
{
    /* NULL: the Fortran compiler does not have this type, MPI-5.0 s21.4 */
    *size = datatype ? datatype->size : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int wf_mpi_type_size_x(struct wf_instance *wf, struct wf_type *datatype,
                       MPI_Count *size)
{
    return wf_mpi_type_size(wf, datatype, size);
}

int wf_mpi_type_get_extent(struct wf_instance *wf, struct wf_type *datatype,
                           MPI_Count *lb, MPI_Count *extent)
{
    *lb = datatype->lb;
    *extent = datatype->extent;
    return MPI_SUCCESS;
}

int wf_mpi_type_get_extent_x(struct wf_instance *wf, struct wf_type *datatype,
                             MPI_Count *lb, MPI_Count *extent)
{
    return wf_mpi_type_get_extent(wf, datatype, lb, extent);
}

int wf_mpi_type_get_true_extent(struct wf_instance *wf,
                                struct wf_type *datatype, MPI_Count *true_lb,
                                MPI_Count *true_extent)
{
    *true_lb = datatype->true_lb;
    *true_extent = datatype->true_extent;
    return MPI_SUCCESS;
}

int wf_mpi_type_get_true_extent_x(struct wf_instance *wf,
                                  struct wf_type *datatype, MPI_Count *true_lb,
                                  MPI_Count *true_extent)
{
    return wf_mpi_type_get_true_extent(wf, datatype, true_lb, true_extent);
}

int wf_mpi_get_address(struct wf_instance *wf, const void *location,
                       MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

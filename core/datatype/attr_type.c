/* Attributes of datatypes (MPI-5.0 s7.7.4).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/attr.h"
#include "object/error.h"

static int record_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory for attributes of a predefined "
                                    "datatype");
}

int wf_mpi_type_get_attr(struct wf_instance *wf, struct wf_type *datatype,
                         int type_keyval, void *attribute_val, int *flag)
{
    struct wf_attr **list = wf_type_attrs(datatype);
    if (!list)
        return record_no_memory();
    return wf_attr_get(wf, WF_KIND_TYPE, *list, type_keyval, attribute_val,
                       flag);
}

int wf_mpi_type_set_attr(struct wf_instance *wf, struct wf_type *datatype,
                         int type_keyval, void *attribute_val)
{
    struct wf_attr **list = wf_type_attrs(datatype);
    if (!list)
        return record_no_memory();
    return wf_attr_set(wf, WF_KIND_TYPE, wf_type_handle(datatype), list,
                       type_keyval, attribute_val);
}

int wf_mpi_type_delete_attr(struct wf_instance *wf, struct wf_type *datatype,
                            int type_keyval)
{
    struct wf_attr **list = wf_type_attrs(datatype);
    if (!list)
        return record_no_memory();
    return wf_attr_delete(wf, WF_KIND_TYPE, wf_type_handle(datatype), list,
                          type_keyval);
}

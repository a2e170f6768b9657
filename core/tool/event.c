/* Events of MPI_T and their source: the functions (MPI-5.0 s15.3.8). See
 * event.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/event.h"

#include <string.h>

#include "core_api.h"
#include "object/info.h"
#include "os/clock.h"
#include "tool/event_delivery.h"
#include "tool/event_types.h"
#include "tool/tool.h"

/* ---- the source ---------------------------------------------------------- */

enum { SOURCES = 1, TICKS_PER_SECOND = 1000000000 };

int wf_mpi_t_source_get_num(struct wf_instance *wf, int *num_sources)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_sources, SOURCES);
    return MPI_SUCCESS;
}

/* Gives the program an info object that was made for it. */
static int give_made(MPI_Info *info, struct wf_info *made)
{
    *info = made ? (MPI_Info)made : MPI_INFO_NULL;
    return made ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

/* Gives one without hints: sources and types have none. */
static int give_info(MPI_Info *info)
{
    return info ? give_made(info, wf_info_create()) : MPI_SUCCESS;
}

int wf_mpi_t_source_get_info(struct wf_instance *wf, int source_index,
                             char *name, int *name_len, char *desc,
                             int *desc_len, MPI_T_source_order *ordering,
                             MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                             MPI_Info *info)
{
    WF_TOOL_REQUIRE_INIT();
    if (source_index < 0 || source_index >= SOURCES)
        return MPI_T_ERR_INVALID_INDEX;
    wf_tool_copy_text("weft", name, name_len);
    wf_tool_copy_text("the ranks of this process; ticks are nanoseconds of the "
                      "monotonic clock",
                      desc, desc_len);
    if (ordering) /* threads and engines overtake each other */
        *ordering = MPI_T_SOURCE_UNORDERED;
    if (ticks_per_second)
        *ticks_per_second = TICKS_PER_SECOND;
    if (max_ticks)
        *max_ticks = INT64_MAX;
    return give_info(info);
}

int wf_mpi_t_source_get_timestamp(struct wf_instance *wf, int source_index,
                                  MPI_Count *timestamp)
{
    WF_TOOL_REQUIRE_INIT();
    if (source_index < 0 || source_index >= SOURCES)
        return MPI_T_ERR_INVALID_INDEX;
    if (!timestamp)
        return MPI_T_ERR_INVALID;
    *timestamp = (MPI_Count)wf_clock_ns();
    return MPI_SUCCESS;
}

/* ---- types --------------------------------------------------------------- */

int wf_mpi_t_event_get_num(struct wf_instance *wf, int *num_events)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_events, WF_EVENT_TYPES);
    return MPI_SUCCESS;
}

/* Stores the first *room elements of a type, and in *room how many it has. */
static void describe_elements(const struct wf_event_shape *shape,
                              MPI_Datatype types[], MPI_Aint displacements[],
                              int *room)
{
    int n = room ? *room : 0;

    for (int i = 0; i < n && i < shape->count; i++) {
        if (types)
            types[i] = shape->types[i];
        if (displacements)
            displacements[i] = i * (MPI_Aint)WF_EVENT_ELEMENT_BYTES;
    }
    wf_tool_set_int(room, shape->count);
}

int wf_mpi_t_event_get_info(struct wf_instance *wf, int event_index, char *name,
                            int *name_len, int *verbosity,
                            MPI_Datatype array_of_datatypes[],
                            MPI_Aint array_of_displacements[],
                            int *num_elements, MPI_T_enum *enumtype,
                            MPI_Info *info, char *desc, int *desc_len,
                            int *bind)
{
    WF_TOOL_REQUIRE_INIT();
    const struct wf_event_type *type = wf_event_type_at(event_index);

    if (!type)
        return MPI_T_ERR_INVALID_INDEX;
    wf_tool_copy_text(type->name, name, name_len);
    wf_tool_copy_text(type->help, desc, desc_len);
    wf_tool_set_int(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    describe_elements(type->shape, array_of_datatypes, array_of_displacements,
                      num_elements);
    if (enumtype)
        *enumtype =
            type->shape->has_texts ? wf_event_text_enum() : MPI_T_ENUM_NULL;
    wf_tool_set_int(bind, MPI_T_BIND_NO_OBJECT);
    return give_info(info);
}

int wf_mpi_t_event_get_index(struct wf_instance *wf, const char *name,
                             int *event_index)
{
    WF_TOOL_REQUIRE_INIT();
    if (!name || !event_index)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < WF_EVENT_TYPES; i++)
        if (strcmp(wf_event_type_at(i)->name, name) == 0) {
            *event_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

/* ---- registrations ------------------------------------------------------- */

static int keep_hints(struct wf_event_registration *r,
                      const MPI_T_cb_safety *safety, const struct wf_info *info)
{
    return wf_event_add_hints(r, safety, info) ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

int wf_mpi_t_event_handle_alloc(struct wf_instance *wf, int event_index,
                                void *obj_handle, struct wf_info *info,
                                MPI_T_event_registration *event_registration)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r;
    int rc;

    if (!wf_event_type_at(event_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (!event_registration)
        return MPI_T_ERR_INVALID;
    rc = wf_event_register(wf, event_index, event_registration);
    if (rc != MPI_SUCCESS)
        return rc;
    r = wf_event_registration_of(*event_registration);
    rc = keep_hints(r, NULL, info);
    if (rc != MPI_SUCCESS)
        wf_event_unregister(wf, r, NULL, NULL);
    return rc;
}

int wf_mpi_t_event_handle_free(struct wf_instance *wf,
                               MPI_T_event_registration event_registration,
                               void *user_data,
                               MPI_T_event_free_cb_function free_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r =
        wf_event_registration_of(event_registration);

    if (!r)
        return MPI_T_ERR_INVALID_HANDLE;
    wf_event_unregister(wf, r, user_data, free_cb_function);
    return MPI_SUCCESS;
}

int wf_mpi_t_event_handle_get_info(struct wf_instance *wf,
                                   MPI_T_event_registration event_registration,
                                   MPI_Info *info_used)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r =
        wf_event_registration_of(event_registration);

    if (!r)
        return MPI_T_ERR_INVALID_HANDLE;
    return info_used ? give_made(info_used, wf_event_copy_hints(r, NULL))
                     : MPI_SUCCESS;
}

int wf_mpi_t_event_handle_set_info(struct wf_instance *wf,
                                   MPI_T_event_registration event_registration,
                                   struct wf_info *info)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r =
        wf_event_registration_of(event_registration);

    return r ? keep_hints(r, NULL, info) : MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_register_callback(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, struct wf_info *info, void *user_data,
    MPI_T_event_cb_function event_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r =
        wf_event_registration_of(event_registration);

    if (!r)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!wf_event_set_callback(r, cb_safety, user_data, event_cb_function))
        return MPI_T_ERR_INVALID;
    return keep_hints(r, &cb_safety, info);
}

/* Finds a registration that has a callback of this level. */
static int find_callback(MPI_T_event_registration registration,
                         MPI_T_cb_safety safety,
                         struct wf_event_registration **r)
{
    *r = wf_event_registration_of(registration);
    if (!*r)
        return MPI_T_ERR_INVALID_HANDLE;
    return wf_event_has_callback(*r, safety) ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int wf_mpi_t_event_callback_get_info(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r;
    int rc = find_callback(event_registration, cb_safety, &r);

    return rc == MPI_SUCCESS && info_used
               ? give_made(info_used, wf_event_copy_hints(r, &cb_safety))
               : rc;
}

int wf_mpi_t_event_callback_set_info(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, struct wf_info *info)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r;
    int rc = find_callback(event_registration, cb_safety, &r);

    return rc == MPI_SUCCESS ? keep_hints(r, &cb_safety, info) : rc;
}

int wf_mpi_t_event_set_dropped_handler(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_event_dropped_cb_function dropped_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_event_registration *r =
        wf_event_registration_of(event_registration);

    if (!r)
        return MPI_T_ERR_INVALID_HANDLE;
    wf_event_set_dropped(r, dropped_cb_function);
    return MPI_SUCCESS;
}

/* ---- in a callback ------------------------------------------------------- */

int wf_mpi_t_event_read(struct wf_instance *wf,
                        MPI_T_event_instance event_instance, int element_index,
                        void *buffer)
{
    WF_TOOL_REQUIRE_INIT();
    const struct wf_event *e = wf_event_of(event_instance);
    const struct wf_event_shape *shape;

    if (!e)
        return MPI_T_ERR_INVALID_HANDLE;
    shape = wf_event_type_at(e->type)->shape;
    if (element_index < 0 || element_index >= shape->count)
        return MPI_T_ERR_INVALID_INDEX;
    if (!buffer)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, &e->elements[element_index],
           (size_t)wf_event_element_bytes(shape->types[element_index]));
    return MPI_SUCCESS;
}

int wf_mpi_t_event_copy(struct wf_instance *wf,
                        MPI_T_event_instance event_instance, void *buffer)
{
    WF_TOOL_REQUIRE_INIT();
    const struct wf_event *e = wf_event_of(event_instance);

    if (!e)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buffer)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, e->elements,
           (size_t)wf_event_type_at(e->type)->shape->count *
               WF_EVENT_ELEMENT_BYTES);
    return MPI_SUCCESS;
}

int wf_mpi_t_event_get_source(struct wf_instance *wf,
                              MPI_T_event_instance event_instance,
                              int *source_index)
{
    WF_TOOL_REQUIRE_INIT();
    if (!wf_event_of(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    wf_tool_set_int(source_index, 0);
    return MPI_SUCCESS;
}

int wf_mpi_t_event_get_timestamp(struct wf_instance *wf,
                                 MPI_T_event_instance event_instance,
                                 MPI_Count *event_timestamp)
{
    WF_TOOL_REQUIRE_INIT();
    const struct wf_event *e = wf_event_of(event_instance);

    if (!e)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!event_timestamp)
        return MPI_T_ERR_INVALID;
    *event_timestamp = e->time;
    return MPI_SUCCESS;
}

/* Events of MPI_T and their sources: there are none, which the standard allows
 * (MPI-5.0 s15.3.8). So every index and every handle is invalid.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "tool/tool.h"

int wf_mpi_t_event_callback_get_info(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_callback_set_info(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, struct wf_info *info)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_copy(struct wf_instance *wf,
                        MPI_T_event_instance event_instance, void *buffer)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_get_index(struct wf_instance *wf, const char *name,
                             int *event_index)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_NAME;
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
    return MPI_T_ERR_INVALID_INDEX;
}

int wf_mpi_t_event_get_num(struct wf_instance *wf, int *num_events)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_events, 0);
    return MPI_SUCCESS;
}

int wf_mpi_t_event_get_source(struct wf_instance *wf,
                              MPI_T_event_instance event_instance,
                              int *source_index)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_get_timestamp(struct wf_instance *wf,
                                 MPI_T_event_instance event_instance,
                                 MPI_Count *event_timestamp)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_handle_alloc(struct wf_instance *wf, int event_index,
                                void *obj_handle, struct wf_info *info,
                                MPI_T_event_registration *event_registration)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_INDEX;
}

int wf_mpi_t_event_handle_free(struct wf_instance *wf,
                               MPI_T_event_registration event_registration,
                               void *user_data,
                               MPI_T_event_free_cb_function free_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_handle_get_info(struct wf_instance *wf,
                                   MPI_T_event_registration event_registration,
                                   MPI_Info *info_used)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_handle_set_info(struct wf_instance *wf,
                                   MPI_T_event_registration event_registration,
                                   struct wf_info *info)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_read(struct wf_instance *wf,
                        MPI_T_event_instance event_instance, int element_index,
                        void *buffer)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_register_callback(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_cb_safety cb_safety, struct wf_info *info, void *user_data,
    MPI_T_event_cb_function event_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_event_set_dropped_handler(
    struct wf_instance *wf, MPI_T_event_registration event_registration,
    MPI_T_event_dropped_cb_function dropped_cb_function)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_HANDLE;
}

int wf_mpi_t_source_get_info(struct wf_instance *wf, int source_index,
                             char *name, int *name_len, char *desc,
                             int *desc_len, MPI_T_source_order *ordering,
                             MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                             MPI_Info *info)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_INDEX;
}

int wf_mpi_t_source_get_num(struct wf_instance *wf, int *num_sources)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_sources, 0);
    return MPI_SUCCESS;
}

int wf_mpi_t_source_get_timestamp(struct wf_instance *wf, int source_index,
                                  MPI_Count *timestamp)
{
    WF_TOOL_REQUIRE_INIT();
    return MPI_T_ERR_INVALID_INDEX;
}

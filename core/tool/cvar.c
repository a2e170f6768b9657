/* Control variables of MPI_T: the [core] keys of mpi.ini with their values.
 *
 * They are read when MPI starts, from mpi.ini and WEFT_SET, and do not change
 * afterwards: writing one is refused.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/cvar.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/model.h"
#include "core_api.h"
#include "tool/handles.h"
#include "tool/tool.h"

#define PREFIX "core."

int wf_tool_count_cvars(void)
{
    int n = 0;
    while (wf_core_table[n].name)
        n++;
    return n;
}

static const weft_option *option_at(int i)
{
    return i >= 0 && i < wf_tool_count_cvars() ? &wf_core_table[i] : NULL;
}

static MPI_Datatype type_of(const weft_option *o)
{
    switch (o->type) {
    case WEFT_OPT_BOOL:
    case WEFT_OPT_ENUM:
        return MPI_INT;
    case WEFT_OPT_STR:
    case WEFT_OPT_LIST:
        return MPI_CHAR;
    default: /* sizes, and times in nanoseconds */
        return MPI_UNSIGNED_LONG_LONG;
    }
}

static const void *value_at(const weft_option *o)
{
    return (const char *)wf_config_core(wf_tool_config()) + o->offset;
}

static const char *text_at(const weft_option *o)
{
    const char *text = *(const char *const *)value_at(o);
    return text ? text : "";
}

int wf_mpi_t_cvar_get_num(struct wf_instance *wf, int *num_cvar)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_cvar, wf_tool_count_cvars());
    return MPI_SUCCESS;
}

/* Whether the value of an option is a secret, which is not shown. */
static bool is_secret(const weft_option *o)
{
    return strcmp(o->name, "job_key") == 0;
}

int wf_mpi_t_cvar_get_info(struct wf_instance *wf, int cvar_index, char *name,
                           int *name_len, int *verbosity,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype,
                           char *desc, int *desc_len, int *bind, int *scope)
{
    WF_TOOL_REQUIRE_INIT();
    const weft_option *o = option_at(cvar_index);
    char full[96];
    if (!o)
        return MPI_T_ERR_INVALID_INDEX;
    snprintf(full, sizeof full, PREFIX "%s", o->name);
    wf_tool_copy_text(full, name, name_len);
    wf_tool_copy_text(o->help, desc, desc_len);
    wf_tool_set_int(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    wf_tool_set_int(bind, MPI_T_BIND_NO_OBJECT);
    wf_tool_set_int(scope, MPI_T_SCOPE_CONSTANT);
    if (datatype)
        *datatype = type_of(o);
    if (enumtype)
        *enumtype = o->type == WEFT_OPT_ENUM ? (MPI_T_enum)(uintptr_t)o
                                             : MPI_T_ENUM_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_t_cvar_get_index(struct wf_instance *wf, const char *name,
                            int *cvar_index)
{
    WF_TOOL_REQUIRE_INIT();
    if (!name || !cvar_index)
        return MPI_T_ERR_INVALID;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return MPI_T_ERR_INVALID_NAME;
    for (int i = 0; i < wf_tool_count_cvars(); i++)
        if (strcmp(wf_core_table[i].name, name + strlen(PREFIX)) == 0) {
            *cvar_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

/* ---- handles ------------------------------------------------------------- */

/* Returns the option to which a handle belongs, or NULL. */
static const weft_option *option_for(MPI_T_cvar_handle handle)
{
    return wf_tool_handle_find(WF_TOOL_CVAR, handle);
}

int wf_mpi_t_cvar_handle_alloc(struct wf_instance *wf, int cvar_index,
                               void *obj_handle, MPI_T_cvar_handle *handle,
                               int *count)
{
    WF_TOOL_REQUIRE_INIT();
    const weft_option *o = option_at(cvar_index);
    void *made;
    if (!o)
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    made = wf_tool_handle_create(WF_TOOL_CVAR, (void *)(uintptr_t)o);
    if (!made)
        return MPI_T_ERR_OUT_OF_HANDLES;
    *handle = made;
    wf_tool_set_int(count, type_of(o) != MPI_CHAR || is_secret(o)
                           ? 1
                           : (int)strlen(text_at(o)) + 1);
    return MPI_SUCCESS;
}

int wf_mpi_t_cvar_handle_free(struct wf_instance *wf, MPI_T_cvar_handle *handle)
{
    WF_TOOL_REQUIRE_INIT();
    if (!handle || !option_for(*handle))
        return MPI_T_ERR_INVALID_HANDLE;
    wf_tool_handle_drop(*handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_t_cvar_read(struct wf_instance *wf, MPI_T_cvar_handle handle,
                       void *buf)
{
    WF_TOOL_REQUIRE_INIT();
    const weft_option *o = option_for(handle);
    if (!o)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    MPI_Datatype type = type_of(o);
    if (type == MPI_CHAR)
        strcpy(buf, is_secret(o) ? "" : text_at(o));
    else
        memcpy(buf, value_at(o),
               type == MPI_INT ? sizeof(int) : sizeof(uint64_t));
    return MPI_SUCCESS;
}

int wf_mpi_t_cvar_write(struct wf_instance *wf, MPI_T_cvar_handle handle,
                        const void *buf)
{
    WF_TOOL_REQUIRE_INIT();
    return option_for(handle) ? MPI_T_ERR_CVAR_SET_NEVER
                              : MPI_T_ERR_INVALID_HANDLE;
}

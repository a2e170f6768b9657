/* Performance variables of MPI_T: inquiry, sessions and handles. pvar_table.c
 * says what there is.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/pvar_table.h"

#include <stdlib.h>

#include "core_api.h"
#include "progress/engines.h"
#include "protocol/fastpath.h"
#include "report/call_time.h"
#include "tool/handles.h"
#include "tool/tool.h"

/* ---- inquiry ------------------------------------------------------------- */

int wf_mpi_t_pvar_get_num(struct wf_instance *wf, int *num_pvar)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_pvar, wf_tool_count_pvars());
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_get_info(struct wf_instance *wf, int pvar_index, char *name,
                           int *name_len, int *verbosity, int *var_class,
                           MPI_Datatype *datatype, MPI_T_enum *enumtype,
                           char *desc, int *desc_len, int *bind, int *readonly,
                           int *continuous, int *atomic)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_pvar v;
    if (!wf_tool_find_pvar(pvar_index, &v))
        return MPI_T_ERR_INVALID_INDEX;
    wf_tool_copy_text(v.name, name, name_len);
    wf_tool_copy_text(v.help, desc, desc_len);
    wf_tool_set_int(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    wf_tool_set_int(var_class, v.var_class);
    wf_tool_set_int(bind, MPI_T_BIND_NO_OBJECT);
    wf_tool_set_int(readonly, 1);
    wf_tool_set_int(continuous, 1);
    wf_tool_set_int(atomic, 0);
    if (datatype)
        *datatype = MPI_UNSIGNED_LONG_LONG;
    if (enumtype)
        *enumtype = MPI_T_ENUM_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_get_index(struct wf_instance *wf, const char *name,
                            int var_class, int *pvar_index)
{
    WF_TOOL_REQUIRE_INIT();
    struct wf_pvar v;
    if (!name || !pvar_index)
        return MPI_T_ERR_INVALID;
    for (int i = 0; wf_tool_find_pvar(i, &v); i++)
        if (v.var_class == var_class && strcmp(v.name, name) == 0) {
            *pvar_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

/* ---- sessions and handles ------------------------------------------------ */

struct session {
    struct wf_list handles;
};

struct handle {
    struct wf_list link; /* in its session */
    struct session *session;
    void *value; /* the handle that the program has */
    struct wf_pvar variable;
};

static struct session *session_of(MPI_T_pvar_session s)
{
    return wf_tool_handle_find(WF_TOOL_PVAR_SESSION, s);
}

/* Shut the fast path while calls are timed. */
static void update_fast_path(struct wf_instance *home)
{
    if (home)
        wf_fastpath_update(home);
}

/* Find one handle of the session; MPI_T_PVAR_ALL_HANDLES is none. */
static int find_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                       struct handle **out)
{
    struct session *s = session_of(session);
    struct handle *h = wf_tool_handle_find(WF_TOOL_PVAR, handle);
    if (!s)
        return MPI_T_ERR_INVALID_SESSION;
    if (!h || h->session != s)
        return MPI_T_ERR_INVALID_HANDLE;
    *out = h;
    return MPI_SUCCESS;
}

static void free_handle(struct handle *h)
{
    if (wf_tool_pvar_times_calls(&h->variable))
        wf_call_times_stop();
    wf_tool_handle_drop(h->value);
    wf_list_remove(&h->link);
    free(h);
}

int wf_mpi_t_pvar_session_create(struct wf_instance *wf,
                                 MPI_T_pvar_session *session)
{
    WF_TOOL_REQUIRE_INIT();
    if (!session)
        return MPI_T_ERR_INVALID;
    struct session *s = malloc(sizeof *s);
    void *made = s ? wf_tool_handle_create(WF_TOOL_PVAR_SESSION, s) : NULL;
    if (!made) {
        free(s);
        return MPI_T_ERR_OUT_OF_SESSIONS;
    }
    wf_list_init(&s->handles);
    *session = made;
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_session_free(struct wf_instance *wf,
                               MPI_T_pvar_session *session)
{
    WF_TOOL_REQUIRE_INIT();
    struct session *s = session ? session_of(*session) : NULL;
    if (!s)
        return MPI_T_ERR_INVALID_SESSION;
    while (!wf_list_empty(&s->handles))
        free_handle(wf_container(s->handles.next, struct handle, link));
    wf_tool_handle_drop(*session);
    free(s);
    update_fast_path(wf);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_handle_alloc(struct wf_instance *wf,
                               MPI_T_pvar_session session, int pvar_index,
                               void *obj_handle, MPI_T_pvar_handle *handle,
                               int *count)
{
    WF_TOOL_REQUIRE_INIT();
    struct session *s = session_of(session);
    struct wf_pvar v;
    if (!s)
        return MPI_T_ERR_INVALID_SESSION;
    if (!wf_tool_find_pvar(pvar_index, &v))
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    struct handle *h = malloc(sizeof *h);
    void *made = h ? wf_tool_handle_create(WF_TOOL_PVAR, h) : NULL;
    if (!made) {
        free(h);
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    h->session = s;
    h->value = made;
    h->variable = v;
    if (wf_tool_pvar_times_calls(&v))
        wf_call_times_start();
    update_fast_path(wf);
    wf_list_append(&s->handles, &h->link);
    *handle = made;
    wf_tool_set_int(count, 1);
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_handle_free(struct wf_instance *wf,
                              MPI_T_pvar_session session,
                              MPI_T_pvar_handle *handle)
{
    WF_TOOL_REQUIRE_INIT();
    struct handle *h;
    int rc =
        handle ? find_handle(session, *handle, &h) : MPI_T_ERR_INVALID_HANDLE;
    if (rc != MPI_SUCCESS)
        return rc;
    free_handle(h);
    update_fast_path(wf);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

/* Refuse to start, stop, reset or write a variable. A call for all handles
 * skips those for which it is not possible, which are all here, and
 * succeeds. */
static int refuse_change(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                         int reason)
{
    struct handle *h;
    if (handle == MPI_T_PVAR_ALL_HANDLES)
        return session_of(session) ? MPI_SUCCESS : MPI_T_ERR_INVALID_SESSION;
    int rc = find_handle(session, handle, &h);
    return rc == MPI_SUCCESS ? reason : rc;
}

int wf_mpi_t_pvar_start(struct wf_instance *wf, MPI_T_pvar_session session,
                        MPI_T_pvar_handle handle)
{
    WF_TOOL_REQUIRE_INIT();
    return refuse_change(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int wf_mpi_t_pvar_stop(struct wf_instance *wf, MPI_T_pvar_session session,
                       MPI_T_pvar_handle handle)
{
    WF_TOOL_REQUIRE_INIT();
    return refuse_change(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int wf_mpi_t_pvar_reset(struct wf_instance *wf, MPI_T_pvar_session session,
                        MPI_T_pvar_handle handle)
{
    WF_TOOL_REQUIRE_INIT();
    return refuse_change(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

static int refuse_all_handles(MPI_T_pvar_handle handle)
{
    return handle == MPI_T_PVAR_ALL_HANDLES ? MPI_T_ERR_INVALID_HANDLE
                                            : MPI_SUCCESS;
}

int wf_mpi_t_pvar_write(struct wf_instance *wf, MPI_T_pvar_session session,
                        MPI_T_pvar_handle handle, const void *buf)
{
    WF_TOOL_REQUIRE_INIT();
    int rc = refuse_all_handles(handle);
    return rc ? rc : refuse_change(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

/* Returns the sum of a variable over the engines of the rank, each read inside
 * its section. */
static uint64_t sum_over_engines(struct wf_instance *home,
                                 const struct wf_pvar *v)
{
    uint64_t value = 0;
    for (struct wf_instance *e = home; e; e = wf_engine_after(e)) {
        wf_engine_switch(home, e);
        value += wf_tool_read_pvar(v, e);
        wf_engine_switch(e, home);
    }
    return value;
}

int wf_mpi_t_pvar_read(struct wf_instance *wf, MPI_T_pvar_session session,
                       MPI_T_pvar_handle handle, void *buf)
{
    WF_TOOL_REQUIRE_INIT();
    struct handle *h;
    int rc = find_handle(session, handle, &h);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!buf)
        return MPI_T_ERR_INVALID;
    uint64_t value = wf ? sum_over_engines(wf, &h->variable) : 0;
    memcpy(buf, &value, sizeof value);
    return MPI_SUCCESS;
}

int wf_mpi_t_pvar_readreset(struct wf_instance *wf, MPI_T_pvar_session session,
                            MPI_T_pvar_handle handle, void *buf)
{
    WF_TOOL_REQUIRE_INIT();
    int rc = refuse_all_handles(handle);
    return rc ? rc : refuse_change(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

/* Performance variables of MPI_T: the counters that transports and queues have
 * anyway.
 *
 *   NAME.messages_sent, bytes_sent, messages_received, bytes_received
 *       for each transport of the configuration and "self"; messages are
 *       containers, of which a large message takes several
 *   queue.*      lengths of the four queues, memory of unexpected messages
 *   wait.*       how often waiting calls slept
 *   failover.*   events of pairs whose route has failover
 *
 * All are totals of the process since MPI started: they run always and are
 * only read. Without an instance they are 0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/pvar.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/endpoints.h"
#include "protocol/order.h"
#include "protocol/order_counts.h"
#include "protocol/queues.h"
#include "route/links.h"
#include "tool/handles.h"
#include "tool/tool.h"

/* ---- the variables ------------------------------------------------------- */

static const struct weft_core *find_endpoint(struct wf_instance *wf,
                                             const char *transport)
{
    const struct wf_links *links = wf->links;
    static const struct weft_core none;
    for (int i = 0; i < links->ep_count; i++)
        if (strcmp(links->eps[i].config->name, transport) == 0)
            return &links->eps[i];
    return &none;
}

static uint64_t read_messages_sent(struct wf_instance *wf,
                                   const char *transport)
{
    struct wf_traffic t = {0};
    const struct weft_core *c = find_endpoint(wf, transport);
    if (c->wf)
        wf_endpoint_traffic(c, &t);
    return t.sent;
}

static uint64_t read_bytes_sent(struct wf_instance *wf, const char *transport)
{
    struct wf_traffic t = {0};
    const struct weft_core *c = find_endpoint(wf, transport);
    if (c->wf)
        wf_endpoint_traffic(c, &t);
    return t.sent_bytes;
}

static uint64_t read_messages_received(struct wf_instance *wf,
                                       const char *transport)
{
    return find_endpoint(wf, transport)->rx_count;
}

static uint64_t read_bytes_received(struct wf_instance *wf,
                                    const char *transport)
{
    return find_endpoint(wf, transport)->rx_bytes;
}

static uint64_t read_posted(struct wf_instance *wf, const char *transport)
{
    return wf_match_posted_count(&wf->engine->match);
}

static uint64_t read_unexpected(struct wf_instance *wf, const char *transport)
{
    return wf->engine->match.stored;
}

static uint64_t read_pending(struct wf_instance *wf, const char *transport)
{
    return wf->engine->pending.used;
}

static uint64_t read_matched(struct wf_instance *wf, const char *transport)
{
    return wf->engine->matched.used;
}

static uint64_t read_unexpected_bytes(struct wf_instance *wf,
                                      const char *transport)
{
    return wf->engine->unexpected_bytes;
}

static uint64_t read_unexpected_high(struct wf_instance *wf,
                                     const char *transport)
{
    return wf->engine->unexpected_high;
}

static uint64_t read_moves(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_MOVES);
}

static uint64_t read_failbacks(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_FAILBACKS);
}

static uint64_t read_reconnects(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_RECONNECTS);
}

static uint64_t read_resent(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_RESENT);
}

static uint64_t read_duplicates(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_DUPLICATES);
}

static uint64_t read_damaged(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_DAMAGED) + wf->links->damaged;
}

static uint64_t read_sleeps(struct wf_instance *wf, const char *transport)
{
    return wf->progress->sleeps;
}

static uint64_t read_missed(struct wf_instance *wf, const char *transport)
{
    return wf->progress->missed;
}

static uint64_t read_striped(struct wf_instance *wf, const char *transport)
{
    return wf_orders_count(wf, WF_ORDER_STRIPED);
}

struct row {
    const char *name, *help;
    int var_class;
    uint64_t (*read)(struct wf_instance *, const char *transport);
};

static const struct row transport_rows[] = {
    {"messages_sent", "containers handed to this transport",
     MPI_T_PVAR_CLASS_COUNTER, read_messages_sent},
    {"bytes_sent", "payload bytes handed to this transport",
     MPI_T_PVAR_CLASS_AGGREGATE, read_bytes_sent},
    {"messages_received", "containers that came through this transport",
     MPI_T_PVAR_CLASS_COUNTER, read_messages_received},
    {"bytes_received", "payload bytes that came through this transport",
     MPI_T_PVAR_CLASS_AGGREGATE, read_bytes_received},
};

static const struct row process_rows[] = {
    {"queue.posted", "receives that wait for a message", MPI_T_PVAR_CLASS_LEVEL,
     read_posted},
    {"queue.unexpected", "messages that wait for a receive",
     MPI_T_PVAR_CLASS_LEVEL, read_unexpected},
    {"queue.pending", "sends that wait for an answer", MPI_T_PVAR_CLASS_LEVEL,
     read_pending},
    {"queue.matched", "receives that wait for their payload",
     MPI_T_PVAR_CLASS_LEVEL, read_matched},
    {"queue.unexpected_bytes", "memory that unexpected messages take",
     MPI_T_PVAR_CLASS_LEVEL, read_unexpected_bytes},
    {"queue.unexpected_bytes_high", "the most that they ever took",
     MPI_T_PVAR_CLASS_HIGHWATERMARK, read_unexpected_high},
    {"wait.sleeps", "times that a waiting call slept in the kernel",
     MPI_T_PVAR_CLASS_COUNTER, read_sleeps},
    {"wait.missed", "sleeps that no wake-up ended, though something had come",
     MPI_T_PVAR_CLASS_COUNTER, read_missed},
    {"failover.moves", "changes of the transport, or of its connection",
     MPI_T_PVAR_CLASS_COUNTER, read_moves},
    {"failover.failbacks", "moves back to a better transport",
     MPI_T_PVAR_CLASS_COUNTER, read_failbacks},
    {"failover.reconnects", "used-up connections that were replaced",
     MPI_T_PVAR_CLASS_COUNTER, read_reconnects},
    {"failover.resent", "containers that were sent again",
     MPI_T_PVAR_CLASS_COUNTER, read_resent},
    {"failover.duplicates", "containers dropped because they had come already",
     MPI_T_PVAR_CLASS_COUNTER, read_duplicates},
    {"failover.damaged", "containers dropped because their sum was wrong",
     MPI_T_PVAR_CLASS_COUNTER, read_damaged},
    {"failover.striped",
     "pieces that a further transport took (policy = stripe)",
     MPI_T_PVAR_CLASS_COUNTER, read_striped},
};

enum {
    PER_TRANSPORT = sizeof transport_rows / sizeof transport_rows[0],
    OF_PROCESS = sizeof process_rows / sizeof process_rows[0]
};

/* Returns the number of transports; "self" is one of them in any
 * configuration. */
static int list_transports(const struct wf_transport_config **all)
{
    return wf_config_transports(wf_tool_config(), all);
}

int wf_tool_count_pvars(void)
{
    const struct wf_transport_config *all;
    return list_transports(&all) * PER_TRANSPORT + OF_PROCESS;
}

/* The variables of the transports come first, then those of the process. */
bool wf_tool_find_pvar(int i, struct wf_pvar *v)
{
    const struct wf_transport_config *all;
    int of_all = list_transports(&all) * PER_TRANSPORT;
    if (i < 0 || i >= of_all + OF_PROCESS)
        return false;
    const struct row *row = i < of_all ? &transport_rows[i % PER_TRANSPORT]
                                       : &process_rows[i - of_all];
    v->transport = i < of_all ? all[i / PER_TRANSPORT].name : NULL;
    v->help = row->help;
    v->var_class = row->var_class;
    v->read = row->read;
    snprintf(v->name, sizeof v->name, "%.60s%s%s",
             v->transport ? v->transport : "", v->transport ? "." : "",
             row->name);
    return true;
}

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
    struct wf_engines *all = wf_engines(home);
    uint64_t value = v->read(home, v->transport);
    for (unsigned i = 1; all && i < all->count; i++) {
        wf_engine_switch(home, all->all[i]);
        value += v->read(all->all[i], v->transport);
        wf_engine_switch(all->all[i], home);
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

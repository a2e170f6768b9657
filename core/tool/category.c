/* Categories of MPI_T, which group the variables. They never change.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "tool/cvar.h"
#include "tool/event.h"
#include "tool/event_types.h"
#include "tool/pvar_table.h"
#include "tool/tool.h"

static bool is_of_transport(const struct wf_pvar *v)
{
    return v->transport != NULL;
}

static bool has_prefix(const struct wf_pvar *v, const char *prefix)
{
    return !v->transport && strncmp(v->name, prefix, strlen(prefix)) == 0;
}

static bool is_of_queue(const struct wf_pvar *v)
{
    return has_prefix(v, "queue.") || has_prefix(v, "match.");
}

static bool is_of_message(const struct wf_pvar *v)
{
    return has_prefix(v, "message.");
}

static bool is_of_waiting(const struct wf_pvar *v)
{
    return has_prefix(v, "wait.");
}

static bool is_of_channel(const struct wf_pvar *v)
{
    return has_prefix(v, "channel.");
}

static bool is_of_time(const struct wf_pvar *v)
{
    return has_prefix(v, "time.");
}

static bool is_of_failover(const struct wf_pvar *v)
{
    return has_prefix(v, "failover.");
}

static const struct category {
    const char *name, *help;
    bool cvars;
    bool (*has)(const struct wf_pvar *);
    const char *events; /* how the names of its events begin, or NULL */
} categories[] = {
    {"core", "settings of [core] in mpi.ini", true, NULL, NULL},
    {"transports", "what goes through each transport, and its connections",
     false, is_of_transport, "link."},
    {"queues", "the queues of the protocol", false, is_of_queue, NULL},
    {"messages", "how messages go", false, is_of_message, "message."},
    {"rendezvous", "the steps of large messages", false, NULL, "rendezvous."},
    {"collectives", "which algorithms are taken", false, NULL, "collective."},
    {"waiting", "calls that sleep until something comes", false, is_of_waiting,
     "wait."},
    {"time", "time in calls of MPI, by their class", false, is_of_time, NULL},
    {"failover", "pairs that change their transport", false, is_of_failover,
     "failover."},
    {"channels", "real-time channels", false, is_of_channel, NULL},
};

enum { CATEGORIES = sizeof categories / sizeof categories[0] };

static const struct category *category_at(int i)
{
    return i >= 0 && i < CATEGORIES ? &categories[i] : NULL;
}

/* Store the first len control variables of a category in indices; returns how
 * many there are. */
static int list_cvars(const struct category *c, int len, int indices[])
{
    int n = c->cvars ? wf_tool_count_cvars() : 0;
    for (int i = 0; i < n && i < len; i++)
        indices[i] = i;
    return n;
}

static int list_pvars(const struct category *c, int len, int indices[])
{
    struct wf_pvar v;
    int n = 0;
    for (int i = 0; c->has && wf_tool_find_pvar(i, &v); i++) {
        if (!c->has(&v))
            continue;
        if (n < len)
            indices[n] = i;
        n++;
    }
    return n;
}

static int list_events(const struct category *c, int len, int indices[])
{
    size_t prefix = c->events ? strlen(c->events) : 0;
    int n = 0;
    for (int i = 0; c->events && i < WF_EVENT_TYPES; i++) {
        if (strncmp(wf_event_type_at(i)->name, c->events, prefix) != 0)
            continue;
        if (n < len)
            indices[n] = i;
        n++;
    }
    return n;
}

int wf_mpi_t_category_get_num(struct wf_instance *wf, int *num_cat)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(num_cat, CATEGORIES);
    return MPI_SUCCESS;
}

int wf_mpi_t_category_get_info(struct wf_instance *wf, int cat_index,
                               char *name, int *name_len, char *desc,
                               int *desc_len, int *num_cvars, int *num_pvars,
                               int *num_categories)
{
    WF_TOOL_REQUIRE_INIT();
    const struct category *c = category_at(cat_index);
    if (!c)
        return MPI_T_ERR_INVALID_INDEX;
    wf_tool_copy_text(c->name, name, name_len);
    wf_tool_copy_text(c->help, desc, desc_len);
    wf_tool_set_int(num_cvars, list_cvars(c, 0, NULL));
    wf_tool_set_int(num_pvars, list_pvars(c, 0, NULL));
    wf_tool_set_int(num_categories, 0);
    return MPI_SUCCESS;
}

int wf_mpi_t_category_get_index(struct wf_instance *wf, const char *name,
                                int *cat_index)
{
    WF_TOOL_REQUIRE_INIT();
    if (!name || !cat_index)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < CATEGORIES; i++)
        if (strcmp(categories[i].name, name) == 0) {
            *cat_index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

int wf_mpi_t_category_get_cvars(struct wf_instance *wf, int cat_index, int len,
                                int indices[])
{
    WF_TOOL_REQUIRE_INIT();
    const struct category *c = category_at(cat_index);
    if (!c)
        return MPI_T_ERR_INVALID_INDEX;
    list_cvars(c, indices ? len : 0, indices);
    return MPI_SUCCESS;
}

int wf_mpi_t_category_get_pvars(struct wf_instance *wf, int cat_index, int len,
                                int indices[])
{
    WF_TOOL_REQUIRE_INIT();
    const struct category *c = category_at(cat_index);
    if (!c)
        return MPI_T_ERR_INVALID_INDEX;
    list_pvars(c, indices ? len : 0, indices);
    return MPI_SUCCESS;
}

/* No category contains another one. */
int wf_mpi_t_category_get_categories(struct wf_instance *wf, int cat_index,
                                     int len, int indices[])
{
    WF_TOOL_REQUIRE_INIT();
    return category_at(cat_index) ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

int wf_mpi_t_category_get_num_events(struct wf_instance *wf, int cat_index,
                                     int *num_events)
{
    WF_TOOL_REQUIRE_INIT();
    const struct category *c = category_at(cat_index);
    if (!c)
        return MPI_T_ERR_INVALID_INDEX;
    wf_tool_set_int(num_events, list_events(c, 0, NULL));
    return MPI_SUCCESS;
}

int wf_mpi_t_category_get_events(struct wf_instance *wf, int cat_index, int len,
                                 int indices[])
{
    WF_TOOL_REQUIRE_INIT();
    const struct category *c = category_at(cat_index);
    if (!c)
        return MPI_T_ERR_INVALID_INDEX;
    list_events(c, indices ? len : 0, indices);
    return MPI_SUCCESS;
}

int wf_mpi_t_category_changed(struct wf_instance *wf, int *update_number)
{
    WF_TOOL_REQUIRE_INIT();
    wf_tool_set_int(update_number, 0);
    return MPI_SUCCESS;
}

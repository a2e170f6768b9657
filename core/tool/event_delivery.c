/* Registrations of events, and the calls of their callbacks: event.h.
 *
 * A registration that a callback runs of stays in its list until the callback
 * has returned, so that the thread finds the next one.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/event_delivery.h"

#include <stdlib.h>

#include "core_api.h"
#include "instance/events.h"
#include "object/info.h"
#include "os/clock.h"
#include "os/section.h"
#include "process/process.h"
#include "process/rank.h"
#include "report/trace_note.h"
#include "tool/event.h"
#include "tool/event_types.h"
#include "tool/handles.h"

enum level { NONE, RESTRICTED, THREAD_SAFE, SIGNAL_SAFE, LEVELS, NO_LEVEL };
enum { OF_ALL = LEVELS, HINTS }; /* places of hints behind those of callbacks */

static const MPI_T_cb_safety levels[LEVELS] = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};

struct callback {
    MPI_T_event_cb_function *call;
    void *user_data;
};

struct wf_event_registration {
    struct wf_list link;
    MPI_T_event_registration handle;
    int type;
    unsigned busy; /* threads that run a callback of it */
    bool ended;
    struct callback callbacks[LEVELS];
    struct wf_info *hints[HINTS]; /* or NULL */
    MPI_T_event_dropped_cb_function *dropped_call;
    MPI_Count dropped; /* events, since the last call of dropped_call */
    MPI_T_event_free_cb_function *on_end;
    void *end_data;
};

static struct table {
    struct wf_lock lock;
    unsigned count; /* registrations that are not ended */
    bool started;   /* the lists are initialised */
    struct wf_list of[WF_EVENT_TYPES];
} table;

WF_LOCK_SECTION(events, struct table, lock, WF_RANK_TOOL)

static enum level level_of(MPI_T_cb_safety safety)
{
    int i = 0;

    while (i < LEVELS && levels[i] != safety)
        i++;
    return i < LEVELS ? (enum level)i : NO_LEVEL;
}

/* ---- delivery ------------------------------------------------------------ */

/* Returns the first registration from `link` on that is not ended, and keeps it
 * in its list; NULL: there is none. */
static struct wf_event_registration *hold_from(struct wf_list *list,
                                               struct wf_list *link)
{
    for (; link != list; link = link->next) {
        struct wf_event_registration *r =
            wf_container(link, struct wf_event_registration, link);
        if (!r->ended) {
            r->busy++;
            return r;
        }
    }
    return NULL;
}

/* Removes a registration that is ended and of which no callback runs. */
static bool remove_if_done(struct wf_event_registration *r)
{
    if (r->busy || !r->ended)
        return false;
    wf_list_remove(&r->link);
    return true;
}

static void free_registration(struct wf_event_registration *r,
                              MPI_T_cb_safety safety)
{
    if (r->on_end)
        r->on_end(r->handle, safety, r->end_data);
    for (int i = 0; i < HINTS; i++)
        wf_info_destroy(r->hints[i]);
    free(r);
}

/* Passes on to the next registration, or to the first where r is NULL. */
static struct wf_event_registration *hold_next(struct wf_event_registration *r,
                                               int type, MPI_T_cb_safety safety)
{
    struct wf_event_registration *next = NULL;
    bool done = false;

    WF_SECTION(events, &table) {
        struct wf_list *list = &table.of[type];
        if (table.started)
            next = hold_from(list, r ? r->link.next : list->next);
        if (r) {
            r->busy--;
            done = remove_if_done(r);
        }
    }
    if (done)
        free_registration(r, safety);
    return next;
}

/* Returns the callback for an event that requires this level: of the least
 * level that suffices. If there is none the event is dropped; then it has no
 * function, but what another callback of the registration was given. */
static struct callback choose_callback(struct wf_event_registration *r,
                                       enum level required)
{
    struct callback c = {NULL, NULL};

    WF_SECTION(events, &table) {
        for (int i = required; i < LEVELS && !c.call; i++)
            c = r->callbacks[i];
        r->dropped += !c.call;
        for (int i = 0; i < LEVELS && !c.call && !c.user_data; i++)
            c.user_data = r->callbacks[i].user_data;
    }
    return c;
}

static void tell_dropped(struct wf_event_registration *r,
                         MPI_T_cb_safety safety, void *user_data)
{
    MPI_T_event_dropped_cb_function *call = NULL;
    MPI_Count count = 0;

    WF_SECTION(events, &table)
        if (r->dropped && r->dropped_call) {
            call = r->dropped_call;
            count = r->dropped;
            r->dropped = 0;
        }
    if (call)
        call(count, r->handle, 0, safety, user_data);
}

static void call_back(struct wf_event_registration *r, struct wf_event *e,
                      enum level required)
{
    struct callback c = choose_callback(r, required);

    tell_dropped(r, levels[required], c.user_data);
    if (c.call)
        c.call((MPI_T_event_instance)e, r->handle, levels[required],
               c.user_data);
}

/* Counts an event that happens inside a callback. */
static void drop_nested(int type)
{
    WF_SECTION(events, &table) {
        struct wf_list *list = &table.of[type];
        for (struct wf_list *l = list->next; l && l != list; l = l->next)
            wf_container(l, struct wf_event_registration, link)->dropped++;
    }
}

static void observe_event(struct wf_instance *wf, enum wf_trace_event event,
                          const struct wf_trace_record *record)
{
    struct wf_event e = {.type = (int)event - 1};
    enum level required =
        wf->api.on || wf->rank->ranks ? THREAD_SAFE : RESTRICTED;
    struct wf_event_registration *r;

    if (wf_event_shown) {
        drop_nested(e.type);
        return;
    }
    r = hold_next(NULL, e.type, levels[required]);
    if (!r)
        return;
    e.time = (MPI_Count)wf_clock_ns();
    wf_event_type_at(e.type)->shape->fill(wf->trace, record, e.elements);
    wf_event_shown = &e;
    for (; r; r = hold_next(r, e.type, levels[required]))
        call_back(r, &e, required);
    wf_event_shown = NULL;
}

static const struct wf_observer observer = {observe_event};

const struct wf_event *wf_event_of(MPI_T_event_instance instance)
{
    const struct wf_event *e = wf_event_shown;

    return e && (MPI_T_event_instance)e == instance ? e : NULL;
}

/* ---- registrations ------------------------------------------------------- */

static void add_to_table(struct wf_event_registration *r)
{
    WF_SECTION(events, &table) {
        for (int i = 0; !table.started && i < WF_EVENT_TYPES; i++)
            wf_list_init(&table.of[i]);
        table.started = true;
        wf_list_append(&table.of[r->type], &r->link);
        table.count++;
        wf_store_release(&wf_process_state.observer, &observer);
    }
}

static bool has_registrations(void)
{
    bool some = false;

    WF_SECTION(events, &table)
        some = table.count > 0;
    return some;
}

/* Lets the rank record events while there are registrations. In a callback it
 * records already, and goes on until a later call. Returns 0 or a WEFT_E*. */
static int follow_registrations(struct wf_instance *wf)
{
    bool wanted;
    int r = 0;

    if (!wf || wf_event_shown)
        return 0;
    do { /* other threads add and end some meanwhile */
        wanted = has_registrations();
        if (wanted)
            r = wf_events_start(wf);
        else
            wf_events_stop(wf);
    } while (r == 0 && wanted != has_registrations());
    return r;
}

int wf_event_register(struct wf_instance *wf, int type,
                      MPI_T_event_registration *out)
{
    struct wf_event_registration *r = calloc(1, sizeof *r);

    if (!r)
        return MPI_T_ERR_OUT_OF_HANDLES;
    r->type = type;
    r->handle = wf_tool_handle_create(WF_TOOL_EVENT, r);
    if (!r->handle) {
        free(r);
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    add_to_table(r);
    *out = r->handle;
    if (follow_registrations(wf) == 0)
        return MPI_SUCCESS;
    wf_event_unregister(wf, r, NULL, NULL);
    return MPI_T_ERR_OUT_OF_HANDLES;
}

struct wf_event_registration *
wf_event_registration_of(MPI_T_event_registration handle)
{
    return wf_tool_handle_find(WF_TOOL_EVENT, handle);
}

void wf_event_unregister(struct wf_instance *wf,
                         struct wf_event_registration *r, void *user_data,
                         MPI_T_event_free_cb_function *on_end)
{
    bool done = false;

    wf_tool_handle_drop(r->handle);
    WF_SECTION(events, &table) {
        r->ended = true;
        r->on_end = on_end;
        r->end_data = user_data;
        if (--table.count == 0)
            wf_store_release(&wf_process_state.observer, NULL);
        done = remove_if_done(r);
    }
    if (done)
        free_registration(r, MPI_T_CB_REQUIRE_NONE);
    follow_registrations(wf);
}

static struct wf_event_registration *find_any(void)
{
    struct wf_event_registration *found = NULL;

    WF_SECTION(events, &table)
        for (int i = 0; table.started && !found && i < WF_EVENT_TYPES; i++) {
            found = hold_from(&table.of[i], table.of[i].next);
            if (found)
                found->busy--;
        }
    return found;
}

void wf_event_unregister_all(struct wf_instance *wf)
{
    struct wf_event_registration *r;

    while ((r = find_any()) != NULL)
        wf_event_unregister(wf, r, NULL, NULL);
}

bool wf_event_set_callback(struct wf_event_registration *r,
                           MPI_T_cb_safety safety, void *user_data,
                           MPI_T_event_cb_function *call)
{
    enum level level = level_of(safety);

    if (level == NO_LEVEL)
        return false;
    WF_SECTION(events, &table)
        r->callbacks[level] = (struct callback){call, user_data};
    return true;
}

bool wf_event_has_callback(struct wf_event_registration *r,
                           MPI_T_cb_safety safety)
{
    enum level level = level_of(safety);
    bool has = false;

    WF_SECTION(events, &table)
        has = level != NO_LEVEL && r->callbacks[level].call;
    return has;
}

/* ---- hints --------------------------------------------------------------- */

static int place_of_hints(const MPI_T_cb_safety *safety)
{
    return safety ? (int)level_of(*safety) : OF_ALL;
}

bool wf_event_add_hints(struct wf_event_registration *r,
                        const MPI_T_cb_safety *safety,
                        const struct wf_info *from)
{
    struct wf_info **to = &r->hints[place_of_hints(safety)];
    bool kept = true;

    WF_SECTION(events, &table) {
        if (from && !*to)
            *to = wf_info_create();
        kept = !from || *to;
        for (int i = 0; kept && from && i < from->count; i++)
            kept = wf_info_put(*to, from->list[i].key, from->list[i].value) ==
                   MPI_SUCCESS;
    }
    return kept;
}

struct wf_info *wf_event_copy_hints(struct wf_event_registration *r,
                                    const MPI_T_cb_safety *safety)
{
    int place = place_of_hints(safety);
    struct wf_info *copy = NULL;

    WF_SECTION(events, &table)
        copy =
            r->hints[place] ? wf_info_copy(r->hints[place]) : wf_info_create();
    return copy;
}

void wf_event_set_dropped(struct wf_event_registration *r,
                          MPI_T_event_dropped_cb_function *call)
{
    WF_SECTION(events, &table)
        r->dropped_call = call;
}

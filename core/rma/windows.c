/* The windows of an engine, by context id.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/windows.h"

#include <stdlib.h>

#include "process/instance.h"
#include "progress/source.h"
#include "rma/lock_queue.h"
#include "rma/map.h"
#include "rma/map_wait.h"
#include "rma/message.h"
#include "rma/op_queue.h"
#include "rma/operation.h"
#include "rma/target.h"
#include "rma/win.h"

static struct wf_windows *windows_of(struct wf_active_handler *h)
{
    return wf_container(h, struct wf_windows, handler);
}

static void handle_arrival(struct wf_active_handler *h, struct weft_loc *from,
                           const struct wf_active_head *head, const void *data,
                           size_t bytes)
{
    wf_rma_arrive(windows_of(h), from,
                  &(struct wf_rma_message){head, data, bytes});
}

static void lose_peers(struct wf_win *win, struct weft_loc *loc)
{
    wf_win_get(win); /* what ends may be the last that holds it */
    wf_map_lose(win, loc);
    for (int i = 0; i < win->comm->size; i++) {
        struct wf_win_peer *p = win->peers[i];

        if (!p || p->loc != loc)
            continue;
        wf_rma_lose_target(p);
        wf_lock_queue_lose_holder(p);
    }
    wf_win_put(win);
}

static void handle_loss(struct wf_active_handler *h, struct weft_loc *loc)
{
    struct wf_windows *all = windows_of(h);

    for (int i = 0; i < WF_WIN_BUCKETS; i++)
        for (struct wf_list *l = all->buckets[i].next, *next;
             l != &all->buckets[i]; l = next) {
            next = l->next;
            lose_peers(wf_container(l, struct wf_win, link), loc);
        }
}

/* ---- lists that wait ----------------------------------------------------- */

static struct wf_win_peer *find_list(struct wf_windows *all)
{
    for (struct wf_list *l = all->listed.next; l != &all->listed; l = l->next) {
        struct wf_win_peer *p = wf_container(l, struct wf_win_peer, listed);

        if (!p->corks)
            return p;
    }
    return NULL;
}

/* A message that cannot be sent may end other lists, so each is looked for
 * anew. */
static int push_lists(wf_source_object *object, int budget)
{
    struct wf_windows *all = (struct wf_windows *)(void *)object;
    struct wf_win_peer *p;
    int pushed = 0;

    for (; (p = find_list(all)); pushed++)
        wf_rma_push(p);
    if (wf_list_empty(&all->listed))
        wf_source_remove(all->wf, &all->source);
    return pushed;
}

/* Refuses the sleep of a thread while a list waits: a poll sends the list. */
static int refuse_sleep(wf_source_object *object, uint64_t *deadline_ns)
{
    return find_list((struct wf_windows *)(void *)object) ? WEFT_EAGAIN : 0;
}

void wf_windows_note_list(struct wf_win_peer *p)
{
    struct wf_windows *all = p->win->all;

    if (!all || !wf_list_empty(&p->listed))
        return;
    wf_list_append(&all->listed, &p->listed);
    if (all->source.state == WF_SOURCE_REMOVED)
        (void)wf_source_add(all->wf, &all->source, WF_SOURCE_BIT_ANY);
}

/* ---- the table ----------------------------------------------------------- */

static struct wf_windows *make_table(struct wf_instance *wf)
{
    struct wf_windows *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->wf = wf;
    all->handler.arrive = handle_arrival;
    all->handler.lose = handle_loss;
    for (int i = 0; i < WF_WIN_BUCKETS; i++)
        wf_list_init(&all->buckets[i]);
    wf_list_init(&all->listed);
    all->source =
        (struct wf_event_source){.name = "one-sided operations",
                                 .object = (wf_source_object *)(void *)all,
                                 .poll = push_lists,
                                 .arm = refuse_sleep,
                                 .fd = -1};
    wf_active_register(wf, WF_SPACE_RMA, &all->handler);
    return all;
}

/* Replaces the window that was freed with an error. There is another one. */
static void replace_failed(struct wf_windows *all, struct wf_win *win)
{
    struct wf_win *before = all->failed;

    all->failed = win;
    if (before)
        wf_win_put(before);
}

void wf_windows_keep_failed(struct wf_win *win)
{
    replace_failed(win->all, win);
}

bool wf_windows_add(struct wf_win *win)
{
    struct wf_active_handler *h = win->wf->engine->active[WF_SPACE_RMA];
    struct wf_windows *all = h ? windows_of(h) : make_table(win->wf);

    if (!all)
        return false;
    win->all = all;
    all->count++;
    wf_list_append(&all->buckets[win->comm->context % WF_WIN_BUCKETS],
                   &win->link);
    replace_failed(all, NULL);
    return true;
}

void wf_windows_remove(struct wf_win *win)
{
    struct wf_windows *all = win->all;

    if (!all)
        return;
    win->all = NULL;
    wf_list_remove(&win->link);
    if (--all->count > 0)
        return;
    wf_active_register(all->wf, WF_SPACE_RMA, NULL);
    wf_source_remove(all->wf, &all->source);
    free(all);
}

struct wf_win *wf_windows_find(struct wf_windows *all, uint32_t context)
{
    struct wf_list *bucket = &all->buckets[context % WF_WIN_BUCKETS];

    for (struct wf_list *l = bucket->next; l != bucket; l = l->next) {
        struct wf_win *win = wf_container(l, struct wf_win, link);

        if (win->comm->context == context)
            return win;
    }
    return NULL;
}

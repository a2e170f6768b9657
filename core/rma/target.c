/* Operations at their target, as they arrive.
 *
 *   message --> window by context, origin by rank
 *           --> the origin waits for the lock: kept in order
 *           --> performed at once: perform.c
 *
 * Bytes that make no sense are logged and skipped.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/target.h"

#include <stdlib.h>

#include "process/rank.h"
#include "protocol/failure.h"
#include "report/error.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/lock_queue.h"
#include "rma/operation.h"
#include "rma/perform.h"
#include "rma/pscw.h"

struct wf_kept {
    struct wf_kept *next;
    struct wf_active_head head;
    size_t bytes;
    _Alignas(16) uint8_t data[];
};

/* Keeps a message until its origin has the lock. */
static void keep_message(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    struct wf_kept *k;

    if (p->waits && p->kept_bytes + sizeof *k + m->bytes > WF_RMA_KEPT_MOST) {
        wf_rma_log_skipped(p, "has more data than may come before its lock");
        return;
    }
    k = malloc(sizeof *k + m->bytes);
    if (!k) {
        wf_location_down(p->loc, WEFT_ENOMEM, "no memory for its operations");
        return;
    }
    k->next = NULL;
    k->head = *m->head;
    k->bytes = m->bytes;
    if (m->bytes)
        memcpy(k->data, m->data, m->bytes);
    p->kept_bytes += sizeof *k + m->bytes;
    *p->kept_end = k;
    p->kept_end = &k->next;
}

void wf_rma_perform_kept(struct wf_win_peer *p)
{
    wf_rma_cork(p);
    while (p->kept) {
        struct wf_kept *k = p->kept;

        p->kept = k->next;
        if (!p->kept)
            p->kept_end = &p->kept;
        p->kept_bytes -= sizeof *k + k->bytes;
        wf_rma_perform(p,
                       &(struct wf_rma_message){&k->head, k->data, k->bytes});
        free(k);
    }
    wf_rma_uncork(p);
}

void wf_rma_drop_kept(struct wf_win_peer *p)
{
    while (p->kept) {
        struct wf_kept *k = p->kept;

        p->kept = k->next;
        free(k);
    }
    p->kept_end = &p->kept;
    p->kept_bytes = 0;
}

/* Handles a message from an origin. */
static void arrive_at_target(struct wf_win_peer *p,
                             const struct wf_rma_message *m)
{
    uint32_t word = m->head->word;

    if (word & WF_RMA_LOCK_SHARED)
        wf_lock_queue_ask(p, WF_LOCK_SHARED);
    else if (word & WF_RMA_LOCK_EXCLUSIVE)
        wf_lock_queue_ask(p, WF_LOCK_EXCLUSIVE);
    if (p->waits || p->kept)
        keep_message(p, m);
    else
        wf_rma_perform(p, m);
}

/* Returns the state about the sender of a message; NULL: the message is
 * skipped. */
static struct wf_win_peer *find_sender(struct wf_windows *all,
                                       struct weft_loc *from,
                                       const struct wf_active_head *h)
{
    struct wf_win *win = wf_windows_find(all, h->context);
    struct wf_win_peer *p;

    if (!win || h->target != (uint32_t)win->comm->rank ||
        h->source >= (uint32_t)win->comm->size ||
        wf_group_proc(win->comm->local, (int)h->source) != from->id) {
        wf_log(all->wf, WF_LOG_DEBUG,
               "process %u sent a one-sided operation to no window of this "
               "process; skipped",
               from->id);
        return NULL;
    }
    p = wf_win_peer(win, (int)h->source);
    if (!p) {
        wf_location_down(from, WEFT_ENOMEM, "no memory for its operations");
        return NULL;
    }
    (void)wf_win_set_location(p, from); /* an answer goes in any case */
    return p;
}

static void handle_message(struct wf_win_peer *p, struct wf_rma_message *m)
{
    switch (wf_rma_kind_of(m->head->word)) {
    case WF_RMA_RESULT:
        wf_rma_take_result(p, m);
        break;
    case WF_RMA_ACK:
        wf_rma_take_answer(p, m);
        break;
    case WF_RMA_FAIL:
        wf_rma_take_failure(p, m);
        break;
    case WF_RMA_POST:
        wf_pscw_take_post(p);
        break;
    case WF_RMA_EXPOSE:
        wf_exposed_send_key(p);
        break;
    case WF_RMA_KEY:
        wf_exposed_take_key(p, m);
        break;
    case WF_RMA_PUT:
    case WF_RMA_ACC:
    case WF_RMA_GET:
    case WF_RMA_GET_ACC:
    case WF_RMA_CAS:
    case WF_RMA_TYPE:
    case WF_RMA_FLUSH:
    case WF_RMA_UNLOCK:
    case WF_RMA_COMPLETE:
        arrive_at_target(p, m);
        break;
    default:
        wf_rma_log_skipped(p, "has an unknown kind");
    }
}

/* The answers share a container, too. */
static void handle_list(struct wf_win_peer *p, struct wf_rma_message *list)
{
    wf_rma_cork(p);
    while (list->bytes && !p->loc->failed) {
        struct wf_active_head head;
        struct wf_rma_message m;

        if (!wf_rma_take_entry(list, &head, &m)) {
            wf_rma_log_skipped(p, "is not complete");
            break;
        }
        handle_message(p, &m);
    }
    wf_rma_uncork(p);
}

void wf_rma_arrive(struct wf_windows *all, struct weft_loc *from,
                   const struct wf_rma_message *message)
{
    struct wf_win_peer *p = find_sender(all, from, message->head);
    struct wf_rma_message m = *message;
    struct wf_win *win;

    if (!p || from->failed)
        return;
    win = p->win;
    wf_win_get(win);
    if (wf_rma_kind_of(m.head->word) == WF_RMA_LIST)
        handle_list(p, &m);
    else
        handle_message(p, &m);
    wf_win_put(win);
}

/* Sending of the messages of one-sided communication (wire.h).
 *
 *   begin, finish --up to WF_RMA_LISTED bytes--> list of the peer --> container
 *                 `-more-------> container of its own, behind the list
 *
 * DESIGN  The list is an active message in the making. A short one is copied by
 * the transport, and its memory used again; a long one leaves as it is.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/message.h"

#include <stdlib.h>

#include "rma/op_queue.h"
#include "rma/operation.h"
#include "rma/win.h"
#include "rma/windows.h"

static struct wf_active_head head_of(const struct wf_win_peer *p,
                                     const struct wf_rma_words *w,
                                     uint32_t flags)
{
    const struct wf_comm *c = p->win->comm;

    return (struct wf_active_head){.context = c->context,
                                   .source = (uint32_t)c->rank,
                                   .target = (uint32_t)p->rank,
                                   .word = w->word | flags,
                                   .c = w->c,
                                   .d = w->d};
}

static struct wf_active_way way_to(const struct wf_win_peer *p)
{
    return (struct wf_active_way){p->loc, p->lane, WF_SPACE_RMA};
}

/* ---- containers ---------------------------------------------------------- */

static void on_taken(struct wf_active *m)
{
    struct wf_win_peer *p = m->context;
    struct wf_win *win = p->win;

    WF_ASSERT(p->in_flight >= m->bytes);
    p->in_flight -= m->bytes;
    wf_rma_pump(p);
    wf_win_put(win);
}

/* Sends a message of its own memory, which is freed later. */
static void send_container(struct wf_win_peer *p,
                           const struct wf_active_head *h, struct wf_active *m)
{
    m->sent = on_taken;
    m->context = p;
    p->in_flight += m->bytes;
    wf_win_get(p->win);
    wf_active_send(way_to(p), h, m);
}

/* ---- the list ------------------------------------------------------------ */

static size_t entry_bytes(size_t n)
{
    return WF_RMA_ENTRY + ((n + 7) & ~(size_t)7);
}

/* A list that is sent may come back at once, where a process is its own target,
 * and be answered: then there is a new one. */
void wf_rma_push(struct wf_win_peer *p)
{
    struct wf_active *m = p->list;
    size_t n = p->list_bytes;

    if (!n)
        return;
    struct wf_active_head h =
        head_of(p, &(struct wf_rma_words){WF_RMA_LIST, 0, 0}, 0);
    p->list = NULL;
    p->list_bytes = 0;
    p->list_urgent = false;
    wf_list_remove(&p->listed);
    if (n > WF_ACTIVE_SHORT) {
        wf_active_shorten(m, n);
        send_container(p, &h, m);
        return;
    }
    wf_active_send_short(way_to(p), &h, m->payload, n);
    if (p->list)
        free(m);
    else
        p->list = m;
}

void wf_rma_drop_list(struct wf_win_peer *p)
{
    free(p->list);
    p->list = NULL;
    p->list_bytes = 0;
    p->list_urgent = false;
    wf_list_remove(&p->listed);
}

/* Makes room for n more bytes in the list. Returns its end, or NULL: out of
 * memory. */
static uint8_t *extend_list(struct wf_win_peer *p, size_t n)
{
    struct wf_active *m = p->list, *larger;

    if (m && p->list_bytes + n <= m->bytes)
        return m->payload + p->list_bytes;
    larger = wf_active_alloc(p->list_bytes + n <= WF_ACTIVE_SHORT
                                 ? WF_ACTIVE_SHORT
                                 : WF_RMA_LIST_ROOM);
    if (!larger)
        return NULL;
    if (p->list_bytes)
        memcpy(larger->payload, m->payload, p->list_bytes);
    free(m);
    p->list = larger;
    return larger->payload + p->list_bytes;
}

/* Adds the message whose payload lies behind the end of the list. */
static void add_entry(struct wf_win_peer *p, const struct wf_rma_draft *d,
                      const struct wf_rma_words *w, bool urgent)
{
    uint8_t *at = p->list->payload + p->list_bytes;
    uint64_t words[] = {wf_le64(w->word | d->flags | (uint64_t)d->n << 32),
                        wf_le64(w->c), wf_le64(w->d)};

    memcpy(at, words, sizeof words);
    p->list_bytes += (uint32_t)entry_bytes(d->n);
    p->list_urgent = p->list_urgent || urgent;
    if (p->list_bytes >= WF_RMA_LIST_FULL || (p->list_urgent && !p->corks))
        wf_rma_push(p);
    else
        wf_windows_note_list(p);
}

void wf_rma_cork(struct wf_win_peer *p)
{
    p->corks++;
}

void wf_rma_uncork(struct wf_win_peer *p)
{
    WF_ASSERT(p->corks > 0);
    if (--p->corks == 0 && p->list_urgent)
        wf_rma_push(p);
}

/* ---- messages ------------------------------------------------------------ */

void wf_rma_send(struct wf_win_peer *p, const struct wf_rma_words *w)
{
    struct wf_active_head h = head_of(p, w, 0);

    if ((p->list_bytes || p->corks) && extend_list(p, WF_RMA_ENTRY)) {
        add_entry(p, &(struct wf_rma_draft){0}, w, true);
        return;
    }
    wf_rma_push(p);
    wf_active_send_short(way_to(p), &h, NULL, 0);
}

bool wf_rma_begin_plain(struct wf_rma_draft *d, struct wf_win_peer *p, size_t n)
{
    *d = (struct wf_rma_draft){.n = n};
    if (n <= WF_RMA_LISTED) {
        uint8_t *end = extend_list(p, entry_bytes(n));

        if (!end)
            return false;
        d->at = end + WF_RMA_ENTRY;
        memset(end + entry_bytes(n) - 8, 0, 8); /* what pads the payload */
        return true;
    }
    d->alone = wf_active_alloc(n);
    if (!d->alone)
        return false;
    d->at = d->alone->payload;
    return true;
}

bool wf_rma_begin(struct wf_rma_draft *d, struct wf_win_peer *p,
                  const struct wf_rma_extent *e, size_t n)
{
    bool whole = e->offset == 0 && e->bytes == n && e->count == 0;

    if (!wf_rma_begin_plain(d, p, whole ? n : n + WF_RMA_EXTENT))
        return false;
    if (whole) {
        d->flags = WF_RMA_WHOLE;
        return true;
    }
    uint64_t words[] = {wf_le64(e->offset), wf_le64(e->bytes),
                        wf_le64(e->count)};
    memcpy(d->at, words, sizeof words);
    d->at += sizeof words;
    return true;
}

void wf_rma_finish(struct wf_rma_draft *d, struct wf_win_peer *p,
                   const struct wf_rma_words *w, bool urgent)
{
    if (!d->alone) {
        add_entry(p, d, w, urgent);
        return;
    }
    struct wf_active_head h = head_of(p, w, d->flags);
    wf_rma_push(p);
    send_container(p, &h, d->alone);
}

void wf_rma_abandon(struct wf_rma_draft *d)
{
    free(d->alone);
}

/* ---- what arrives -------------------------------------------------------- */

bool wf_rma_read_extent(struct wf_rma_message *m, struct wf_rma_extent *e)
{
    uint64_t words[3];

    if (m->head->word & WF_RMA_WHOLE) {
        *e = (struct wf_rma_extent){.bytes = m->bytes};
        return m->bytes > 0;
    }
    if (m->bytes < sizeof words)
        return false;
    memcpy(words, m->data, sizeof words);
    *e = (struct wf_rma_extent){wf_le64(words[0]), wf_le64(words[1]),
                                wf_le64(words[2])};
    m->data = (const char *)m->data + sizeof words;
    m->bytes -= sizeof words;
    return true;
}

bool wf_rma_take_entry(struct wf_rma_message *list, struct wf_active_head *head,
                       struct wf_rma_message *entry)
{
    uint64_t words[3];
    size_t n;

    if (list->bytes < WF_RMA_ENTRY)
        return false;
    memcpy(words, list->data, sizeof words);
    n = wf_le64(words[0]) >> 32;
    if (n > list->bytes - WF_RMA_ENTRY || entry_bytes(n) > list->bytes)
        return false;
    *head = *list->head;
    head->word = (uint32_t)wf_le64(words[0]);
    head->c = wf_le64(words[1]);
    head->d = wf_le64(words[2]);
    *entry = (struct wf_rma_message){
        head, (const char *)list->data + WF_RMA_ENTRY, n};
    list->data = (const char *)list->data + entry_bytes(n);
    list->bytes -= entry_bytes(n);
    return true;
}

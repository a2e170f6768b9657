/* Sending of the messages of one-sided communication (wire.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/message.h"

#include "rma/operation.h"
#include "rma/win.h"

static struct wf_active_head head_of(const struct wf_win_peer *p,
                                     const struct wf_rma_words *w)
{
    const struct wf_comm *c = p->win->comm;

    return (struct wf_active_head){.context = c->context,
                                   .source = (uint32_t)c->rank,
                                   .target = (uint32_t)p->rank,
                                   .word = w->word,
                                   .c = w->c,
                                   .d = w->d};
}

void wf_rma_send(struct wf_win_peer *p, const struct wf_rma_words *w)
{
    struct wf_active_head h = head_of(p, w);

    wf_active_send_short(p->loc, WF_SPACE_RMA, &h, NULL, 0);
}

bool wf_rma_begin_plain(struct wf_rma_draft *d, size_t n)
{
    d->n = n;
    d->long_one = NULL;
    d->at = d->small;
    if (n <= sizeof d->small)
        return true;
    d->long_one = wf_active_alloc(n);
    if (!d->long_one)
        return false;
    d->at = d->long_one->payload;
    return true;
}

bool wf_rma_begin(struct wf_rma_draft *d, const struct wf_rma_extent *e,
                  size_t n)
{
    uint64_t words[] = {wf_le64(e->offset), wf_le64(e->bytes),
                        wf_le64(e->count)};

    if (!wf_rma_begin_plain(d, n + sizeof words))
        return false;
    memcpy(d->at, words, sizeof words);
    d->at += sizeof words;
    return true;
}

static void on_taken(struct wf_active *m)
{
    struct wf_win_peer *p = m->context;
    struct wf_win *win = p->win;

    WF_ASSERT(p->in_flight >= m->bytes);
    p->in_flight -= m->bytes;
    wf_rma_pump(p);
    wf_win_put(win);
}

void wf_rma_finish(struct wf_rma_draft *d, struct wf_win_peer *p,
                   const struct wf_rma_words *w)
{
    struct wf_active_head h = head_of(p, w);

    if (!d->long_one) {
        wf_active_send_short(p->loc, WF_SPACE_RMA, &h, d->small, d->n);
        return;
    }
    d->long_one->sent = on_taken;
    d->long_one->context = p;
    p->in_flight += d->n;
    wf_win_get(p->win);
    wf_active_send(p->loc, WF_SPACE_RMA, &h, d->long_one);
}

bool wf_rma_read_extent(struct wf_rma_message *m, struct wf_rma_extent *e)
{
    uint64_t words[3];

    if (m->bytes < sizeof words)
        return false;
    memcpy(words, m->data, sizeof words);
    *e = (struct wf_rma_extent){wf_le64(words[0]), wf_le64(words[1]),
                                wf_le64(words[2])};
    m->data = (const char *)m->data + sizeof words;
    m->bytes -= sizeof words;
    return true;
}

/* Receiving: from the own mailbox to the core. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/transport.h"

enum { STALLED = 0 }; /* instead of a number of lines */

static int deliver_header(weft_ep *e, weft_peer *p, const weft_hdr *h,
                          const void *data)
{
    weft_sink *sink = NULL;
    int r = e->host->rx(e->core, p->loc, h, data, weft_hdr_plen(h), &sink);

    if (r == WEFT_OK) { /* all was here; the core wanted a sink nevertheless */
        e->host->rx_done(e->core, sink, WEFT_OK);
        return WEFT_DONE;
    }
    return r;
}

/* The header travels in the first line: words 0 to 2, and the payload begins
 * there. */
static int deliver_short(weft_ep *e, weft_peer *p, const struct mail_line *l,
                         uint64_t h0)
{
    if (__builtin_expect(e->words, 1))
        return e->host->rx_words(e->core, p->loc, h0, l->env[0], l->env[1],
                                 l->data);
    return deliver_header(e, p, &(weft_hdr){.w = {h0, l->env[0], l->env[1]}},
                          l->data);
}

static int deliver_long(weft_ep *e, weft_peer *p, const struct mail_line *l,
                        uint64_t h0)
{
    weft_hdr h = {.w = {h0, l->env[0], l->env[1]}};

    memcpy(&h.w[3], l->data, MAIL_FIRST);
    return deliver_header(e, p, &h, l + 1);
}

/* A frame of our own, always one line but for what is skipped. */
static uint32_t own_frame(weft_ep *e, const struct mail_line *l, uint64_t word)
{
    uint32_t from = mail_from(word);
    weft_peer *p = from < e->from_room ? e->from[from] : NULL;

    if ((word & 0xff) == MAIL_PAD)
        return (uint32_t)l->env[0];
    if (p && (word & 0xff) == MAIL_ASSIST)
        wf_assist(p, l->env[0]);
    if (p && (word & 0xff) == MAIL_REFUSE)
        wf_thread_down(p, "it does not take messages from here");
    return 1;
}

/* Lines that were consumed, or STALLED. */
static uint32_t deliver(weft_ep *e, const struct mail_line *l, uint64_t word)
{
    bool is_short = word >> 16 & WEFT_HDR_SHORT;
    uint64_t h0 = mail_header(word);
    uint32_t from = mail_from(word);
    weft_peer *p;
    int r;

    if (__builtin_expect((word & 0xff) >= MAIL_PAD, 0))
        return own_frame(e, l, word);
    p = from < e->from_room ? e->from[from] : NULL;
    if (__builtin_expect(!p, 0))
        p = wf_thread_from(e, from);
    if (__builtin_expect(!p, 0))
        return mail_count(is_short, (uint32_t)(h0 >> 32));
    r = is_short ? deliver_short(e, p, l, h0) : deliver_long(e, p, l, h0);
    if (__builtin_expect(r == WEFT_EAGAIN, 0))
        return STALLED;
    return mail_count(is_short, (uint32_t)(h0 >> 32));
}

/* There is room again. */
static inline void tell_hungry(struct mailbox *m)
{
    uint32_t who = wf_load_relaxed(&m->hungry);

    if (__builtin_expect(who, 0)) {
        wf_store_relaxed(&m->hungry, 0);
        wf_mail_wake_index(who - 1);
    }
}

int wf_thread_receive(weft_ep *e, int budget)
{
    struct mailbox *m = e->box;
    uint64_t word;
    int n = 0;

    for (; n < budget && (word = mail_peek(m, e->head)) != 0; n++) {
        uint32_t lines = deliver(e, mail_at(m, e->head), word);
        e->stalled = lines == STALLED;
        if (__builtin_expect(e->stalled, 0))
            break;
        mail_done(m, &e->head, lines);
    }
    if (n)
        tell_hungry(m);
    return n;
}

/* One line, for the wanted message. */
static inline int take_wanted(weft_ep *e, const struct mail_line *l,
                              uint32_t len, weft_want *w)
{
    if (len > w->room || len > MAIL_FIRST || l->env[0] != w->h1 ||
        ((l->env[1] ^ w->h2) & w->mask))
        return WEFT_EAGAIN;
    mail_copy(w->buf, l->data, len);
    w->h2 = l->env[1];
    w->room = len;
    mail_done(e->box, &e->head, 1);
    tell_hungry(e->box);
    return WEFT_DONE;
}

/* Who sends has the next line in advance (mail_own) unless somebody looks at it: then
 * it is fetched by the look, and back by the answer. So whoever has asked gives
 * the answer time before the first look: not more than it finds answers at, and
 * now and then less, to see whether that is enough. docs/performance.md */
static inline uint64_t look_for_answer(weft_peer *p)
{
    enum { PATIENCE_MOST = 2, PROMPT = 32 };
    uint64_t word;

    p->asked = false;
    for (unsigned i = p->patience; i > 0; i--)
        wf_cpu_relax();
    word = mail_peek(p->ep->box, p->ep->head);
    if (!word) {
        p->prompt = 0;
        p->patience += p->patience < PATIENCE_MOST;
    } else if (++p->prompt == PROMPT) {
        p->prompt = 0;
        p->patience -= p->patience > 0;
    }
    return word;
}

int wf_thread_recv_words(weft_peer *p, weft_want *w)
{
    enum { LOOKS = 8 };
    weft_ep *e = p->ep;
    const struct mail_line *l = mail_at(e->box, e->head);
    uint64_t word, key = mail_word((uint32_t)w->h0, p->box->index);

    if (__builtin_expect(thread_busy(e) | e->stalled | p->down, 0))
        return WEFT_EAGAIN;
    word = p->asked ? look_for_answer(p) : mail_peek(e->box, e->head);
    for (int i = 1; !word && i < LOOKS; i++) {
        wf_cpu_relax();
        word = mail_peek(e->box, e->head);
    }
    if (!word)
        return WEFT_OK;
    if (__builtin_expect((word ^ key) & ~MAIL_WORD_LEN, 0))
        return WEFT_EAGAIN;
    return take_wanted(e, l, (uint32_t)(mail_header(word) >> 32), w);
}

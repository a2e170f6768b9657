/* Receiving: passes containers from the own mailbox to the core. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/deliver.h"

#include "os/tuning.h"
#include "thread/assist.h"
#include "thread/registry.h"
#include "thread/transport.h"

enum { STALLED = 0 }; /* a result instead of a number of lines */

static int deliver_header(weft_ep *e, weft_peer *p, const weft_hdr *h,
                          const void *data)
{
    weft_sink *sink = NULL;
    int r = e->host->rx(e->core, p->loc, h, data, weft_hdr_plen(h), &sink);

    if (r == WEFT_OK) { /* a sink, though the payload was complete */
        e->host->rx_done(e->core, sink, WEFT_OK);
        return WEFT_DONE;
    }
    return r;
}

/* Delivers a container whose header has 3 words; its payload begins in the
 * first line. */
static int deliver_short(weft_ep *e, weft_peer *p, const struct mail_line *l,
                         uint64_t h0)
{
    return e->host->rx_words(e->core, p->loc, h0, l->env[0], l->env[1],
                             l->data);
}

static int deliver_long(weft_ep *e, weft_peer *p, const struct mail_line *l,
                        uint64_t h0)
{
    weft_hdr h = {.w = {h0, l->env[0], l->env[1]}};

    memcpy(&h.w[3], l->data, MAIL_FIRST);
    return deliver_header(e, p, &h, l + 1);
}

/* Handles a frame of this transport. Returns its lines: 1, or those to skip. */
static uint32_t handle_own_frame(weft_ep *e, const struct mail_line *l,
                                 uint64_t word)
{
    uint32_t from = mail_sender_of(word);
    weft_peer *p = from < e->by_sender_room ? e->by_sender[from] : NULL;

    if ((word & 0xff) == MAIL_PAD)
        return (uint32_t)l->env[0];
    if (p && (word & 0xff) == MAIL_ASSIST)
        wf_assist_copy(p, l->env[0]);
    if (p && (word & 0xff) == MAIL_REFUSE)
        wf_thread_report_down(p, "it does not take messages from here");
    return 1;
}

/* Returns the number of lines consumed, or STALLED if the core has no
 * memory. */
static uint32_t deliver_container(weft_ep *e, const struct mail_line *l,
                                  uint64_t word)
{
    bool is_short = word >> 16 & WEFT_HDR_SHORT;
    uint64_t h0 = mail_header_of(word);
    uint32_t from = mail_sender_of(word);
    weft_peer *p;
    int r;

    if (__builtin_expect((word & 0xff) >= MAIL_PAD, 0))
        return handle_own_frame(e, l, word);
    p = from < e->by_sender_room ? e->by_sender[from] : NULL;
    if (__builtin_expect(!p, 0))
        p = wf_thread_find_peer(e, from);
    if (__builtin_expect(!p, 0))
        return mail_lines_of(is_short, (uint32_t)(h0 >> 32));
    r = is_short ? deliver_short(e, p, l, h0) : deliver_long(e, p, l, h0);
    if (__builtin_expect(r == WEFT_EAGAIN, 0))
        return STALLED;
    return mail_lines_of(is_short, (uint32_t)(h0 >> 32));
}

/* Wakes the sender that waits for space: there is some again. */
static inline void wake_waiting_sender(struct mailbox *m)
{
    uint32_t waiting = wf_load_relaxed(&m->waiting_for_space);

    if (__builtin_expect(waiting, 0)) {
        wf_store_relaxed(&m->waiting_for_space, 0);
        wf_mail_wake_index(waiting - 1);
    }
}

int wf_thread_receive(weft_ep *e, int budget)
{
    struct mailbox *m = e->box;
    uint64_t word;
    int n = 0;

    for (; n < budget && (word = mail_peek(m, e->head)) != 0; n++) {
        uint32_t lines = deliver_container(e, mail_line_at(m, e->head), word);
        e->stalled = lines == STALLED;
        if (__builtin_expect(e->stalled, 0))
            break;
        mail_release_lines(m, &e->head, lines);
    }
    if (n)
        wake_waiting_sender(m);
    return n;
}

/* Takes a message of one line if it is the wanted one. */
static inline int take_wanted(weft_ep *e, const struct mail_line *l,
                              uint32_t len, weft_want *w)
{
    if (len > w->room || len > MAIL_FIRST || l->env[0] != w->h1 ||
        ((l->env[1] ^ w->h2) & w->mask))
        return WEFT_EAGAIN;
    mail_copy_short(w->buf, l->data, len);
    w->h2 = l->env[1];
    w->room = len;
    mail_release_lines(e->box, &e->head, 1);
    wake_waiting_sender(e->box);
    return WEFT_DONE;
}

/* Polls for the answer to a message, after some pauses. The sender of the
 * answer has prefetched its line (mail_prefetch_line); a poll that comes too
 * early moves the line here, and the answer moves it back. So a poll that finds
 * nothing adds a pause before the next one, and after WF_MAIL_ANSWERS_PROMPT
 * answers in a row one pause less is tried. See
 * bench/notebook/shared-memory.md. */
static inline uint64_t poll_for_answer(weft_peer *p)
{
    uint64_t word;

    p->awaits_answer = false;
    for (unsigned i = p->pre_poll_pauses; i > 0; i--)
        wf_cpu_relax();
    word = mail_peek(p->ep->box, p->ep->head);
    if (!word) {
        p->prompt_answers = 0;
        p->pre_poll_pauses += p->pre_poll_pauses < WF_MAIL_ANSWER_PAUSES;
    } else if (++p->prompt_answers == WF_MAIL_ANSWERS_PROMPT) {
        p->prompt_answers = 0;
        p->pre_poll_pauses -= p->pre_poll_pauses > 0;
    }
    return word;
}

int wf_thread_recv_words(weft_peer *p, weft_want *w)
{
    weft_ep *e = p->ep;
    const struct mail_line *l = mail_line_at(e->box, e->head);
    uint64_t word, key = mail_make_word(w->h0, p->box->index);

    if (__builtin_expect(thread_busy(e) | e->stalled | p->down, 0))
        return WEFT_EAGAIN;
    word = p->awaits_answer ? poll_for_answer(p) : mail_peek(e->box, e->head);
    for (int i = 1; !word && i < WF_MAIL_LOOKS; i++) {
        wf_cpu_relax();
        word = mail_peek(e->box, e->head);
    }
    if (!word)
        return WEFT_OK;
    if (__builtin_expect((word ^ key) & ~MAIL_WORD_LEN, 0))
        return WEFT_EAGAIN;
    return take_wanted(e, l, (uint32_t)(mail_header_of(word) >> 32), w);
}

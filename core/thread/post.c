/* Sending: puts containers into the mailbox of the receiver. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/post.h"

#include "thread/transport.h"

/* Makes the peer wait for space: asks the receiver to wake this rank;
 * transport.c then resumes the sender. Returns WEFT_EAGAIN. */
static int wait_for_space(weft_peer *p)
{
    if (!p->wants) {
        p->wants = true;
        p->ep->wants++;
    }
    wf_store_relaxed(&p->box->waiting_for_space, p->me + 1);
    return WEFT_EAGAIN;
}

/* Claims lines and writes the header. Returns where the payload goes, or NULL
 * if there is no room. */
static char *begin_container(weft_peer *p, const weft_hdr *h, size_t len,
                             struct mail_claim *c)
{
    bool is_short = weft_hdr_len(h) == WEFT_HDR_MIN;
    struct mail_line *l;

    if (!mail_claim_lines(p->box, mail_lines_of(is_short, (uint32_t)len),
                          &p->seen, p->me, c))
        return NULL;
    l = c->first;
    memcpy(l->env, &h->w[1], sizeof l->env);
    if (is_short)
        return (char *)l->data;
    memcpy(l->data, &h->w[3], MAIL_FIRST);
    return (char *)(l + 1);
}

static void publish_container(weft_peer *p, const struct mail_claim *c,
                              const weft_hdr *h)
{
    mail_publish(p->box, c, mail_make_word(h->w[0], p->me));
}

int wf_thread_send_short(weft_peer *p, const weft_hdr *h, const void *data,
                         size_t len, unsigned flags)
{
    struct mail_claim c;
    char *to;

    (void)flags; /* it leaves at once in any case */
    if (p->down)
        return WEFT_EPEER;
    to = begin_container(p, h, len, &c);
    if (!to)
        return wait_for_space(p);
    if (len)
        memcpy(to, data, len);
    publish_container(p, &c, h);
    return WEFT_DONE;
}

/* Sends a message that has more than one line, or for which none is free. */
static __attribute__((noinline)) int send_lines(const void *data, uint64_t h0,
                                                weft_peer *p, uint64_t h1,
                                                uint64_t h2)
{
    uint32_t len = (uint32_t)(h0 >> 32);
    struct mailbox *m = p->box;
    struct mail_claim c;

    if (!mail_claim_lines(m, mail_lines_of(true, len), &p->seen, p->me, &c)) {
        wait_for_space(p);
        return p->ep->host->tx_words(p->ep->core, p->loc, h0, h1, h2, data);
    }
    c.first->env[0] = h1;
    c.first->env[1] = h2;
    memcpy((char *)c.first->data, data, len); /* continues in the next lines */
    mail_publish(m, &c, mail_make_word(h0, p->me));
    return WEFT_OK;
}

int wf_thread_send_words(const void *data, uint64_t h0, weft_peer *p,
                         uint64_t h1, uint64_t h2)
{
    uint32_t len = (uint32_t)(h0 >> 32);
    struct mailbox *m = p->box;
    struct mail_claim c;

    /* with a constant number of lines the code is a third as long */
    if (__builtin_expect(len > MAIL_FIRST ||
                             !mail_claim_lines(m, 1, &p->seen, p->me, &c),
                         0))
        return send_lines(data, h0, p, h1, h2);
    c.first->env[0] = h1;
    c.first->env[1] = h2;
    mail_copy_short(c.first->data, data, len);
    mail_publish(m, &c, mail_make_word(h0, p->me));
    p->awaits_answer = true;
    mail_prefetch_line(c.first + 1); /* for the next message; see deliver.c */
    return WEFT_OK;
}

/* Copies the payload from the sender's layout. */
static void gather_payload(char *to, weft_tx *t)
{
    struct iovec v;

    for (uint64_t off = 0; off < t->len; off += v.iov_len) {
        if (t->seg(t, off, &v, 1) < 1)
            return;
        memcpy(to + off, v.iov_base, v.iov_len);
    }
}

int wf_thread_send(weft_peer *p, weft_tx *t)
{
    struct mail_claim c;
    char *to;

    if (p->down)
        return WEFT_EPEER;
    to = begin_container(p, t->hdr, t->len, &c);
    if (!to)
        return wait_for_space(p);
    if (t->one.iov_base)
        memcpy(to, t->one.iov_base, t->len);
    else if (t->len)
        gather_payload(to, t);
    publish_container(p, &c, t->hdr);
    return WEFT_DONE;
}

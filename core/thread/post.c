/* Sending: a container into the mailbox of its receiver. See mailbox.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/transport.h"

/* No room: the receiver is asked to wake us, and transport.c looks again. */
static int hungry(weft_peer *p)
{
    if (!p->wants) {
        p->wants = true;
        p->ep->wants++;
    }
    wf_store_relaxed(&p->box->hungry, p->me + 1);
    return WEFT_EAGAIN;
}

/* Claim lines and write the header: where the payload goes, or NULL. */
static char *begin(weft_peer *p, const weft_hdr *h, size_t len,
                   struct mail_claim *c)
{
    bool is_short = weft_hdr_len(h) == WEFT_HDR_MIN;
    struct mail_line *l;

    if (!mail_claim(p->box, mail_count(is_short, (uint32_t)len), &p->seen,
                    p->me, c))
        return NULL;
    l = c->first;
    memcpy(l->env, &h->w[1], sizeof l->env);
    if (is_short)
        return (char *)l->data;
    memcpy(l->data, &h->w[3], MAIL_FIRST);
    return (char *)(l + 1);
}

static void publish(weft_peer *p, const struct mail_claim *c, const weft_hdr *h)
{
    mail_publish(p->box, c, mail_word(h->w[0], p->me));
}

int wf_thread_send_short(weft_peer *p, const weft_hdr *h, const void *data,
                         size_t len)
{
    struct mail_claim c;
    char *to;

    if (p->down)
        return WEFT_EPEER;
    to = begin(p, h, len, &c);
    if (!to)
        return hungry(p);
    if (len)
        memcpy(to, data, len);
    publish(p, &c, h);
    return WEFT_DONE;
}

/* More than one line, or none is free. */
static __attribute__((noinline)) int send_lines(const void *data, uint64_t h0,
                                                weft_peer *p, uint64_t h1,
                                                uint64_t h2)
{
    uint32_t len = (uint32_t)(h0 >> 32);
    struct mailbox *m = p->box;
    struct mail_claim c;

    if (!mail_claim(m, mail_count(true, len), &p->seen, p->me, &c)) {
        hungry(p);
        return p->ep->host->tx_words(p->ep->core, p->loc, h0, h1, h2, data);
    }
    c.first->env[0] = h1;
    c.first->env[1] = h2;
    memcpy((char *)c.first->data, data, len); /* on into the next lines */
    mail_publish(m, &c, mail_word(h0, p->me));
    return WEFT_OK;
}

int wf_thread_send_words(const void *data, uint64_t h0, weft_peer *p,
                         uint64_t h1, uint64_t h2)
{
    uint32_t len = (uint32_t)(h0 >> 32);
    struct mailbox *m = p->box;
    struct mail_claim c;

    /* a number that the compiler knows makes it a third as long */
    if (__builtin_expect(
            len > MAIL_FIRST || !mail_claim(m, 1, &p->seen, p->me, &c), 0))
        return send_lines(data, h0, p, h1, h2);
    c.first->env[0] = h1;
    c.first->env[1] = h2;
    mail_copy(c.first->data, data, len);
    mail_publish(m, &c, mail_word(h0, p->me));
    p->asked = true;
    mail_own(c.first + 1); /* by the time of the next: deliver.c */
    return WEFT_OK;
}

/* The payload from the sender's layout. */
static void gather(char *to, weft_tx *t)
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
    to = begin(p, t->hdr, t->len, &c);
    if (!to)
        return hungry(p);
    if (t->iov && t->iov_n == 1)
        memcpy(to, t->iov->iov_base, t->len);
    else if (t->len)
        gather(to, t);
    publish(p, &c, t->hdr);
    return WEFT_DONE;
}

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
    l = mail_at(p->box, c->at);
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

int wf_thread_send_words(const void *data, uint64_t h0, weft_peer *p,
                         uint64_t h1, uint64_t h2)
{
    uint32_t len = (uint32_t)(h0 >> 32);
    struct mail_claim c;
    struct mail_line *l;
    bool one = len <= MAIL_FIRST;

    /* a number that the compiler knows makes it half as long */
    if (__builtin_expect(one ? !mail_claim(p->box, 1, &p->seen, p->me, &c)
                             : !mail_claim(p->box, mail_count(true, len),
                                           &p->seen, p->me, &c),
                         0)) {
        hungry(p);
        return p->ep->host->tx_words(p->ep->core, p->loc, h0, h1, h2, data);
    }
    l = mail_at(p->box, c.at);
    l->env[0] = h1;
    l->env[1] = h2;
    if (one)
        mail_copy(l->data, data, len);
    else
        memcpy((char *)l->data, data, len); /* on into the next lines */
    mail_publish(p->box, &c, mail_word(h0, p->me));
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

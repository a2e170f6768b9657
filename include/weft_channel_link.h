/* weft_channel_link.h - links of the transport behind weft_channel.h: what they
 * are, how they end, and containers out and in. weft_channel_impl.h has the rest.
 *
 * DESIGN  A link carries containers one way, from the process that made it, so
 * calls never cross: a pair that talks both ways has two. A packet names the
 * link by a number that its receiver drew, which a stranger cannot guess.
 *
 *   dialler                                     listener
 *   HELLO, auth message, own address        ->  auth_step
 *   auth_step                               <-  ANSWER, auth message
 *   PROOF, auth message                     ->  auth_step, locate
 *   peer_up                                 <-  WELCOME
 *   DATA: bytes of one container            ->  rx, sink, rx_done
 *                                           <-  CREDIT: packets consumed
 *   BYE: no failure                        <->  BYE
 *   CLOSED: the link has ended             <->  CLOSED
 *   ALIVE: asks whether anybody is there   <->  ALIVE
 *
 * At most WCH_WINDOW packets are not consumed yet, so a receiver whose core has
 * no memory keeps that many copies, and goes on reading those of others.
 *
 * INVARIANTS
 *   - The core is called back from progress() only.
 *   - wch_fail() notes that a peer is lost; progress() reports it.
 *   - A link that has ended is freed at the end of progress().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_CHANNEL_LINK_H
#define WEFT_CHANNEL_LINK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    WCH_HEAD = 32,     /* bytes before what a packet carries */
    WCH_WINDOW = 64,   /* packets of a link under way */
    WCH_LINKS = 65536, /* of an endpoint */
    WCH_CALLERS = 1024 /* that have not proved who they are */
};
static const uint64_t wch_alive_ns = 100000000, wch_retry_ns = 200000;
static const uint32_t wch_magic = 0x31484357; /* "WCH1" */

enum wch_kind {
    WCH_NONE,
    WCH_HELLO,
    WCH_ANSWER,
    WCH_PROOF,
    WCH_WELCOME,
    WCH_DATA,
    WCH_CREDIT,
    WCH_BYE,
    WCH_CLOSED,
    WCH_ALIVE
};

/* A packet that waits for rx_resume. */
struct wch_kept {
    struct wch_kept *next;
    size_t n;
    _Alignas(8) uint8_t bytes[];
};

struct wch_link {
    struct weft_ep *ep;
    struct weft_peer *peer; /* NULL: a caller that has not proved who it is */
    weft_auth *auth;
    uint64_t mine, theirs; /* numbers of the link; the low 16 bits: index */
    bool dialled, open, dead;
    bool owes_credit, owes_bye, said_bye;
    uint8_t owed; /* a message of the handshake, or CLOSED; WCH_NONE */
    size_t owed_len;
    uint8_t owed_bytes[WEFT_AUTH_MSG];
    uint64_t packets;  /* DATA: sent, or consumed */
    uint64_t credited; /* of these, as the sender knows */
    /* the container that comes in */
    weft_hdr hdr;
    uint64_t off, len; /* of its payload; len 0: between containers */
    weft_sink *sink;
    bool paused;
    struct wch_kept *kept, **kept_end;
    size_t address_len;
    uint8_t address[WEFT_CHANNEL_ADDRESS];
};

struct weft_peer {
    struct weft_ep *ep;
    weft_loc *loc;
    uint32_t id;
    struct wch_link *out, *in;
    weft_tx *tx;   /* the container on its way out */
    uint64_t sent; /* bytes of it, header included */
    bool want;     /* the core waits for tx_ready */
    bool up, left; /* left: it has said goodbye */
    int gone;      /* the fabric says that nobody is there: wch_judge() */
    int fault;     /* why it is lost */
    bool down;     /* and the core knows */
    char why[200];
    struct weft_peer *next;
    size_t address_len;
    uint8_t address[WEFT_CHANNEL_ADDRESS];
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    const weft_channel_ops *ops;
    weft_channel channel;
    const char *name;
    uint32_t id;
    bool attend; /* a fault, a resumed or an ended link */
    bool full;   /* the fabric had no room */
    bool gone;   /* some peer is */
    uint32_t polls, callers;
    uint64_t alive_at;
    struct wch_link **links;
    uint32_t links_n;
    weft_peer *peers;
    uint8_t *packet;
};

/* ---- losing a peer ------------------------------------------------------- */

static void wch_fail(weft_peer *p, int status, const char *what)
{
    if (p->fault)
        return; /* the first cause counts */
    p->fault = status;
    p->ep->attend = true;
    snprintf(p->why, sizeof p->why, "%s: process %u %s", p->ep->name, p->id,
             what);
}

static void wch_drop_kept(struct wch_link *l)
{
    while (l->kept) {
        struct wch_kept *k = l->kept;
        l->kept = k->next;
        free(k);
    }
    l->kept_end = &l->kept;
}

/* End a link; `tell`: the other side is to see it end. */
static void wch_end_link(struct wch_link *l, bool tell)
{
    weft_ep *e = l->ep;

    if (l->dead)
        return;
    l->dead = true;
    l->open = l->owes_bye = l->owes_credit = false;
    if (l->theirs && tell) {
        l->owed = WCH_CLOSED;
        l->owed_len = 0;
    } else if (l->owed != WCH_ANSWER) { /* which may be a refusal */
        l->owed = WCH_NONE;
    }
    e->attend = true;
    e->callers -= !l->peer && !l->dialled;
    e->host->auth_step(e->core, &l->auth, NULL, 0, NULL, NULL, NULL);
    wch_drop_kept(l);
    if (l->peer && l->peer->out == l)
        l->peer->out = NULL;
    if (l->peer && l->peer->in == l)
        l->peer->in = NULL;
    l->peer = NULL;
}

/* Return everything that is lent; `status` for those who send meanwhile. */
static void wch_release(weft_peer *p, int status)
{
    const weft_host *host = p->ep->host;
    weft_sink *sink = p->in ? p->in->sink : NULL;
    weft_tx *tx = p->tx;

    p->fault = status;
    p->tx = NULL;
    p->want = false;
    if (p->in)
        wch_end_link(p->in, true);
    if (p->out)
        wch_end_link(p->out, true);
    if (sink)
        host->rx_done(p->ep->core, sink, status);
    if (tx)
        host->tx_done(p->ep->core, tx, status);
}

/* ---- packets out --------------------------------------------------------- */

static void wch_put(uint8_t *to, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t wch_get(const uint8_t *from, int n)
{
    uint64_t x = 0;

    while (n-- > 0)
        x = x << 8 | from[n];
    return x;
}

/* Note that the fabric says nobody is there. Packets that the peer sent before,
 * and its goodbye, may still be in it: wch_judge() decides when they are read. */
static void wch_note_gone(struct wch_link *l, int status)
{
    weft_peer *p = l->peer;

    if (!p)
        wch_end_link(l, false);
    else if (!p->gone)
        p->gone = status;
    l->ep->gone |= p != NULL;
}

/* Decide, when the fabric is empty, what has become of a peer that is gone. */
static void wch_judge(weft_peer *p)
{
    int status = p->gone;

    p->gone = 0;
    if (status && !p->left)
        wch_fail(p, status, p->up ? "is gone" : "cannot be called");
    else if (status && (p->tx || p->want))
        wch_fail(p, WEFT_ELINK, "left while messages to it were waiting");
}

/* Send one packet; v[0] is for its head. */
static int wch_send_packet(struct wch_link *l, enum wch_kind kind,
                           struct iovec *v, int n)
{
    weft_ep *e = l->ep;
    uint8_t head[WCH_HEAD] = {0};
    int rc;

    wch_put(head, wch_magic, 4);
    head[4] = (uint8_t)kind;
    wch_put(head + 8, l->theirs, 8);
    wch_put(head + 16, l->mine, 8);
    wch_put(head + 24, l->packets, 8);
    v[0] = (struct iovec){head, sizeof head};
    rc = e->ops->send(&e->channel, l->address, l->address_len, v, n);
    if (rc == WEFT_EAGAIN)
        e->full = true;
    else if (rc < 0)
        wch_note_gone(l, rc == WEFT_EPEER ? WEFT_EPEER : WEFT_ELINK);
    return rc;
}

/* Send a packet without content. False: there is no room. To a peer that is
 * gone, nothing is owed any more. */
static bool wch_send_plain(struct wch_link *l, enum wch_kind kind)
{
    struct iovec v[1];

    return wch_send_packet(l, kind, v, 1) != WEFT_EAGAIN;
}

/* Send what the link owes, as far as there is room. */
static void wch_pay(struct wch_link *l)
{
    weft_ep *e = l->ep;
    struct iovec v[3] = {{0},
                         {l->owed_bytes, l->owed_len},
                         {e->channel.address, e->channel.address_len}};

    if (l->owed && wch_send_packet(l, (enum wch_kind)l->owed, v,
                                   l->owed == WCH_HELLO ? 3
                                   : l->owed_len        ? 2
                                                        : 1) != WEFT_EAGAIN)
        l->owed = WCH_NONE;
    if (!l->owed && l->owes_credit && wch_send_plain(l, WCH_CREDIT)) {
        l->owes_credit = false;
        l->credited = l->packets;
    }
    if (!l->owed && l->owes_bye && wch_send_plain(l, WCH_BYE)) {
        l->owes_bye = false;
        l->said_bye = true;
    }
}

static struct wch_link *wch_link_new(weft_ep *e, weft_peer *p, const void *to,
                                     size_t len)
{
    struct wch_link *l = calloc(1, sizeof *l), **more;
    uint32_t i = 0;

    while (i < e->links_n && e->links[i])
        i++;
    if (l && i == e->links_n && i < WCH_LINKS &&
        (more = realloc(e->links, (i + 1) * sizeof *more))) {
        e->links = more;
        e->links[e->links_n++] = NULL;
    }
    if (!l || i == e->links_n ||
        getrandom(&l->mine, sizeof l->mine, 0) != sizeof l->mine) {
        free(l);
        return NULL;
    }
    l->mine = (l->mine & ~(uint64_t)(WCH_LINKS - 1)) | i;
    l->ep = e;
    l->peer = p;
    l->dialled = p != NULL;
    l->kept_end = &l->kept;
    memcpy(l->address, to, l->address_len = len);
    return e->links[i] = l;
}

static void wch_dial(weft_peer *p)
{
    weft_ep *e = p->ep;
    struct wch_link *l = wch_link_new(e, p, p->address, p->address_len);
    uint32_t whom = p->id;

    p->out = l;
    if (!l || e->host->auth_step(e->core, &l->auth, NULL, 0, l->owed_bytes,
                                 &l->owed_len, &whom) != WEFT_EAGAIN) {
        wch_fail(p, WEFT_ELINK, "cannot be greeted");
        return;
    }
    l->owed = WCH_HELLO;
    wch_pay(l);
}

/* Send packets of the container under way, as far as there is room. True: it
 * is out. */
static bool wch_push(weft_peer *p)
{
    struct wch_link *l = p->out;
    weft_tx *t = p->tx;
    uint64_t head = weft_hdr_len(t->hdr), all = head + t->len;

    while (p->sent < all) {
        struct iovec v[WEFT_CHANNEL_PARTS];
        size_t room = p->ep->channel.packet - WCH_HEAD, at = 0;
        int n = 1, end;
        if (l->packets - l->credited >= WCH_WINDOW)
            return false;
        if (p->sent == 0)
            v[n++] = (struct iovec){t->hdr, at = head};
        if (p->sent + at < all)
            n += t->seg(t, p->sent + at - head, v + n, WEFT_CHANNEL_PARTS - n);
        end = p->sent == 0 ? 2 : 1;
        for (; end < n && at < room; end++) {
            if (v[end].iov_len > room - at)
                v[end].iov_len = room - at;
            at += v[end].iov_len;
        }
        if (wch_send_packet(l, WCH_DATA, v, end) < 0)
            return false;
        l->packets++;
        p->sent += at;
    }
    return true;
}

static int wch_send(weft_peer *p, weft_tx *t)
{
    if (p->fault)
        return p->down ? p->fault : WEFT_ELINK;
    if (p->tx) {
        p->want = true;
        return WEFT_EAGAIN;
    }
    p->tx = t;
    p->sent = 0;
    if (!p->out)
        wch_dial(p); /* what goes wrong is a fault */
    else if (p->out->open && wch_push(p)) {
        p->tx = NULL;
        return WEFT_DONE;
    }
    return WEFT_OK;
}

/* Continue with the container under way, and say so. */
static void wch_go_on(weft_peer *p)
{
    weft_ep *e = p->ep;
    weft_tx *t = p->tx;

    if (p->fault || !p->out || !p->out->open || (t && !wch_push(p)))
        return;
    p->tx = NULL;
    if (t)
        e->host->tx_done(e->core, t, WEFT_OK);
    if (p->want && !p->tx) {
        p->want = false;
        e->host->tx_ready(e->core, p->loc);
    }
}

/* ---- packets in: containers ---------------------------------------------- */

/* Put n bytes to where the payload of the container goes. */
static void wch_land(struct wch_link *l, const uint8_t *from, uint64_t n)
{
    weft_sink *s = l->sink;
    struct iovec v;
    uint64_t k;

    l->off += n;
    for (uint64_t at = l->off - n; s && n && at < s->len;
         at += k, from += k, n -= k) {
        if (s->one.iov_len == s->len)
            v = (struct iovec){(char *)s->one.iov_base + at, s->len - at};
        else if (s->seg(s, at, &v, 1) < 1)
            return;
        k = v.iov_len < n ? v.iov_len : n;
        if (k > s->len - at)
            k = s->len - at;
        memcpy(v.iov_base, from, k);
    }
}

/* Show a new container. False: the core has no memory for it. */
static bool wch_show(struct wch_link *l, const uint8_t *data, size_t n)
{
    weft_ep *e = l->ep;
    size_t head;
    int rc;

    if (n < WEFT_HDR_MIN || n < weft_hdr_len(data) ||
        n - weft_hdr_len(data) > weft_hdr_plen(data)) {
        wch_fail(l->peer, WEFT_EPROTO, "sent what nobody understands");
        return true;
    }
    head = weft_hdr_len(data);
    memcpy(&l->hdr, data, head);
    l->sink = NULL;
    rc = e->host->rx(e->core, l->peer->loc, &l->hdr, data + head, n - head,
                     &l->sink);
    if (rc == WEFT_EAGAIN) {
        l->paused = true;
        return false;
    }
    l->len = weft_hdr_plen(&l->hdr);
    l->off = n - head;
    return true;
}

/* Take a DATA packet. False: not now. */
static bool wch_take(struct wch_link *l, const uint8_t *data, size_t n)
{
    if (l->off == l->len) {
        if (!wch_show(l, data, n))
            return false;
    } else if (n > l->len - l->off) {
        wch_fail(l->peer, WEFT_EPROTO, "sent more than it had announced");
    } else {
        wch_land(l, data, n);
    }
    if (l->sink && l->off >= l->sink->len && !l->peer->fault) {
        weft_sink *s = l->sink;
        l->sink = NULL;
        l->ep->host->rx_done(l->ep->core, s, WEFT_OK);
    }
    if (++l->packets - l->credited >= WCH_WINDOW / 2) {
        l->owes_credit = true;
        wch_pay(l);
    }
    return true;
}

static void wch_keep(struct wch_link *l, const uint8_t *data, size_t n)
{
    struct wch_kept *k = malloc(sizeof *k + n);

    if (!k) {
        wch_fail(l->peer, WEFT_ENOMEM, "sent more than there is memory for");
        return;
    }
    k->next = NULL;
    memcpy(k->bytes, data, k->n = n);
    *l->kept_end = k;
    l->kept_end = &k->next;
}

/* Take the packets that were kept, after rx_resume. */
static void wch_take_kept(struct wch_link *l)
{
    struct wch_kept *k;

    while ((k = l->kept) && !l->paused && !l->dead && !l->peer->fault &&
           wch_take(l, k->bytes, k->n)) {
        l->kept = k->next;
        if (!l->kept)
            l->kept_end = &l->kept;
        free(k);
    }
}

#endif

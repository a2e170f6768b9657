/* weft_channel_impl.h - the transport behind weft_channel.h, which includes it:
 * the handshake, progress, and the operations. weft_channel_link.h describes the
 * protocol.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_CHANNEL_IMPL_H
#define WEFT_CHANNEL_IMPL_H

#include "weft_channel_link.h"

/* ---- packets in: the handshake ------------------------------------------- */

static weft_peer *wch_find(weft_ep *e, uint32_t id)
{
    weft_peer *p = e->peers;

    while (p && p->id != id)
        p = p->next;
    return p;
}

static void wch_opened(struct wch_link *l)
{
    weft_peer *p = l->peer;

    l->open = true;
    if (!p->up)
        p->ep->host->peer_up(p->ep->core, p->loc);
    p->up = true;
}

/* Process id has proved who it is: let it in, unless it is not wanted. */
static void wch_welcome(struct wch_link *l, uint32_t id)
{
    weft_ep *e = l->ep;
    weft_peer *p;

    if (!wch_find(e, id))
        e->host->locate(e->core, id);
    p = wch_find(e, id);
    if (!p || p->fault || p->in) {
        wch_end_link(l, true);
        return;
    }
    e->callers--;
    l->peer = p;
    p->in = l;
    l->owed = WCH_WELCOME;
    wch_pay(l);
    wch_opened(l);
}

/* Take a message of the handshake. */
static void wch_shake(struct wch_link *l, enum wch_kind kind,
                      const uint8_t *data, size_t n)
{
    weft_ep *e = l->ep;
    uint32_t id = l->peer ? l->peer->id : 0;
    int rc;

    if (n < WEFT_AUTH_MSG || l->open || (kind == WCH_ANSWER) != l->dialled)
        return;
    rc = e->host->auth_step(e->core, &l->auth, data, WEFT_AUTH_MSG,
                            l->owed_bytes, &l->owed_len, &id);
    l->owed = !l->owed_len ? WCH_NONE : l->dialled ? WCH_PROOF : WCH_ANSWER;
    if (l->owed)
        wch_pay(l);
    if (rc == WEFT_OK && !l->dialled)
        wch_welcome(l, id);
    else if (rc < 0 && rc != WEFT_EAGAIN && l->peer)
        wch_fail(l->peer, WEFT_ELINK,
                 rc == WEFT_EAUTH ? "has another job key"
                                  : "is not who was called");
    else if (rc < 0 && rc != WEFT_EAGAIN)
        wch_end_link(l, false);
}

static void wch_answer_call(weft_ep *e, uint64_t theirs, const uint8_t *data,
                            size_t n)
{
    struct wch_link *l;

    if (n < WEFT_AUTH_MSG || n > WEFT_AUTH_MSG + WEFT_CHANNEL_ADDRESS ||
        !(l = wch_link_new(e, NULL, data + WEFT_AUTH_MSG, n - WEFT_AUTH_MSG)))
        return;
    l->theirs = theirs;
    if (++e->callers > WCH_CALLERS)
        wch_end_link(l, true);
    else
        wch_shake(l, WCH_HELLO, data, n);
    if (l->owed)
        wch_pay(l);
}

/* ---- progress ------------------------------------------------------------ */

static void wch_take_credit(struct wch_link *l, uint64_t packets)
{
    if (!l->dialled || packets > l->packets || packets < l->credited)
        return;
    l->credited = packets;
    wch_go_on(l->peer);
}

/* The other side has ended the link. Behind a goodbye, packets that were kept
 * are still to be taken. */
static void wch_note_end(struct wch_link *l)
{
    weft_peer *p = l->peer;

    if (p && (!p->left || (l->dialled && (p->tx || p->want))))
        wch_fail(p, WEFT_ELINK,
                 l->open ? "has ended the link" : "refused the call");
    else if (!p || l->dialled)
        wch_end_link(l, false);
}

/* Take a packet for a link that exists. */
static void wch_dispatch(struct wch_link *l, enum wch_kind kind,
                         const uint8_t *packet, size_t n)
{
    const uint8_t *data = packet + WCH_HEAD;

    n -= WCH_HEAD;
    if (kind == WCH_ANSWER)
        l->theirs = wch_get(packet + 16, 8);
    if (kind == WCH_ANSWER || kind == WCH_PROOF)
        wch_shake(l, kind, data, n);
    else if (kind == WCH_WELCOME && l->dialled && !l->open && !l->auth) {
        wch_opened(l);
        wch_go_on(l->peer);
    } else if (kind == WCH_DATA && l->open && !l->dialled) {
        if (l->kept || !wch_take(l, data, n))
            wch_keep(l, data, n);
    } else if (kind == WCH_CREDIT && l->open)
        wch_take_credit(l, wch_get(packet + 24, 8));
    else if (kind == WCH_BYE && l->open)
        l->peer->left = true;
    else if (kind == WCH_CLOSED)
        wch_note_end(l);
}

static void wch_receive(weft_ep *e, const uint8_t *packet, size_t n)
{
    uint64_t to, at;

    if (n < WCH_HEAD || wch_get(packet, 4) != wch_magic)
        return; /* a stranger's */
    to = wch_get(packet + 8, 8);
    at = to % WCH_LINKS;
    if (packet[4] == WCH_HELLO)
        wch_answer_call(e, wch_get(packet + 16, 8), packet + WCH_HEAD,
                        n - WCH_HEAD);
    else if (at < e->links_n && e->links[at] && e->links[at]->mine == to &&
             !e->links[at]->dead &&
             !(e->links[at]->peer && e->links[at]->peer->fault))
        wch_dispatch(e->links[at], (enum wch_kind)packet[4], packet, n);
}

/* Try again where the fabric had no room. */
static void wch_retry(weft_ep *e)
{
    e->full = false;
    for (uint32_t i = 0; i < e->links_n; i++)
        if (e->links[i])
            wch_pay(e->links[i]);
    for (weft_peer *p = e->peers; p; p = p->next)
        if (p->tx)
            wch_go_on(p);
}

/* Free the links that have ended and owe nothing. */
static void wch_bury(weft_ep *e, bool all)
{
    for (uint32_t i = 0; i < e->links_n; i++) {
        struct wch_link *l = e->links[i];
        if (l && l->dead && l->owed)
            wch_pay(l);
        if (l && l->dead && (all || !l->owed)) {
            e->links[i] = NULL;
            free(l);
        }
    }
}

/* Do what was noted elsewhere. */
static int wch_attend(weft_ep *e)
{
    int n = 0;

    e->attend = false;
    for (weft_peer *p = e->peers; p; p = p->next) {
        if (p->in && !p->in->paused)
            wch_take_kept(p->in);
        if (!p->fault || p->down)
            continue;
        wch_release(p, p->fault);
        p->down = true;
        e->host->peer_down(e->core, p->loc, p->fault, p->why);
        n++;
    }
    wch_bury(e, false);
    return n;
}

/* Ask peers whether they are there, for send() fails if they are not. */
static void wch_ask_all(weft_ep *e, uint64_t now)
{
    if (now < e->alive_at)
        return;
    e->alive_at = now + wch_alive_ns;
    for (weft_peer *p = e->peers; p; p = p->next) {
        struct wch_link *l = p->out ? p->out : p->in;
        if (l && !p->fault && (!p->left || p->tx || p->want))
            wch_send_plain(l, WCH_ALIVE);
    }
}

static void wch_judge_all(weft_ep *e)
{
    if (!e->gone)
        return;
    e->gone = false;
    for (weft_peer *p = e->peers; p; p = p->next)
        wch_judge(p);
}

static int wch_progress(weft_ep *e, int budget)
{
    int n = 0;

    for (size_t k; n < budget; n++) {
        k = e->ops->poll(&e->channel, e->packet, e->channel.packet);
        if (!k) {
            wch_judge_all(e);
            break;
        }
        wch_receive(e, e->packet, k);
    }
    if (e->full)
        wch_retry(e);
    if (e->polls++ % 64 == 0)
        wch_ask_all(e, e->host->now_ns(e->core));
    return e->attend ? n + wch_attend(e) : n;
}

static void wch_resume(weft_peer *p)
{
    if (p->in && p->in->paused) {
        p->in->paused = false;
        p->ep->attend = true;
    }
}

static int wch_event(weft_ep *e, int *fd)
{
    *fd = e->channel.fd;
    return *fd < 0 ? WEFT_ENOTSUP : WEFT_OK;
}

static int wch_arm(weft_ep *e, uint64_t *deadline_ns)
{
    if (e->attend || e->gone)
        return WEFT_EAGAIN;
    e->polls = 0; /* the next progress() looks at the clock */
    if (deadline_ns && e->full)
        *deadline_ns = e->host->now_ns(e->core) + wch_retry_ns;
    else if (deadline_ns && e->peers)
        *deadline_ns = e->alive_at;
    return WEFT_OK;
}

/* ---- peers, opening and closing ------------------------------------------ */

static int wch_address(weft_ep *e, void *buf, size_t *len)
{
    if (*len < e->channel.address_len)
        return WEFT_EINVAL;
    memcpy(buf, e->channel.address, *len = e->channel.address_len);
    return WEFT_OK;
}

static int wch_reach(weft_ep *e, const void *addr, size_t len, weft_cost *cost)
{
    (void)cost; /* as in attr() */
    return len == e->channel.address_len &&
                   memcmp(addr, e->channel.address, len) != 0 &&
                   (!e->ops->reach || e->ops->reach(&e->channel, addr, len))
               ? WEFT_OK
               : WEFT_EUNREACH;
}

static int wch_peer_add(weft_ep *e, weft_loc *loc, uint32_t id,
                        const void *addr, size_t len, weft_peer **out)
{
    weft_peer *p;

    if (len != e->channel.address_len || wch_find(e, id))
        return WEFT_EINVAL;
    p = calloc(1, sizeof *p);
    if (!p)
        return WEFT_ENOMEM;
    p->ep = e;
    p->loc = loc;
    p->id = id;
    memcpy(p->address, addr, p->address_len = len);
    p->next = e->peers;
    *out = e->peers = p;
    return WEFT_OK;
}

static int wch_connect(weft_peer *p)
{
    if (!p->out && !p->fault)
        wch_dial(p);
    return WEFT_OK;
}

static bool wch_has_parted(struct wch_link *l)
{
    if (!l || !l->open || l->said_bye)
        return true;
    l->owes_bye = true;
    wch_pay(l);
    return !l->open || l->said_bye;
}

/* All is with the fabric, which delivers it even when we have ended. */
static bool wch_has_left(weft_peer *p)
{
    return p->fault ||
           (!p->tx && wch_has_parted(p->out) && wch_has_parted(p->in) &&
            !(p->in && (p->in->owed || p->in->owes_credit)));
}

static int wch_drain(weft_ep *e)
{
    int rc = WEFT_OK;

    for (weft_peer *p = e->peers; p; p = p->next)
        if (!wch_has_left(p))
            rc = WEFT_EAGAIN;
    return rc;
}

static int wch_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;
    weft_peer **at = &e->peers;

    if (!abrupt && !wch_has_left(p))
        return WEFT_EAGAIN;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    wch_release(p, WEFT_ECANCEL);
    wch_bury(e, false);
    free(p);
    return WEFT_OK;
}

static void wch_close(weft_ep *e)
{
    while (e->peers)
        wch_peer_del(e->peers, 1);
    for (uint32_t i = 0; i < e->links_n; i++)
        if (e->links[i])
            wch_end_link(e->links[i], true);
    wch_bury(e, true);
    e->ops->close(&e->channel);
    free(e->links);
    free(e->packet);
    free(e);
}

static int wch_open(const weft_open *o, const weft_channel_ops *ops,
                    weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);
    int rc;

    if (!e)
        return WEFT_ENOMEM;
    *e = (weft_ep){.host = o->host,
                   .core = o->core,
                   .ops = ops,
                   .channel = {.cfg = o->cfg, .fd = -1},
                   .name = o->instance,
                   .id = o->loc_id};
    rc = ops->open(&e->channel, o);
    if (rc < 0) {
        free(e);
        return rc;
    }
    e->packet = aligned_alloc(64, (e->channel.packet + 63) / 64 * 64);
    if (e->packet && e->channel.packet >= WEFT_CHANNEL_PACKET &&
        e->channel.address_len <= WEFT_CHANNEL_ADDRESS) {
        *out = e;
        return WEFT_OK;
    }
    rc = e->packet ? WEFT_EINVAL : WEFT_ENOMEM;
    o->host->log(o->core, 0,
                 "the fabric has packets of %zu bytes, addresses of "
                 "%zu; %d at least and %d at most are possible",
                 e->channel.packet, e->channel.address_len, WEFT_CHANNEL_PACKET,
                 WEFT_CHANNEL_ADDRESS);
    wch_close(e);
    return rc;
}

static int wch_attr(weft_ep *e, weft_attr *a)
{
    size_t data = e->channel.packet - WCH_HEAD - WEFT_HDR;

    a->caps = e->channel.caps;
    a->max_payload = 1 << 20;
    a->max_eager = data < 65536 ? (uint32_t)data : 65536;
    a->cost = e->channel.cost;
    a->cost.size = sizeof a->cost;
    return WEFT_OK;
}

#define WCH_OPS(OPEN)                                                          \
    .size = sizeof(weft_ops), .open = OPEN, .close = wch_close,                \
    .attr = wch_attr, .address = wch_address, .reach = wch_reach,              \
    .peer_add = wch_peer_add, .peer_del = wch_peer_del, .send = wch_send,      \
    .progress = wch_progress, .drain = wch_drain, .event = wch_event,          \
    .arm = wch_arm, .rx_resume = wch_resume, .connect = wch_connect

#endif

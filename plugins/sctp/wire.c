/* Datagrams: their bytes, and the sockets that they go through.
 *
 * A datagram reaches the protocol only if it has the id of an open link, and
 * comes from one of the addresses that the peer of this link has published. Any
 * other reaches the handshake at most: the protocol's own parser never sees the
 * bytes of a foreign process.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <string.h>

#include "sctp.h"

enum {
    VERSION = 2,
    MAGIC = 0x5753,
    LINEAR = 2 << 10, /* smaller packets are sent from one buffer */
    IP_UDP_BYTES = 48,
    WINDOW_MIN = 128 << 10,
    ERRORS = 64
};

/* ---- bytes --------------------------------------------------------------- */

static void put32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

size_t wf_sctp_datagram_head(const struct wf_sctp_datagram *d, uint8_t *out)
{
    out[0] = d->type;
    out[1] = VERSION;
    out[2] = (uint8_t)MAGIC;
    out[3] = MAGIC >> 8;
    put32(out + 4, d->to);
    put32(out + 8, d->from);
    put32(out + 12, d->check);
    if (d->type == TYPE_PACKET)
        return HEAD_PACKET;
    put32(out + 16, d->value);
    put32(out + 20, d->offer);
    return HEAD_WORD;
}

bool wf_sctp_datagram_read(struct wf_sctp_datagram *d, const uint8_t *bytes,
                           size_t n)
{
    size_t head = n && bytes[0] == TYPE_PACKET ? HEAD_PACKET : HEAD_WORD;

    if (n < head || bytes[1] != VERSION || (bytes[2] | bytes[3] << 8) != MAGIC)
        return false;
    d->type = bytes[0];
    if (d->type == 0 || (d->type > IP_RESET && d->type < TYPE_PACKET) ||
        d->type > TYPE_PART)
        return false;
    d->to = get32(bytes + 4);
    d->from = get32(bytes + 8);
    d->check = get32(bytes + 12);
    d->value = head == HEAD_WORD ? get32(bytes + 16) : 0;
    d->offer = head == HEAD_WORD ? get32(bytes + 20) : 0;
    d->body = bytes + head;
    d->n = n - head;
    return true;
}

/* A simple loop is enough: these datagrams are short, and few. */
static uint32_t sum_crc32c(const uint8_t *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

/* Returns the checksum of a datagram that is no PACKET. Clears its check field
 * and restores it. */
static uint32_t checksum_of(uint8_t *bytes, size_t n)
{
    uint8_t was[4];
    uint32_t sum;

    memcpy(was, bytes + 12, 4);
    memset(bytes + 12, 0, 4);
    sum = sum_crc32c(bytes, n);
    memcpy(bytes + 12, was, 4);
    return sum;
}

/* ---- sockets ------------------------------------------------------------- */

static void tune_socket(void *ctx, int fd, int family)
{
    const weft_ep *ep = ctx;

    wf_ip_datagram_tune(fd, family, ep->cfg.rcvbuf);
}

/* Limits the window to what the socket can hold, whose bytes count about twice:
 * the system may have granted less than was asked for. */
static void fit_window(weft_ep *ep, int fd)
{
    int room = 0;
    socklen_t n = sizeof room;

    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, &n) < 0)
        return;
    room /= 3;
    if (room > WINDOW_MIN && (uint32_t)room < ep->calls.room)
        ep->calls.room = (uint32_t)room;
}

int wf_sctp_open_sockets(weft_ep *ep)
{
    const struct wf_ip_sockets how = {.verb = "receive on",
                                      .type = SOCK_DGRAM,
                                      .port = ep->ip.port,
                                      .tune = tune_socket,
                                      .ctx = ep};
    int rc = wf_ip_open_sockets(&ep->ip, &how, ep->fd);

    ep->calls.room = (uint32_t)ep->cfg.window;
    for (int i = 0; i < ep->ip.n && rc == WEFT_OK; i++) {
        uint32_t mtu = wf_ip_mtu(ep->fd[i], ep->ip.use[i].name);
        mtu = mtu < 600 ? 600 : mtu;
        ep->mtu[i] = mtu - IP_UDP_BYTES - HEAD_PACKET;
        fit_window(ep, ep->fd[i]);
    }
    return rc;
}

/* ---- out ----------------------------------------------------------------- */

void wf_sctp_send_datagram(weft_ep *ep, const struct wf_ip_path *to,
                           const struct wf_sctp_datagram *d)
{
    uint8_t bytes[HEAD_WORD + WEFT_AUTH_MSG];
    struct iovec v = {.iov_base = bytes};
    size_t head = wf_sctp_datagram_head(d, bytes);

    if (d->n)
        memcpy(bytes + head, d->body, d->n);
    v.iov_len = head + d->n;
    put32(bytes + 12, checksum_of(bytes, v.iov_len));
    wf_ip_datagram_send(ep->fd[to->socket], to, &v, 1, &ep->errors);
    ep->count.packets_out++;
}

void wf_sctp_send_handshake(weft_ep *ep, const struct wf_ip_path *to,
                            const struct wf_ip_word *w, const void *body,
                            size_t n)
{
    struct wf_sctp_datagram d = {.type = (uint8_t)w->verb,
                                 .to = w->to,
                                 .from = w->from,
                                 .value = w->room,
                                 .offer = w->offer,
                                 .body = body,
                                 .n = n};

    wf_sctp_send_datagram(ep, to, &d);
}

/* A packet for which there is no room is lost, and retransmitted. */
void wf_sctp_send_packet(void *assoc, const void *packet, size_t n)
{
    const struct wf_sctp_assoc *s = assoc;
    struct wf_sctp_exit *e = &s->peer->exit;
    uint8_t linear[HEAD_PACKET + LINEAR];
    struct iovec v[2] = {{.iov_base = e->head, .iov_len = HEAD_PACKET},
                         {.iov_base = (void *)(uintptr_t)packet, .iov_len = n}};
    int pieces = 2;

    e->sent = true;
    if (wf_sctp_send_parts(e, s->number, packet, n))
        return;
    put32(e->head + 12, s->number);
    if (n <= LINEAR) {
        memcpy(linear, e->head, HEAD_PACKET);
        memcpy(linear + HEAD_PACKET, packet, n);
        v[0] = (struct iovec){.iov_base = linear, .iov_len = HEAD_PACKET + n};
        pieces = 1;
    }
    wf_ip_datagram_send(e->fd, &e->to, v, pieces, &e->errors);
    e->packets++;
}

/* ---- in ------------------------------------------------------------------ */

/* Handles a packet of an association, or a part of one. */
static void on_packet(weft_ep *ep, const struct wf_ip_path *from,
                      const struct wf_sctp_datagram *d)
{
    const uint8_t *packet = d->body;
    size_t n = d->n;
    struct wf_ip_id *s = wf_ip_find_id(&ep->calls, d->to);
    weft_peer *p = s && s->party ? s->party->peer : NULL;
    struct wf_sctp_assoc *assoc = NULL;
    uint64_t now = wf_sctp_now_ns(ep);

    if (p && p->ip.state == PEER_OPEN && p->remote_link == d->from &&
        wf_sctp_is_known_path(p, from) &&
        (!p->kernel || wf_sctp_follow_to_udp(p)))
        assoc = wf_sctp_assoc_get(p, d->check);
    if (!assoc) {
        ep->calls.foreign_packets++;
        if (!s)
            wf_ip_send_reset(&ep->calls, from, d->from, d->to);
        return;
    }
    wf_sctp_note_traffic(p, now);
    if (d->type == TYPE_PART) {
        packet = wf_sctp_join_part(&p->joints, d);
        n = d->offer;
    }
    if (!packet)
        return;
    if (!wf_sctp_user_input(&assoc->user, packet, n))
        ep->calls.foreign_packets++;
    if (assoc->user.progress) {
        wf_ip_alive_note_answer(&p->alive, now);
        assoc->stalled_since = now;
    }
    assoc->user.progress = false;
    p->unread |= 1u << assoc->number;
    wf_sctp_take_arrived(p);
    wf_sctp_finish_sends(p);
}

static void on_probe(weft_ep *ep, const struct wf_ip_path *from,
                     const struct wf_sctp_datagram *d)
{
    struct wf_ip_id *s = wf_ip_find_id(&ep->calls, d->to);
    weft_peer *p = s && s->party ? s->party->peer : NULL;
    struct wf_sctp_datagram echo = *d;

    if (!p || p->remote_link != d->from || !wf_sctp_is_known_path(p, from)) {
        ep->calls.foreign_packets++;
        if (!s && d->type == TYPE_PROBE)
            wf_ip_send_reset(&ep->calls, from, d->from, d->to);
        return;
    }
    if (d->type == TYPE_ECHO) {
        wf_sctp_handle_echo(p, from, d->value, wf_sctp_now_ns(ep));
        return;
    }
    if (d->offer == PROBE_DRAINED)
        wf_ip_alive_note_running(&ep->watch, &p->alive, wf_sctp_now_ns(ep));
    echo.type = TYPE_ECHO;
    echo.to = d->from;
    echo.from = d->to;
    echo.n = 0;
    wf_sctp_send_datagram(ep, from, &echo);
}

/* Tells whether it names an open link but does not come from an address of its
 * peer. */
static bool is_from_elsewhere(weft_ep *ep, const struct wf_ip_path *from,
                              const struct wf_sctp_datagram *d)
{
    const struct wf_ip_id *s = wf_ip_find_id(&ep->calls, d->to);

    return s && s->party && !wf_sctp_is_known_path(s->party->peer, from);
}

static void on_datagram(weft_ep *ep, const struct wf_ip_path *from,
                        uint8_t *bytes, size_t n)
{
    struct wf_sctp_datagram d;

    ep->count.packets_in++;
    if (!wf_sctp_datagram_read(&d, bytes, n)) {
        ep->calls.foreign_packets++;
    } else if (d.type == TYPE_PACKET || d.type == TYPE_PART) {
        on_packet(ep, from, &d);
    } else if (checksum_of(bytes, n) != d.check ||
               is_from_elsewhere(ep, from, &d)) {
        ep->calls.foreign_packets++;
    } else if (d.type >= TYPE_PROBE) {
        on_probe(ep, from, &d);
    } else {
        struct wf_ip_word w = {.verb = (enum wf_ip_verb)d.type,
                               .to = d.to,
                               .from = d.from,
                               .room = d.value,
                               .offer = d.offer};
        wf_ip_take_word(&ep->calls, from, &w, d.body, d.n);
    }
}

int wf_sctp_read_socket(weft_ep *ep, int socket, int budget)
{
    int events = 0;

    while (events < budget) {
        struct wf_ip_path from = {.socket = socket};
        uint64_t before = ep->count.rx_containers;
        ssize_t n =
            wf_ip_datagram_receive(ep->fd[socket], ep->rbuf, SCTP_RBUF, &from);
        if (n < 0) {
            ep->errors =
                ep->errors || (errno != EAGAIN && errno != EWOULDBLOCK);
            return events;
        }
        events++;
        on_datagram(ep, &from, ep->rbuf, (size_t)n);
        if (n < LINEAR && ep->count.rx_containers != before)
            break; /* the core may have the container that it waits for */
    }
    ep->drained = false;
    return events;
}

/* ---- errors -------------------------------------------------------------- */

static void on_error(weft_ep *ep, const struct wf_ip_path *to, int error)
{
    if (wf_ip_call_handle_error(&ep->calls, to, error))
        return;
    for (weft_peer *p = ep->open; p; p = p->open_next)
        if (p->ip.state == PEER_OPEN && wf_sctp_is_known_path(p, to)) {
            if (error == ECONNREFUSED)
                wf_sctp_peer_gone(p, WEFT_EPEER, "no process receives there");
            else
                wf_sctp_handle_path_error(p, to, error);
            return;
        }
}

int wf_sctp_read_errors(weft_ep *ep)
{
    int events = 0;

    ep->errors = false;
    for (int i = 0; i < ep->ip.n; i++) {
        struct wf_ip_path to = {.socket = i};
        int error;
        for (int k = 0; k < ERRORS; k++, events++) {
            error = wf_ip_datagram_error(ep->fd[i], &to);
            if (!error)
                break;
            on_error(ep, &to, error);
        }
    }
    return events;
}

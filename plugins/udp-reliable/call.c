/* The handshake: HELLO, ANSWER, PROOF, ACCEPT.
 *
 *   dialler   HELLO --> (answer) --> PROOF --> (accept) --> link is open
 *   listener            ANSWERED --------> (who is it?) --> link is open
 *                                             +--> PARKED: ours goes first
 *
 * The dialler repeats what it said until it is answered: a process that
 * computes answers late, and that is no failure. The listener says something
 * only when it is spoken to. Strangers cost it one call record, at most
 * UDP_PENDING_MAX of them, for handshake_timeout.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "udp.h"

#define STAGGER_NS     150000000u
#define REPEAT_NS      10000000u
#define REPEAT_MAX_NS  200000000u
#define FAIR_CHANCE_NS 50000000u
enum { RETRIES = 6 };

static struct wf_udp_call *call_new(weft_ep *ep, const struct wf_udp_path *path)
{
    struct wf_udp_id *s = wf_udp_id_new(ep);
    struct wf_udp_call *c = s ? calloc(1, sizeof *c) : NULL;

    if (!c)
        return NULL;
    s->call = c;
    c->id = s->id;
    c->path = *path;
    c->since = wf_udp_now(ep);
    c->local = -1;
    wf_ip_from_sockaddr((const struct sockaddr *)&path->way.to, &c->remote);
    c->next = ep->calls;
    ep->calls = c;
    return c;
}

void wf_udp_call_free(weft_ep *ep, struct wf_udp_call *c)
{
    struct wf_udp_id *s = wf_udp_id_find(ep, c->id);
    struct wf_udp_call **at = &ep->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (s)
        s->call = NULL;
    if (c->auth)
        ep->host->auth_step(ep->core, &c->auth, NULL, 0, NULL, NULL, NULL);
    if (c->state == CALL_ANSWERED)
        ep->pending--;
    if (c->dialled)
        c->peer->calls--;
    if (c->peer && c->peer->parked == c)
        c->peer->parked = NULL;
    free(c);
}

static void repeat(weft_ep *ep, struct wf_udp_call *c)
{
    struct iovec v = {.iov_base = c->said, .iov_len = c->said_n};

    if (c->said_n)
        wf_udp_say(ep, &c->path, &v, 1);
}

static void say(weft_ep *ep, struct wf_udp_call *c, enum wf_udp_type type,
                const void *body, size_t n)
{
    struct wf_udp_packet k = {.type = (uint8_t)type,
                              .flags = c->path.mac ? UDP_MAC : 0,
                              .to = c->remote_id,
                              .number = c->id,
                              .room = (uint32_t)ep->cfg.window};
    size_t head = wf_udp_packet_pack(&k, c->said);

    memcpy(c->said + head, body, n);
    c->said_n = head + n;
    wf_udp_packet_seal(c->said, c->said_n, NULL, 0);
    repeat(ep, c);
}

void wf_udp_accept(weft_ep *ep, const weft_peer *p)
{
    struct wf_udp_packet k = {.type = UDP_ACCEPT,
                              .to = p->remote_link,
                              .number = p->link,
                              .room = (uint32_t)ep->cfg.window};

    wf_udp_say_ids(ep, &p->path, &k);
}

/* ---- calling -------------------------------------------------------------- */

static void add_reason(weft_peer *p, const struct wf_udp_call *c,
                       const char *what)
{
    char to[64], from[64] = "any address", *text;
    size_t had = p->why ? strlen(p->why) : 0, n;

    wf_ip_name(&c->remote, to, sizeof to);
    if (c->local >= 0) {
        const struct wf_ip_interface *u = &p->ep->ip.use[c->local];
        wf_ip_name(&u->addr, from, sizeof from);
    }
    n = had + strlen(to) + strlen(from) + strlen(what) + 16;
    text = realloc(p->why, n);
    if (!text)
        return;
    snprintf(text + had, n - had, "%s%s -> %s: %s", had ? "; " : "", from, to,
             what);
    p->why = text;
}

static void all_failed(weft_peer *p, int status)
{
    struct wf_udp_call *waiting = p->parked;
    char *table = p->why;

    if (waiting) { /* the peer reached us though we could not reach it */
        wf_udp_link_up(p, waiting);
        if (p->state == UDP_OPEN)
            wf_udp_accept(p->ep, p);
        return;
    }
    p->why = NULL;
    wf_udp_link_break(p, status, "cannot reach process %u: %.1000s", p->id,
                      table ? table
                            : "none of its addresses can be reached from the "
                              "chosen interfaces");
    free(table);
}

/* This attempt will not work; progress() and dial() only. */
void wf_udp_call_failed(weft_ep *ep, struct wf_udp_call *c, int status,
                        int error, const char *what)
{
    weft_peer *p = c->peer;

    if (error == ECONNREFUSED && !p->met && wf_udp_now(ep) < p->until)
        return; /* not there yet: it is called again */
    add_reason(p, c, error ? strerror(error) : what);
    wf_udp_call_free(ep, c);
    if (p->calls == 0 && p->state == UDP_DIALLING)
        all_failed(p, status);
}

/* End all attempts but one. */
void wf_udp_dial_end(weft_peer *p, const struct wf_udp_call *keep)
{
    weft_ep *ep = p->ep;

    for (struct wf_udp_call *c = ep->calls, *next; c; c = next) {
        next = c->next;
        if (c->peer == p && c->dialled && c != keep)
            wf_udp_call_free(ep, c);
    }
}

static void try_address(weft_peer *p, const struct wf_ip_candidate *at,
                        uint64_t when)
{
    weft_ep *ep = p->ep;
    struct wf_udp_path path = {.way = {.socket = at->local}};
    struct wf_udp_call *c;

    for (int i = 0; i < ep->ip.n && path.way.socket < 0; i++)
        if (ep->ip.use[i].addr.family == at->to.family)
            path.way.socket = i;
    if (path.way.socket < 0)
        return;
    path.way.to_len = wf_ip_to_sockaddr(&at->to, &path.way.to);
    path.check = wf_udp_wants_check(ep, &at->to);
    path.mac = wf_udp_wants_mac(ep, &at->to);
    c = call_new(ep, &path);
    if (!c)
        return;
    c->peer = p;
    c->dialled = true;
    c->local = at->local;
    c->say_at = when;
    p->calls++;
}

/* Begin. Reports nothing by itself: the outcome comes from progress(). */
void wf_udp_dial(weft_peer *p)
{
    weft_ep *ep = p->ep;
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    uint64_t now = wf_udp_now(ep);
    int n = wf_ip_candidates(&ep->ip, p->book, at);

    p->state = UDP_DIALLING;
    p->until = ep->start ? now + ep->start : 0;
    free(p->why);
    p->why = NULL;
    for (int i = 0; i < n; i++)
        try_address(p, &at[i], now + (uint64_t)i * STAGGER_NS);
    if (p->calls == 0)
        all_failed(p, WEFT_ELINK);
    else
        wf_udp_call_timers(ep, now);
}

/* One step of the handshake over the message that has come, if any. Returns
 * auth_step()'s answer; *whom: who it is, or whom we want. */
static int step(weft_ep *ep, struct wf_udp_call *c, const void *in, size_t n,
                enum wf_udp_type type, uint32_t *whom)
{
    uint8_t out[WEFT_AUTH_MSG];
    size_t out_n = 0;
    int rc = ep->host->auth_step(ep->core, &c->auth, in, n, out, &out_n, whom);
    char who[64];

    if (out_n) /* also when it says why not */
        say(ep, c, type, out, out_n);
    if (rc == WEFT_OK || rc == WEFT_EAGAIN)
        return rc;
    ep->count.refused++;
    wf_ip_name(&c->remote, who, sizeof who);
    ep->host->log(ep->core, rc == WEFT_EAUTH && !ep->said_auth ? 1 : 3,
                  "%s %s: %s", c->dialled ? "call to" : "refused a call from",
                  who, wf_ip_refusal(rc));
    ep->said_auth = ep->said_auth || rc == WEFT_EAUTH;
    return rc;
}

static void say_hello(weft_ep *ep, struct wf_udp_call *c)
{
    uint32_t whom = c->peer->id;
    int rc = WEFT_EAGAIN;

    if (c->said_n)
        repeat(ep, c);
    else
        rc = step(ep, c, NULL, 0, UDP_HELLO, &whom);
    if (rc != WEFT_EAGAIN)
        wf_udp_link_break(c->peer, rc, "cannot call process %u: %s",
                          c->peer->id, wf_ip_refusal(rc));
}

/* Codes are used when one side wants them; hello and answer make them those of
 * this link. */
static void agree(weft_ep *ep, struct wf_udp_call *c,
                  const struct wf_udp_packet *k, const void *hello,
                  const void *answer)
{
    if (!WEFT_HAS(ep->host, weft_host, mac64))
        return;
    c->path.mac = c->path.mac || k->flags & UDP_MAC;
    c->salt = wf_udp_salt(ep, hello, answer);
}

static void on_answer(weft_ep *ep, struct wf_udp_call *c,
                      const struct wf_udp_packet *k, const uint8_t *data,
                      size_t n)
{
    uint32_t whom = c->peer->id;
    int rc;

    c->remote_id = k->number;
    c->room = k->room;
    agree(ep, c, k, c->said + PACKET_HEAD, data);
    rc = step(ep, c, data, n, UDP_PROOF, &whom);
    if (rc == WEFT_OK) {
        c->state = CALL_PROOF;
        c->tries = 0;
        c->say_at = wf_udp_now(ep) + REPEAT_NS;
        wf_udp_dial_end(c->peer, c); /* this one it is */
    } else if (rc != WEFT_EAGAIN) {
        wf_udp_call_failed(ep, c, rc == WEFT_EAUTH ? WEFT_EAUTH : WEFT_ELINK, 0,
                           wf_ip_refusal(rc));
    }
}

/* ---- being called ----------------------------------------------------------- */

/* Room for one more stranger? May send the oldest away. */
static bool make_room(weft_ep *ep)
{
    struct wf_udp_call *oldest = NULL;

    if (ep->pending < UDP_PENDING_MAX)
        return true;
    for (struct wf_udp_call *c = ep->calls; c; c = c->next)
        if (c->state == CALL_ANSWERED && (!oldest || c->since < oldest->since))
            oldest = c;
    if (!oldest || wf_udp_now(ep) - oldest->since < FAIR_CHANCE_NS)
        return false;
    wf_udp_call_free(ep, oldest);
    return true;
}

static void on_hello(weft_ep *ep, const struct wf_udp_path *path,
                     const struct wf_udp_packet *k, const uint8_t *data,
                     size_t n)
{
    struct wf_udp_call *c;
    uint32_t whom = 0;
    int rc;

    for (c = ep->calls; c; c = c->next)
        if (!c->dialled && c->remote_id == k->number &&
            wf_ip_same_path(&c->path.way, &path->way)) {
            if (c->state == CALL_ANSWERED)
                repeat(ep, c);
            return;
        }
    if (!make_room(ep) || !(c = call_new(ep, path)))
        return; /* he will call again */
    c->remote_id = k->number;
    c->room = k->room;
    c->state = CALL_ANSWERED;
    c->path.mac = c->path.mac || k->flags & UDP_MAC;
    ep->pending++;
    rc = step(ep, c, data, n, UDP_ANSWER, &whom);
    if (rc != WEFT_EAGAIN)
        wf_udp_call_free(ep, c);
    else
        agree(ep, c, k, data, c->said + PACKET_HEAD);
}

static void on_proof(weft_ep *ep, struct wf_udp_call *c, const uint8_t *data,
                     size_t n)
{
    uint32_t whom = 0;
    int rc = step(ep, c, data, n, UDP_ANSWER, &whom);

    if (rc == WEFT_EAGAIN)
        return;
    if (rc != WEFT_OK) {
        wf_udp_reset(ep, &c->path, c->id);
        wf_udp_call_free(ep, c);
        return;
    }
    ep->pending--;
    c->state = CALL_PARKED;
    wf_udp_met(ep, c, whom);
}

/* Whom we called does not know of the call: it was turned away for somebody
 * else, or is not wanted. */
static void on_reset(weft_ep *ep, struct wf_udp_call *c)
{
    uint64_t now = wf_udp_now(ep);

    if (c->state != CALL_PROOF)
        return;
    if (++c->refusals > RETRIES) {
        wf_udp_call_failed(ep, c, WEFT_ELINK, 0, "turned away");
        return;
    }
    c->state = CALL_HELLO; /* from the start */
    c->said_n = 0;
    c->remote_id = 0;
    c->say_at = now + ((uint64_t)REPEAT_NS << c->refusals);
}

static void on_reset_id(weft_ep *ep, const struct wf_udp_path *path,
                        uint32_t unknown)
{
    for (struct wf_udp_call *c = ep->calls; c; c = c->next)
        if (c->dialled && c->remote_id == unknown &&
            wf_ip_same_path(&c->path.way, &path->way)) {
            on_reset(ep, c);
            return;
        }
    for (weft_peer *p = ep->open; p; p = p->open_next)
        if (p->remote_link == unknown &&
            wf_ip_same_path(&p->path.way, &path->way)) {
            wf_udp_gone(p, WEFT_ELINK, "it has forgotten this link");
            return;
        }
}

static void on_accept(weft_ep *ep, struct wf_udp_call *c)
{
    weft_peer *p = c->peer;

    if (c->state == CALL_PROOF && p->state == UDP_DIALLING)
        wf_udp_link_up(p, c);
}

/* A packet that is neither DATA nor ACK, and intact. */
void wf_udp_handshake(weft_ep *ep, const struct wf_udp_path *path,
                      const struct wf_udp_packet *k, const uint8_t *data,
                      size_t n)
{
    struct wf_udp_id *s = wf_udp_id_find(ep, k->to);
    struct wf_udp_call *c = s ? s->call : NULL;

    if (k->type == UDP_RESET) {
        on_reset_id(ep, path, k->number);
    } else if (k->type == UDP_HELLO && n == WEFT_AUTH_MSG) {
        on_hello(ep, path, k, data, n);
    } else if (k->type == UDP_PROOF && s && s->peer &&
               wf_ip_same_path(&s->peer->path.way, &path->way)) {
        wf_udp_accept(ep, s->peer); /* the first one was lost */
    } else if (k->type == UDP_PROOF && !s) {
        wf_udp_reset(ep, path, k->to);
    } else if (!c || !wf_ip_same_path(&c->path.way, &path->way)) {
        ep->count.strange++;
    } else if (k->type == UDP_ANSWER && c->dialled && c->state == CALL_HELLO &&
               n == WEFT_AUTH_MSG) {
        on_answer(ep, c, k, data, n);
    } else if (k->type == UDP_PROOF && c->state == CALL_ANSWERED &&
               n == WEFT_AUTH_MSG) {
        on_proof(ep, c, data, n);
    } else if (k->type == UDP_ACCEPT && c->dialled) {
        on_accept(ep, c);
    }
}

/* ---- time ------------------------------------------------------------------- */

static void say_again(weft_ep *ep, struct wf_udp_call *c, uint64_t now)
{
    uint64_t wait = (uint64_t)REPEAT_NS << (c->tries < 5 ? c->tries : 5);
    char who[64];

    c->tries++;
    c->say_at = now + (wait < REPEAT_MAX_NS ? wait : REPEAT_MAX_NS);
    if (c->state == CALL_HELLO)
        say_hello(ep, c);
    else
        repeat(ep, c);
    if (c->warned || now - c->since < ep->cfg.connect_timeout)
        return;
    c->warned = true;
    wf_ip_name(&c->remote, who, sizeof who);
    ep->host->log(ep->core, 2,
                  "process %u at %s does not answer yet: it is busy, not "
                  "there, or a firewall is between",
                  c->peer->id, who);
}

void wf_udp_call_timers(weft_ep *ep, uint64_t now)
{
    for (struct wf_udp_call *c = ep->calls, *next; c; c = next) {
        next = c->next;
        if (c->dialled && c->peer->state == UDP_DIALLING && c->say_at <= now)
            say_again(ep, c, now);
        else if (c->state == CALL_ANSWERED &&
                 now - c->since >= ep->cfg.handshake_timeout)
            wf_udp_call_free(ep, c);
    }
}

uint64_t wf_udp_call_deadline(const weft_ep *ep)
{
    uint64_t first = 0;

    for (const struct wf_udp_call *c = ep->calls; c; c = c->next) {
        if (c->dialled)
            wf_ip_sooner(&first, c->say_at);
        else if (c->state == CALL_ANSWERED)
            wf_ip_sooner(&first, c->since + ep->cfg.handshake_timeout);
    }
    return first;
}

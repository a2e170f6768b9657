/* Calls over datagrams; call.h has the picture.
 *
 * The dialler repeats what it said until it is answered: a process that
 * computes answers late, and that is no failure. The listener says something
 * only when it is spoken to. Strangers cost it one call record, at most
 * IP_PENDING_MAX of them, for handshake_timeout.
 *
 * SIMULTANEOUS CONNECT  A caller who is met while we call him: the side with the
 * lower number parks the call until its own attempt is decided; the other takes
 * it and drops its own. Nothing but the handshake travels before ACCEPT.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "call.h"

#define STAGGER_NS     150000000u
#define REPEAT_NS      10000000u
#define REPEAT_MAX_NS  200000000u
#define FAIR_CHANCE_NS 50000000u
enum { RETRIES = 6 };

static uint64_t now_ns(const struct wf_ip_calls *c)
{
    return c->host->now_ns(c->core);
}

/* ---- link ids: a slot, and 16 random bits --------------------------------- */

struct wf_ip_id *wf_ip_id_find(struct wf_ip_calls *all, uint32_t id)
{
    struct wf_ip_id *s;

    if ((id & 0xffff) >= all->ids_n)
        return NULL;
    s = &all->ids[id & 0xffff];
    return s->id == id && (s->call || s->party) ? s : NULL;
}

static bool more_ids(struct wf_ip_calls *all)
{
    uint32_t n = all->ids_n ? all->ids_n * 2 : 16;
    struct wf_ip_id *grown;

    if (n > IP_LINKS_MAX)
        return false;
    grown = realloc(all->ids, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + all->ids_n, 0, (n - all->ids_n) * sizeof *grown);
    all->ids_hint = all->ids_n;
    all->ids = grown;
    all->ids_n = n;
    return true;
}

/* A free slot with a new id; the caller sets call or party. NULL: none. */
static struct wf_ip_id *id_new(struct wf_ip_calls *all)
{
    uint16_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return NULL;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < all->ids_n; i++) {
            uint32_t at = (all->ids_hint + i) % all->ids_n;
            struct wf_ip_id *s = &all->ids[at];
            if (s->call || s->party)
                continue;
            all->ids_hint = at + 1;
            s->id = (uint32_t)random << 16 | at;
            if (s->id == 0)
                s->id = 1u << 16; /* 0 on the wire: nobody yet */
            return s;
        }
        if (!more_ids(all))
            return NULL;
    }
    return NULL;
}

/* ---- records --------------------------------------------------------------- */

static struct wf_ip_call *call_new(struct wf_ip_calls *all,
                                   const struct wf_ip_path *path)
{
    struct wf_ip_id *s = id_new(all);
    struct wf_ip_call *c = s ? calloc(1, sizeof *c) : NULL;

    if (!c)
        return NULL;
    s->call = c;
    c->id = s->id;
    c->path = *path;
    c->since = now_ns(all);
    c->local = -1;
    wf_ip_from_sockaddr((const struct sockaddr *)&path->to, &c->remote);
    c->next = all->first;
    all->first = c;
    return c;
}

static void call_free(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_id *s = wf_ip_id_find(all, c->id);
    struct wf_ip_call **at = &all->first;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (s)
        s->call = NULL;
    if (c->auth)
        all->host->auth_step(all->core, &c->auth, NULL, 0, NULL, NULL, NULL);
    if (c->state == CALL_ANSWERED)
        all->pending--;
    if (c->dialled)
        c->party->calls--;
    if (c->party && c->party->parked == c)
        c->party->parked = NULL;
    free(c);
}

void wf_ip_call_end(struct wf_ip_calls *all)
{
    while (all->first)
        call_free(all, all->first);
    free(all->ids);
    all->ids = NULL;
    all->ids_n = 0;
}

/* End all attempts but one. */
static void dial_end(struct wf_ip_calls *all, const struct wf_ip_party *p,
                     const struct wf_ip_call *keep)
{
    for (struct wf_ip_call *c = all->first, *next; c; c = next) {
        next = c->next;
        if (c->party == p && c->dialled && c != keep)
            call_free(all, c);
    }
}

void wf_ip_hang_up(struct wf_ip_calls *all, struct wf_ip_party *p)
{
    dial_end(all, p, NULL);
    if (p->parked)
        call_free(all, p->parked);
}

static void repeat(struct wf_ip_calls *all, const struct wf_ip_call *c)
{
    if (c->said.verb)
        all->ops->say(all->ep, &c->path, &c->said, c->body, c->body_n);
}

static void say(struct wf_ip_calls *all, struct wf_ip_call *c,
                enum wf_ip_verb verb, const void *body, size_t n)
{
    c->said = (struct wf_ip_word){
        .verb = verb, .to = c->remote_id, .from = c->id, .room = all->room};
    memcpy(c->body, body, n);
    c->body_n = n;
    repeat(all, c);
}

void wf_ip_reset(struct wf_ip_calls *all, const struct wf_ip_path *path,
                 uint32_t to, uint32_t unknown)
{
    struct wf_ip_word w = {.verb = IP_RESET, .to = to, .from = unknown};

    all->ops->say(all->ep, path, &w, NULL, 0);
}

/* ---- up and failed ---------------------------------------------------------- */

static void link_up(struct wf_ip_calls *all, struct wf_ip_party *p,
                    struct wf_ip_call *c)
{
    struct wf_ip_id *s = wf_ip_id_find(all, c->id);
    int rc = s ? all->ops->up(all->ep, p, c) : WEFT_ENOMEM;

    if (rc < 0) {
        wf_ip_hang_up(all, p);
        all->ops->failed(p, rc, "the link could not be opened");
        return;
    }
    if (p->parked == c)
        p->parked = NULL;
    call_free(all, c); /* the id lives on */
    s->party = p;
    wf_ip_hang_up(all, p);
    p->state = PARTY_OPEN;
    p->met = true;
    p->leaving = false;
}

static void accept_call(struct wf_ip_calls *all, struct wf_ip_party *p,
                        struct wf_ip_call *c)
{
    struct wf_ip_word w = {.verb = IP_ACCEPT,
                           .to = c->remote_id,
                           .from = c->id,
                           .room = all->room};
    struct wf_ip_path path = c->path;

    all->ops->say(all->ep, &path, &w, NULL, 0);
    link_up(all, p, c);
}

static void add_reason(struct wf_ip_calls *all, struct wf_ip_party *p,
                       const struct wf_ip_call *c, const char *what)
{
    char to[64], from[64] = "any address", *text;
    size_t had = p->why ? strlen(p->why) : 0, n;

    wf_ip_name(&c->remote, to, sizeof to);
    if (c->local >= 0)
        wf_ip_name(&all->ip->use[c->local].addr, from, sizeof from);
    n = had + strlen(to) + strlen(from) + strlen(what) + 16;
    text = realloc(p->why, n);
    if (!text)
        return;
    snprintf(text + had, n - had, "%s%s -> %s: %s", had ? "; " : "", from, to,
             what);
    p->why = text;
}

static void all_failed(struct wf_ip_calls *all, struct wf_ip_party *p,
                       int status)
{
    char text[1100];

    if (p->parked) { /* the peer reached us though we could not reach it */
        accept_call(all, p, p->parked);
        return;
    }
    snprintf(text, sizeof text, "cannot reach process %u: %.1000s", p->id,
             p->why ? p->why
                    : "none of its addresses can be reached from the chosen "
                      "interfaces");
    all->ops->failed(p, status, text);
}

/* This attempt will not work. */
static void call_failed(struct wf_ip_calls *all, struct wf_ip_call *c,
                        int status, const char *what)
{
    struct wf_ip_party *p = c->party;

    add_reason(all, p, c, what);
    call_free(all, c);
    if (p->calls == 0 && p->state == PARTY_DIALLING)
        all_failed(all, p, status);
}

bool wf_ip_call_error(struct wf_ip_calls *all, const struct wf_ip_path *to,
                      int error)
{
    for (struct wf_ip_call *c = all->first; c; c = c->next) {
        struct wf_ip_party *p = c->party;
        if (!c->dialled || !wf_ip_same_path(&c->path, to) || error == EMSGSIZE)
            continue;
        if (error == ECONNREFUSED && !p->met && now_ns(all) < p->until)
            return true; /* not there yet: it is called again */
        call_failed(all, c, WEFT_ELINK, strerror(error));
        return true;
    }
    return false;
}

/* ---- calling ------------------------------------------------------------------ */

/* One step of the handshake over the message that has come, if any. Returns
 * auth_step()'s answer; *whom: who it is, or whom we want. */
static int step(struct wf_ip_calls *all, struct wf_ip_call *c, const void *in,
                size_t n, uint32_t *whom)
{
    enum wf_ip_verb verb = !c->dialled ? IP_ANSWER : in ? IP_PROOF : IP_HELLO;
    uint8_t out[WEFT_AUTH_MSG];
    size_t out_n = 0;
    int rc =
        all->host->auth_step(all->core, &c->auth, in, n, out, &out_n, whom);
    char who[64];

    if (out_n) /* also when it says why not */
        say(all, c, verb, out, out_n);
    if (rc == WEFT_OK || rc == WEFT_EAGAIN)
        return rc;
    all->refused++;
    wf_ip_name(&c->remote, who, sizeof who);
    all->host->log(all->core, rc == WEFT_EAUTH && !all->said_auth ? 1 : 3,
                   "%s %s: %s", c->dialled ? "call to" : "refused a call from",
                   who, wf_ip_refusal(rc));
    all->said_auth = all->said_auth || rc == WEFT_EAUTH;
    return rc;
}

static void say_hello(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_party *p = c->party;
    uint32_t whom = p->id;
    int rc = WEFT_EAGAIN;
    char text[100];

    if (c->said.verb)
        repeat(all, c);
    else
        rc = step(all, c, NULL, 0, &whom);
    if (rc == WEFT_EAGAIN)
        return;
    snprintf(text, sizeof text, "cannot call process %u: %s", p->id,
             wf_ip_refusal(rc));
    all->ops->failed(p, rc, text);
}

static void try_address(struct wf_ip_calls *all, struct wf_ip_party *p,
                        const struct wf_ip_candidate *at, uint64_t when)
{
    struct wf_ip_path path = {.socket = at->local};
    struct wf_ip_call *c;

    for (int i = 0; i < all->ip->n && path.socket < 0; i++)
        if (all->ip->use[i].addr.family == at->to.family)
            path.socket = i;
    if (path.socket < 0)
        return;
    path.to_len = wf_ip_to_sockaddr(&at->to, &path.to);
    c = call_new(all, &path);
    if (!c)
        return;
    c->party = p;
    c->dialled = true;
    c->local = at->local;
    c->say_at = when;
    p->calls++;
}

void wf_ip_dial(struct wf_ip_calls *all, struct wf_ip_party *p)
{
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    uint64_t now = now_ns(all);
    int n = wf_ip_candidates(all->ip, p->book, at);

    p->state = PARTY_DIALLING;
    p->until = all->start ? now + all->start : 0;
    free(p->why);
    p->why = NULL;
    for (int i = 0; i < n; i++)
        try_address(all, p, &at[i], now + (uint64_t)i * STAGGER_NS);
    if (p->calls == 0)
        all_failed(all, p, WEFT_ELINK);
    else
        wf_ip_call_timers(all, now);
}

static void on_answer(struct wf_ip_calls *all, struct wf_ip_call *c,
                      const struct wf_ip_word *w, const void *body)
{
    uint32_t whom = c->party->id;
    int rc;

    c->remote_id = w->from;
    c->room = w->room;
    rc = step(all, c, body, WEFT_AUTH_MSG, &whom);
    if (rc == WEFT_OK) {
        c->state = CALL_PROOF;
        c->tries = 0;
        c->say_at = now_ns(all) + REPEAT_NS;
        dial_end(all, c->party, c); /* this one it is */
    } else if (rc != WEFT_EAGAIN) {
        call_failed(all, c, rc == WEFT_EAUTH ? WEFT_EAUTH : WEFT_ELINK,
                    wf_ip_refusal(rc));
    }
}

/* ---- being called --------------------------------------------------------------- */

/* Room for one more stranger? May send the oldest away. */
static bool make_room(struct wf_ip_calls *all)
{
    struct wf_ip_call *oldest = NULL;

    if (all->pending < IP_PENDING_MAX)
        return true;
    for (struct wf_ip_call *c = all->first; c; c = c->next)
        if (c->state == CALL_ANSWERED && (!oldest || c->since < oldest->since))
            oldest = c;
    if (!oldest || now_ns(all) - oldest->since < FAIR_CHANCE_NS)
        return false;
    call_free(all, oldest);
    return true;
}

static struct wf_ip_call *known_caller(struct wf_ip_calls *all,
                                       const struct wf_ip_path *path,
                                       uint32_t remote_id)
{
    struct wf_ip_call *c = all->first;

    while (c && (c->dialled || c->remote_id != remote_id ||
                 !wf_ip_same_path(&c->path, path)))
        c = c->next;
    return c;
}

static void on_hello(struct wf_ip_calls *all, const struct wf_ip_path *path,
                     const struct wf_ip_word *w, const void *body)
{
    struct wf_ip_call *c = known_caller(all, path, w->from);
    uint32_t whom = 0;
    int rc;

    if (c) {
        if (c->state == CALL_ANSWERED)
            repeat(all, c);
        return;
    }
    if (!make_room(all) || !(c = call_new(all, path)))
        return; /* he will call again */
    c->remote_id = w->from;
    c->room = w->room;
    c->state = CALL_ANSWERED;
    all->pending++;
    rc = step(all, c, body, WEFT_AUTH_MSG, &whom);
    if (rc != WEFT_EAGAIN)
        call_free(all, c);
}

static void park(struct wf_ip_calls *all, struct wf_ip_party *p,
                 struct wf_ip_call *c)
{
    if (p->parked)
        call_free(all, p->parked);
    p->parked = c;
    c->party = p;
}

/* An authenticated caller. */
static void met(struct wf_ip_calls *all, struct wf_ip_call *c, uint32_t id)
{
    struct wf_ip_party *p = all->ops->party(all->ep, id);

    if (!p) {
        all->host->locate(all->core, id);
        p = all->ops->party(all->ep, id);
    }
    if (!p) {
        all->host->log(all->core, 2,
                       "process %u calls, but no route uses this transport "
                       "for it",
                       id);
        wf_ip_reset(all, &c->path, c->remote_id, c->id);
        call_free(all, c);
        return;
    }
    if (p->state == PARTY_OPEN && p->leaving)
        all->ops->left(p); /* left, and came back */
    if (p->state == PARTY_DIALLING && all->me < p->id)
        park(all, p, c);
    else if (p->state == PARTY_OPEN || p->state == PARTY_BROKEN)
        /* OPEN: he had called before he took our call, and has given up */
        call_free(all, c);
    else
        accept_call(all, p, c);
}

static void on_proof(struct wf_ip_calls *all, struct wf_ip_call *c,
                     const void *body)
{
    uint32_t whom = 0;
    int rc = step(all, c, body, WEFT_AUTH_MSG, &whom);

    if (rc == WEFT_EAGAIN)
        return;
    if (rc != WEFT_OK) {
        wf_ip_reset(all, &c->path, c->remote_id, c->id);
        call_free(all, c);
        return;
    }
    all->pending--;
    c->state = CALL_PARKED;
    met(all, c, whom);
}

/* Whom we called does not know of the call: it was turned away for somebody
 * else, or is not wanted. */
static void turned_away(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    if (c->state != CALL_PROOF)
        return;
    if (++c->refusals > RETRIES) {
        call_failed(all, c, WEFT_ELINK, "turned away");
        return;
    }
    c->state = CALL_HELLO; /* from the start */
    c->said.verb = 0;
    c->remote_id = 0;
    c->say_at = now_ns(all) + ((uint64_t)REPEAT_NS << c->refusals);
}

static void on_reset(struct wf_ip_calls *all, const struct wf_ip_path *path,
                     const struct wf_ip_word *w)
{
    struct wf_ip_id *s = wf_ip_id_find(all, w->to);
    struct wf_ip_call *c = s ? s->call : NULL;

    if (s && s->party)
        all->ops->forgotten(s->party, w->from);
    else if (c && c->dialled && c->remote_id == w->from &&
             wf_ip_same_path(&c->path, path))
        turned_away(all, c);
    else
        all->strange++;
}

/* A word about an id that we have given, or not. */
static void about(struct wf_ip_calls *all, const struct wf_ip_path *path,
                  const struct wf_ip_word *w, const void *body, size_t n)
{
    struct wf_ip_id *s = wf_ip_id_find(all, w->to);
    struct wf_ip_call *c = s ? s->call : NULL;

    if (w->verb == IP_PROOF && s && s->party) { /* our ACCEPT was lost */
        struct wf_ip_word accept = {
            .verb = IP_ACCEPT, .to = w->from, .from = w->to, .room = all->room};
        all->ops->say(all->ep, path, &accept, NULL, 0);
    } else if (w->verb == IP_PROOF && !s) {
        wf_ip_reset(all, path, w->from, w->to);
    } else if (!c || !wf_ip_same_path(&c->path, path)) {
        all->strange++;
    } else if (w->verb == IP_ACCEPT) {
        if (c->dialled && c->state == CALL_PROOF &&
            c->party->state == PARTY_DIALLING)
            link_up(all, c->party, c);
    } else if (n != WEFT_AUTH_MSG) {
        all->strange++;
    } else if (w->verb == IP_ANSWER && c->dialled && c->state == CALL_HELLO) {
        on_answer(all, c, w, body);
    } else if (w->verb == IP_PROOF && c->state == CALL_ANSWERED) {
        on_proof(all, c, body);
    }
}

void wf_ip_hear(struct wf_ip_calls *all, const struct wf_ip_path *path,
                const struct wf_ip_word *w, const void *body, size_t n)
{
    if (w->verb == IP_RESET)
        on_reset(all, path, w);
    else if (w->verb == IP_HELLO && n == WEFT_AUTH_MSG)
        on_hello(all, path, w, body);
    else
        about(all, path, w, body, n);
}

/* ---- time ------------------------------------------------------------------------ */

static void say_again(struct wf_ip_calls *all, struct wf_ip_call *c,
                      uint64_t now)
{
    uint64_t wait = (uint64_t)REPEAT_NS << (c->tries < 5 ? c->tries : 5);
    char who[64];

    c->tries++;
    c->say_at = now + (wait < REPEAT_MAX_NS ? wait : REPEAT_MAX_NS);
    if (!c->warned && now >= c->since + all->connect_timeout) {
        c->warned = true;
        wf_ip_name(&c->remote, who, sizeof who);
        all->host->log(all->core, 2,
                       "process %u at %s does not answer yet: it is busy, not "
                       "there, or a firewall is between",
                       c->party->id, who);
    }
    if (c->state == CALL_HELLO)
        say_hello(all, c);
    else
        repeat(all, c);
}

void wf_ip_call_timers(struct wf_ip_calls *all, uint64_t now)
{
    for (struct wf_ip_call *c = all->first, *next; c; c = next) {
        next = c->next;
        if (c->dialled && c->party->state == PARTY_DIALLING && c->say_at <= now)
            say_again(all, c, now);
        else if (c->state == CALL_ANSWERED &&
                 now >= c->since + all->handshake_timeout)
            call_free(all, c);
    }
}

uint64_t wf_ip_call_deadline(const struct wf_ip_calls *all)
{
    uint64_t first = 0;

    for (const struct wf_ip_call *c = all->first; c; c = c->next) {
        if (c->dialled)
            wf_ip_sooner(&first, c->say_at);
        else if (c->state == CALL_ANSWERED)
            wf_ip_sooner(&first, c->since + all->handshake_timeout);
    }
    return first;
}

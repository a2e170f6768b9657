/* Calls over datagrams: records, and being called; call.h has the picture.
 *
 * The listener says something only when it is spoken to. Strangers cost it one
 * call record, at most IP_PENDING_MAX of them, for handshake_timeout.
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

#include "call.h"

#define FAIR_CHANCE_NS 50000000u
enum { NONCE_LINK = 1 };

static uint64_t now_ns(const struct wf_ip_calls *c)
{
    return c->host->now_ns(c->core);
}

static bool wants_code(const struct wf_ip_calls *all)
{
    return all->ops->wants_code && all->ops->wants_code(all->ep);
}

/* ---- records ------------------------------------------------------------- */

struct wf_ip_call *wf_ip_call_new(struct wf_ip_calls *all,
                                   const struct wf_ip_path *path)
{
    struct wf_ip_id *s = wf_ip_id_new(all);
    struct wf_ip_call *c = s ? calloc(1, sizeof *c) : NULL;

    if (!c)
        return NULL;
    s->call = c;
    c->id = s->id;
    c->path = *path;
    c->coded = wants_code(all);
    c->since = now_ns(all);
    c->local = -1;
    wf_ip_from_sockaddr((const struct sockaddr *)&path->to, &c->remote);
    c->next = all->first;
    all->first = c;
    return c;
}

/* Another id: answers to what was said before are not for this attempt. */
bool wf_ip_call_renew(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_id *fresh = wf_ip_id_new(all), *old;

    if (!fresh)
        return false;
    fresh->call = c;
    old = wf_ip_id_find(all, c->id); /* the table may have moved */
    if (old)
        old->call = NULL;
    c->id = fresh->id;
    return true;
}

void wf_ip_call_free(struct wf_ip_calls *all, struct wf_ip_call *c)
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
    if (c->dialled) {
        wf_ip_alive_end(all->watch, &c->alive);
        c->party->calls--;
        all->dialling--;
    }
    if (c->party && c->party->parked == c)
        c->party->parked = NULL;
    free(c);
}

void wf_ip_call_end(struct wf_ip_calls *all)
{
    while (all->first)
        wf_ip_call_free(all, all->first);
    free(all->ids);
    all->ids = NULL;
    all->ids_n = 0;
}

/* End all attempts but one. */
void wf_ip_dial_end(struct wf_ip_calls *all, const struct wf_ip_party *p,
                     const struct wf_ip_call *keep)
{
    for (struct wf_ip_call *c = all->first, *next; c; c = next) {
        next = c->next;
        if (c->party == p && c->dialled && c != keep)
            wf_ip_call_free(all, c);
    }
}

void wf_ip_hang_up(struct wf_ip_calls *all, struct wf_ip_party *p)
{
    wf_ip_dial_end(all, p, NULL);
    if (p->parked)
        wf_ip_call_free(all, p->parked);
}

void wf_ip_call_repeat(struct wf_ip_calls *all, const struct wf_ip_call *c)
{
    if (c->said.verb)
        all->ops->say(all->ep, &c->path, &c->said, c->body, c->body_n);
}

static void say(struct wf_ip_calls *all, struct wf_ip_call *c,
                enum wf_ip_verb verb, const void *body, size_t n)
{
    c->said = (struct wf_ip_word){.verb = verb,
                                  .to = c->remote_id,
                                  .from = c->id,
                                  .room = all->room,
                                  .offer = all->offer,
                                  .coded = c->coded};
    memcpy(c->body, body, n);
    c->body_n = n;
    wf_ip_call_repeat(all, c);
}

void wf_ip_reset(struct wf_ip_calls *all, const struct wf_ip_path *path,
                 uint32_t to, uint32_t unknown)
{
    struct wf_ip_word w = {.verb = IP_RESET,
                           .to = to,
                           .from = unknown,
                           .coded = wants_code(all)};

    if (!all->strangers.pause) {
        wf_ip_budget_spend(&all->strangers, now_ns(all), 1);
        all->ops->say(all->ep, path, &w, NULL, 0);
    }
}

/* Say that we know nothing of this call, and forget it. */
static void turn_away(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_word w = {.verb = IP_RESET,
                           .to = c->remote_id,
                           .from = c->id,
                           .coded = c->coded};

    all->ops->say(all->ep, &c->path, &w, NULL, 0);
    wf_ip_call_free(all, c);
}

void wf_ip_call_agree(struct wf_ip_calls *all, struct wf_ip_call *c,
                      const struct wf_ip_word *w, const void *hello,
                      const void *answer)
{
    struct iovec v[2] = {
        {.iov_base = (void *)(uintptr_t)hello, .iov_len = WEFT_AUTH_MSG},
        {.iov_base = (void *)(uintptr_t)answer, .iov_len = WEFT_AUTH_MSG}};

    if (!WEFT_HAS(all->host, weft_host, mac64))
        return;
    c->coded = c->coded || w->coded;
    c->salt = all->host->mac64(all->core, NONCE_LINK, v, 2);
}

/* ---- up and failed ------------------------------------------------------- */

/* It is said at once: the peer may learn of the end before it is reported. */
static void cannot_open(struct wf_ip_calls *all, struct wf_ip_party *p, int rc)
{
    const char *why = rc == WEFT_ENOMEM ? "no memory to open the link"
                                        : "the link could not be opened";

    all->host->log(all->core, 1, "process %u: %s", p->id, why);
    wf_ip_hang_up(all, p);
    all->ops->failed(p, rc, why);
}

static void link_up(struct wf_ip_calls *all, struct wf_ip_party *p,
                    struct wf_ip_call *c)
{
    struct wf_ip_id *s;
    int rc;

    p->state = PARTY_OPEN; /* up() may tell the core, which may send */
    p->met = true;
    p->leaving = false;
    p->coded = c->coded;
    rc = all->ops->up(all->ep, p, c);
    s = wf_ip_id_find(all, c->id);
    if (rc < 0 || !s) {
        cannot_open(all, p, rc < 0 ? rc : WEFT_ENOMEM);
        return;
    }
    if (p->parked == c)
        p->parked = NULL;
    wf_ip_call_free(all, c); /* the id lives on */
    s->party = p;
    wf_ip_hang_up(all, p);
}

static void accept_call(struct wf_ip_calls *all, struct wf_ip_party *p,
                        struct wf_ip_call *c)
{
    struct wf_ip_word w = {.verb = IP_ACCEPT,
                           .to = c->remote_id,
                           .from = c->id,
                           .room = all->room,
                           .offer = all->offer,
                           .coded = c->coded};
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

void wf_ip_dial_failed(struct wf_ip_calls *all, struct wf_ip_party *p,
                       int status)
{
    char text[1100];

    if (p->parked) { /* the peer reached us though we could not reach it */
        accept_call(all, p, p->parked);
        return;
    }
    snprintf(text, sizeof text, "cannot reach process %u: %.1000s", p->id,
             p->why                  ? p->why
             : status == WEFT_ENOMEM ? "no memory for the call"
                                     : "none of its addresses can be reached "
                                       "from the chosen interfaces");
    all->ops->failed(p, status, text);
}

/* This attempt will not work. */
void wf_ip_call_failed(struct wf_ip_calls *all, struct wf_ip_call *c,
                        int status, const char *what)
{
    struct wf_ip_party *p = c->party;

    add_reason(all, p, c, what);
    wf_ip_call_free(all, c);
    if (p->calls == 0 && p->state == PARTY_DIALLING)
        wf_ip_dial_failed(all, p, status);
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
        wf_ip_call_failed(all, c,
                          error == ECONNREFUSED ? WEFT_EPEER : WEFT_ELINK,
                          strerror(error));
        return true;
    }
    return false;
}

/* ---- one step ------------------------------------------------------------ */

/* One step of the handshake over the message that has come, if any. Returns
 * auth_step()'s answer; *whom: who it is, or whom we want. */
int wf_ip_call_step(struct wf_ip_calls *all, struct wf_ip_call *c, const void *in,
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

/* ---- being called -------------------------------------------------------- */

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
    wf_ip_call_free(all, oldest);
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

/* A process that calls us runs; so if it does not answer our own call, that
 * call is lost on the way. */
static void note_caller(struct wf_ip_calls *all, const struct wf_ip_path *path)
{
    for (struct wf_ip_call *c = all->first; c && all->dialling; c = c->next)
        if (c->dialled && wf_ip_same_path(&c->path, path))
            wf_ip_alive_runs(all->watch, &c->alive, now_ns(all));
}

/* There is no memory for a caller. It repeats itself for as long as that may
 * pass, and then it is turned away, for it cannot know the reason. */
static void put_off_caller(struct wf_ip_calls *all,
                           const struct wf_ip_path *path,
                           const struct wf_ip_word *w)
{
    if (!all->short_since)
        all->host->log(all->core, 1, "callers have to wait: out of memory");
    if (!wf_ip_short_again(&all->short_since, now_ns(all)))
        wf_ip_reset(all, path, w->from, 0);
}

static void on_hello(struct wf_ip_calls *all, const struct wf_ip_path *path,
                     const struct wf_ip_word *w, const void *body)
{
    struct wf_ip_call *c;
    uint32_t whom = 0;
    int rc;

    note_caller(all, path);
    c = known_caller(all, path, w->from);
    if (c) {
        if (c->state == CALL_ANSWERED)
            wf_ip_call_repeat(all, c);
        return;
    }
    if (!make_room(all))
        return;
    c = wf_ip_call_new(all, path);
    if (!c) {
        put_off_caller(all, path, w);
        return;
    }
    c->remote_id = w->from;
    c->room = w->room;
    c->offer = w->offer;
    c->state = CALL_ANSWERED;
    all->pending++;
    wf_ip_sooner(&all->forget_at, c->since + all->handshake_timeout);
    if (WEFT_HAS(all->host, weft_host, mac64))
        c->coded = c->coded || w->coded; /* the answer says so */
    rc = wf_ip_call_step(all, c, body, WEFT_AUTH_MSG, &whom);
    if (rc == WEFT_EAGAIN)
        wf_ip_call_agree(all, c, w, body, c->body);
    else
        wf_ip_call_free(all, c);
    if (rc == WEFT_ENOMEM)
        put_off_caller(all, path, w);
    else
        all->short_since = 0;
}

/* Or keep it for the end of the pause. */
static void take_hello(struct wf_ip_calls *all, const struct wf_ip_path *path,
                       const struct wf_ip_word *w, const void *body)
{
    struct wf_ip_stranger *s;

    if (!all->strangers.pause) {
        on_hello(all, path, w, body);
        wf_ip_budget_spend(&all->strangers, now_ns(all), 1);
    } else if (all->waits < IP_BUNDLE) { /* else he calls again */
        s = &all->waiting[all->waits++];
        s->path = *path;
        s->word = *w;
        memcpy(s->body, body, sizeof s->body);
    }
}

/* The pause is over. */
void wf_ip_call_bundle(struct wf_ip_calls *all, uint64_t now)
{
    unsigned n = all->waits;

    all->waits = 0;
    all->strangers.pause = 0;
    for (unsigned i = 0; i < n; i++)
        on_hello(all, &all->waiting[i].path, &all->waiting[i].word,
                 all->waiting[i].body);
    wf_ip_budget_spend(&all->strangers, now, n);
}

static void park(struct wf_ip_calls *all, struct wf_ip_party *p,
                 struct wf_ip_call *c)
{
    if (p->parked)
        wf_ip_call_free(all, p->parked);
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
        turn_away(all, c);
        return;
    }
    if (p->state == PARTY_OPEN && p->leaving)
        all->ops->left(p); /* left, and came back */
    if (p->state == PARTY_DIALLING && all->me < p->id)
        park(all, p, c);
    else if (p->state == PARTY_OPEN || p->state == PARTY_BROKEN)
        /* OPEN: he had called before he took our call, and has given up */
        wf_ip_call_free(all, c);
    else
        accept_call(all, p, c);
}

static void on_proof(struct wf_ip_calls *all, struct wf_ip_call *c,
                     const void *body)
{
    uint32_t whom = 0;
    int rc = wf_ip_call_step(all, c, body, WEFT_AUTH_MSG, &whom);

    if (rc == WEFT_EAGAIN)
        return;
    if (rc != WEFT_OK) {
        turn_away(all, c);
        return;
    }
    all->pending--;
    c->state = CALL_PARKED;
    met(all, c, whom);
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
        wf_ip_turned_away(all, c);
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
        struct wf_ip_word accept = {.verb = IP_ACCEPT,
                                    .to = w->from,
                                    .from = w->to,
                                    .room = all->room,
                                    .offer = all->offer,
                                    .coded = s->party->coded};
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
        wf_ip_on_answer(all, c, w, body);
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
        take_hello(all, path, w, body);
    else
        about(all, path, w, body, n);
}

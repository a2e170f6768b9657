/* Calls over datagrams: performs the handshake, and handles calls of others;
 * call.h has the picture.
 *
 * The listener sends only answers. An unknown caller costs it one call record,
 * for handshake_timeout; there are at most IP_PENDING_MAX of them.
 *
 * SIMULTANEOUS CONNECT  When two processes call each other the side with the
 * lower number parks the call until its own attempt is decided; the other
 * accepts it and drops its own. Nothing but the handshake travels before
 * ACCEPT.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

enum { NONCE_LINK = 1 /* of mac64(); 2: plugins/udp-reliable/seal.c */ };

/* ---- words -------------------------------------------------------------- */

void wf_ip_call_resend(struct wf_ip_calls *all, const struct wf_ip_call *c)
{
    if (c->last_word.verb)
        all->ops->say(all->ep, &c->path, &c->last_word, c->body, c->body_n);
}

static void send_word(struct wf_ip_calls *all, struct wf_ip_call *c,
                      enum wf_ip_verb verb, const void *body, size_t n)
{
    c->last_word = (struct wf_ip_word){.verb = verb,
                                       .to = c->remote_id,
                                       .from = c->id,
                                       .room = all->room,
                                       .offer = all->offer,
                                       .coded = c->coded};
    WEFT_ASSERT(n <= sizeof c->body);
    memcpy(c->body, body, n);
    c->body_n = n;
    wf_ip_call_resend(all, c);
}

void wf_ip_send_reset(struct wf_ip_calls *all, const struct wf_ip_path *path,
                 uint32_t to, uint32_t unknown)
{
    struct wf_ip_word w = {.verb = IP_RESET,
                           .to = to,
                           .from = unknown,
                           .coded = wf_ip_calls_want_code(all)};

    if (!all->caller_budget.pause) {
        wf_ip_budget_spend(&all->caller_budget, wf_ip_calls_now(all), 1);
        all->ops->say(all->ep, path, &w, NULL, 0);
    }
}

/* Tells the caller that its call is not known here, and forgets it. */
static void turn_away(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_word w = {.verb = IP_RESET,
                           .to = c->remote_id,
                           .from = c->id,
                           .coded = c->coded,
                           .loc = c->party ? c->party->ip->loc : NULL};

    all->ops->say(all->ep, &c->path, &w, NULL, 0);
    wf_ip_call_free(all, c);
}

void wf_ip_call_agree_codes(struct wf_ip_calls *all, struct wf_ip_call *c,
                            const struct wf_ip_word *w, const void *hello,
                            const void *answer)
{
    struct iovec v[2] = {
        {.iov_base = (void *)(uintptr_t)hello, .iov_len = WEFT_AUTH_MSG},
        {.iov_base = (void *)(uintptr_t)answer, .iov_len = WEFT_AUTH_MSG}};

    if (!WEFT_HAS(all->host, weft_host, mac64))
        return;
    c->coded = c->coded || w->coded;
    c->salt =
        wf_ip_mac64((struct wf_ip_key){all->host, all->core, NULL, c->auth},
                    NONCE_LINK, v, 2);
}

/* ---- up and failed ------------------------------------------------------- */

/* Logs the cause at once: the peer may learn of the end before the core
 * does. */
static void report_open_failure(struct wf_ip_calls *all, struct wf_ip_party *p,
                                int rc)
{
    const char *why = rc == WEFT_ENOMEM ? "no memory to open the link"
                                        : "the link could not be opened";

    all->host->log(all->core, 1, "process %u: %s", p->ip->id, why);
    wf_ip_hang_up(all, p);
    all->ops->failed(p, rc, why);
}

static void open_link(struct wf_ip_calls *all, struct wf_ip_party *p,
                      struct wf_ip_call *c)
{
    struct wf_ip_id *s;
    int rc;

    WEFT_ASSERT(p->ip->state != PEER_OPEN);
    p->ip->state = PEER_OPEN; /* up() may tell the core, which may send */
    p->ip->was_connected = true;
    p->ip->leaving = false;
    p->coded = c->coded;
    rc = all->ops->up(all->ep, p, c);
    s = wf_ip_find_id(all, c->id);
    if (rc < 0 || !s) {
        report_open_failure(all, p, rc < 0 ? rc : WEFT_ENOMEM);
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
                           .coded = c->coded,
                           .loc = p->ip->loc};
    struct wf_ip_path path = c->path;

    all->ops->say(all->ep, &path, &w, NULL, 0);
    open_link(all, p, c);
}

/* Adds to p->why why the attempt c failed. */
static void add_reason(struct wf_ip_calls *all, struct wf_ip_party *p,
                       const struct wf_ip_call *c, const char *what)
{
    char to[64], from[64] = "any address", *text;
    size_t had = p->why ? strlen(p->why) : 0, n;

    wf_ip_print_address(&c->remote, to, sizeof to);
    if (c->local >= 0)
        wf_ip_print_address(&all->ip->use[c->local].addr, from, sizeof from);
    n = had + strlen(to) + strlen(from) + strlen(what) + 16;
    text = realloc(p->why, n);
    if (!text)
        return;
    snprintf(text + had, n - had, "%s%s -> %s: %s", had ? "; " : "", from, to,
             what);
    p->why = text;
}

void wf_ip_fail_dialling(struct wf_ip_calls *all, struct wf_ip_party *p,
                         int status)
{
    char text[1100];

    if (p->parked) { /* the peer's own call has come through */
        accept_call(all, p, p->parked);
        return;
    }
    snprintf(text, sizeof text, "cannot reach process %u: %.1000s", p->ip->id,
             p->why                  ? p->why
             : status == WEFT_ENOMEM ? "no memory for the call"
                                     : "none of its addresses can be reached "
                                       "from the chosen interfaces");
    all->ops->failed(p, status, text);
}

void wf_ip_call_fail(struct wf_ip_calls *all, struct wf_ip_call *c, int status,
                     const char *what)
{
    struct wf_ip_party *p = c->party;

    add_reason(all, p, c, what);
    wf_ip_call_free(all, c);
    if (p->calls == 0 && p->ip->state == PEER_DIALLING)
        wf_ip_fail_dialling(all, p, status);
}

bool wf_ip_call_handle_error(struct wf_ip_calls *all,
                             const struct wf_ip_path *to, int error)
{
    for (struct wf_ip_call *c = all->first; c; c = c->next) {
        struct wf_ip_party *p = c->party;
        if (!c->dialled || !wf_ip_is_same_path(&c->path, to) ||
            error == EMSGSIZE)
            continue;
        if (error == ECONNREFUSED && !p->ip->was_connected &&
            wf_ip_calls_now(all) < p->until)
            return true; /* it has not started yet: it is called again */
        wf_ip_call_fail(all, c, error == ECONNREFUSED ? WEFT_EPEER : WEFT_ELINK,
                        strerror(error));
        return true;
    }
    return false;
}

/* ---- one step ------------------------------------------------------------ */

int wf_ip_call_step(struct wf_ip_calls *all, struct wf_ip_call *c,
                    const void *in, size_t n, uint32_t *whom)
{
    enum wf_ip_verb verb = !c->dialled ? IP_ANSWER : in ? IP_PROOF : IP_HELLO;
    uint8_t out[WEFT_AUTH_MSG];
    size_t out_n = 0;
    int rc =
        all->host->auth_step(all->core, &c->auth, in, n, out, &out_n, whom);
    char who[64];

    if (out_n) /* also when it is a refusal */
        send_word(all, c, verb, out, out_n);
    if (rc == WEFT_OK || rc == WEFT_EAGAIN)
        return rc;
    all->refused++;
    wf_ip_print_address(&c->remote, who, sizeof who);
    all->host->log(all->core, rc == WEFT_EAUTH && !all->said_auth ? 1 : 3,
                   "%s %s: %s", c->dialled ? "call to" : "refused a call from",
                   who, wf_ip_refusal_text(rc));
    all->said_auth = all->said_auth || rc == WEFT_EAUTH;
    return rc;
}

/* ---- being called -------------------------------------------------------- */

/* Makes room for one more unknown caller, by forgetting the oldest if it has
 * had some time. Returns false if there is none. */
static bool make_room(struct wf_ip_calls *all)
{
    struct wf_ip_call *oldest = NULL;

    if (all->pending < IP_PENDING_MAX)
        return true;
    for (struct wf_ip_call *c = all->first; c; c = c->next)
        if (c->state == CALL_ANSWERED && (!oldest || c->since < oldest->since))
            oldest = c;
    if (!oldest || wf_ip_calls_now(all) - oldest->since < IP_FAIR_CHANCE_NS)
        return false;
    wf_ip_call_free(all, oldest);
    return true;
}

static struct wf_ip_call *find_caller(struct wf_ip_calls *all,
                                      const struct wf_ip_path *path,
                                      uint32_t remote_id)
{
    struct wf_ip_call *c = all->first;

    while (c && (c->dialled || c->remote_id != remote_id ||
                 !wf_ip_is_same_path(&c->path, path)))
        c = c->next;
    return c;
}

/* Notes that the process at the other end runs, for it calls; so if it does not
 * answer the call from here, that call is lost on the way. */
static void note_caller(struct wf_ip_calls *all, const struct wf_ip_path *path)
{
    for (struct wf_ip_call *c = all->first; c && all->dialling; c = c->next)
        if (c->dialled && wf_ip_is_same_path(&c->path, path))
            wf_ip_alive_note_running(all->watch, &c->alive,
                                     wf_ip_calls_now(all));
}

/* Handles that there is no memory for a caller. As long as the shortage may
 * pass nothing is sent, and the caller repeats its hello; then it is turned
 * away, for it cannot know the reason. */
static void put_off_caller(struct wf_ip_calls *all,
                           const struct wf_ip_path *path,
                           const struct wf_ip_word *w)
{
    if (!all->shortage_since)
        all->host->log(all->core, 1, "callers have to wait: out of memory");
    if (!wf_ip_retry_shortage(&all->shortage_since, wf_ip_calls_now(all)))
        wf_ip_send_reset(all, path, w->from, 0);
}

static void answer_hello(struct wf_ip_calls *all, const struct wf_ip_path *path,
                         const struct wf_ip_word *w, const void *body)
{
    struct wf_ip_call *c;
    uint32_t whom = 0;
    int rc;

    note_caller(all, path);
    c = find_caller(all, path, w->from);
    if (c) {
        if (c->state == CALL_ANSWERED)
            wf_ip_call_resend(all, c);
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
    wf_ip_set_sooner(&all->next_forget_at, c->since + all->handshake_timeout);
    if (WEFT_HAS(all->host, weft_host, mac64))
        c->coded = c->coded || w->coded; /* the answer tells the caller */
    rc = wf_ip_call_step(all, c, body, WEFT_AUTH_MSG, &whom);
    if (rc == WEFT_EAGAIN)
        wf_ip_call_agree_codes(all, c, w, body, c->body);
    else
        wf_ip_call_free(all, c);
    if (rc == WEFT_ENOMEM)
        put_off_caller(all, path, w);
    else
        all->shortage_since = 0;
}

/* Answers a hello, or keeps it for the end of the pause. */
static void answer_or_keep_hello(struct wf_ip_calls *all,
                                 const struct wf_ip_path *path,
                                 const struct wf_ip_word *w, const void *body)
{
    struct wf_ip_kept_hello *s;

    if (!all->caller_budget.pause) {
        answer_hello(all, path, w, body);
        wf_ip_budget_spend(&all->caller_budget, wf_ip_calls_now(all), 1);
    } else if (all->kept < IP_BUNDLE) { /* else the caller repeats it */
        s = &all->kept_hello[all->kept++];
        s->path = *path;
        s->word = *w;
        memcpy(s->body, body, sizeof s->body);
    }
}

void wf_ip_call_answer_kept(struct wf_ip_calls *all, uint64_t now)
{
    unsigned n = all->kept;

    all->kept = 0;
    all->caller_budget.pause = 0;
    for (unsigned i = 0; i < n; i++)
        answer_hello(all, &all->kept_hello[i].path, &all->kept_hello[i].word,
                     all->kept_hello[i].body);
    wf_ip_budget_spend(&all->caller_budget, now, n);
}

static void park_call(struct wf_ip_calls *all, struct wf_ip_party *p,
                      struct wf_ip_call *c)
{
    if (p->parked)
        wf_ip_call_free(all, p->parked);
    p->parked = c;
    c->party = p;
}

/* Accepts, parks or drops the call of a caller that is authenticated. */
static void admit_caller(struct wf_ip_calls *all, struct wf_ip_call *c,
                         uint32_t id)
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
    if (p->ip->state == PEER_OPEN && p->ip->leaving)
        all->ops->left(p); /* it had left, and came back */
    if (p->ip->state == PEER_DIALLING &&
        wf_ip_call_stands(all->host, all->core, all->me, p->ip))
        park_call(all, p, c);
    else if (p->ip->state == PEER_OPEN || p->ip->state == PEER_BROKEN) {
        /* OPEN: the peer called before it accepted this side's call, or it has
         * dropped the link */
        if (p->ip->state == PEER_OPEN)
            all->ops->doubted(p);
        wf_ip_call_free(all, c);
    }
    else
        accept_call(all, p, c);
}

static void handle_proof(struct wf_ip_calls *all, struct wf_ip_call *c,
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
    admit_caller(all, c, whom);
}

static void handle_reset(struct wf_ip_calls *all, const struct wf_ip_path *path,
                         const struct wf_ip_word *w)
{
    struct wf_ip_id *s = wf_ip_find_id(all, w->to);
    struct wf_ip_call *c = s ? s->call : NULL;

    if (s && s->party)
        all->ops->forgotten(s->party, w->from);
    else if (c && c->dialled && c->remote_id == w->from &&
             wf_ip_is_same_path(&c->path, path))
        wf_ip_handle_rejection(all, c);
    else
        all->foreign_packets++;
}

/* Handles a word that is addressed to a link id. */
static void handle_word_to_id(struct wf_ip_calls *all,
                              const struct wf_ip_path *path,
                              const struct wf_ip_word *w, const void *body,
                              size_t n)
{
    struct wf_ip_id *s = wf_ip_find_id(all, w->to);
    struct wf_ip_call *c = s ? s->call : NULL;

    if (w->verb == IP_PROOF && s && s->party) { /* the ACCEPT was lost */
        struct wf_ip_word accept = {.verb = IP_ACCEPT,
                                    .to = w->from,
                                    .from = w->to,
                                    .room = all->room,
                                    .offer = all->offer,
                                    .coded = s->party->coded,
                                    .loc = s->party->ip->loc};
        all->ops->say(all->ep, path, &accept, NULL, 0);
    } else if (w->verb == IP_PROOF && !s) {
        wf_ip_send_reset(all, path, w->from, w->to);
    } else if (!c || !wf_ip_is_same_path(&c->path, path)) {
        all->foreign_packets++;
    } else if (w->verb == IP_ACCEPT) {
        if (c->dialled && c->state == CALL_PROOF &&
            c->party->ip->state == PEER_DIALLING)
            open_link(all, c->party, c);
    } else if (n != WEFT_AUTH_MSG) {
        all->foreign_packets++;
    } else if (w->verb == IP_ANSWER && c->dialled && c->state == CALL_HELLO) {
        wf_ip_handle_answer(all, c, w, body);
    } else if (w->verb == IP_PROOF && c->state == CALL_ANSWERED) {
        handle_proof(all, c, body);
    }
}

void wf_ip_take_word(struct wf_ip_calls *all, const struct wf_ip_path *path,
                const struct wf_ip_word *w, const void *body, size_t n)
{
    if (w->verb == IP_RESET)
        handle_reset(all, path, w);
    else if (w->verb == IP_HELLO && n == WEFT_AUTH_MSG)
        answer_or_keep_hello(all, path, w, body);
    else
        handle_word_to_id(all, path, w, body, n);
}

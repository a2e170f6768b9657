/* Calls over datagrams: calls peers, and runs the timers; call.h has the
 * picture.
 *
 * The dialler repeats its last word until it is answered: a process that
 * computes answers late, and that is no failure. Its host answers meanwhile
 * (alive.h); a host that has answered and falls silent for `vanished` has
 * stopped. A host that never answered anything is not there, or behind a
 * firewall: the peer is then given up after `connect_timeout`.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

#define REPEAT_NS     10000000u
#define REPEAT_MAX_NS 200000000u
enum {
    RETRIES = 6, /* rejections after which a call fails */
    MS = 1000000,
    WARNED = 6 /* a warning comes after connect_timeout / WARNED */
};

static void send_hello(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_party *p = c->party;
    uint32_t whom = p->ip->id;
    int rc = WEFT_EAGAIN;
    char text[100];

    if (c->last_word.verb)
        wf_ip_call_resend(all, c);
    else
        rc = wf_ip_call_step(all, c, NULL, 0, &whom);
    if (rc == WEFT_EAGAIN)
        return;
    snprintf(text, sizeof text, "cannot call process %u: %s", p->ip->id,
             wf_ip_refusal_text(rc));
    all->ops->failed(p, rc, text);
}

/* Starts an attempt to an address. Returns WEFT_ENOMEM if there is no memory
 * for it, WEFT_ELINK if no socket has that address family. */
static int try_address(struct wf_ip_calls *all, struct wf_ip_party *p,
                       const struct wf_ip_candidate *at, uint64_t when)
{
    struct wf_ip_path path = {.socket = at->local};
    struct wf_ip_call *c;

    for (int i = 0; i < all->ip->n && path.socket < 0; i++)
        if (all->ip->use[i].addr.family == at->to.family)
            path.socket = i;
    if (path.socket < 0)
        return WEFT_ELINK;
    path.to_len = wf_ip_to_sockaddr(&at->to, &path.to);
    c = wf_ip_call_new(all, &path);
    if (!c)
        return WEFT_ENOMEM;
    c->party = p;
    c->dialled = true;
    c->local = at->local;
    c->send_at = when;
    wf_ip_alive_begin(&c->alive, when);
    c->alive.within = all->connect_timeout;
    p->calls++;
    all->dialling++;
    return WEFT_OK;
}

void wf_ip_dial_party(struct wf_ip_calls *all, struct wf_ip_party *p)
{
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    uint64_t now = wf_ip_calls_now(all);
    int n = wf_ip_find_candidates(all->ip, p->ip->book, at),
        status = WEFT_ELINK;

    p->ip->state = PEER_DIALLING;
    p->until = all->start ? now + all->start : 0;
    free(p->why);
    p->why = NULL;
    for (int i = 0; i < n; i++)
        if (try_address(all, p, &at[i], now + (uint64_t)i * IP_STAGGER_NS) ==
            WEFT_ENOMEM)
            status = WEFT_ENOMEM;
    if (p->calls == 0)
        wf_ip_fail_dialling(all, p, status);
    else
        wf_ip_calls_run_timers(all, now);
}

void wf_ip_handle_answer(struct wf_ip_calls *all, struct wf_ip_call *c,
                         const struct wf_ip_word *w, const void *body)
{
    uint32_t whom = c->party->ip->id;
    int rc;

    c->remote_id = w->from;
    c->room = w->room;
    c->offer = w->offer;
    wf_ip_alive_note_answer(&c->alive, wf_ip_calls_now(all));
    wf_ip_call_agree_codes(all, c, w, c->body, body);
    rc = wf_ip_call_step(all, c, body, WEFT_AUTH_MSG, &whom);
    if (rc == WEFT_OK) {
        c->state = CALL_PROOF;
        c->tries = 0;
        c->send_at = wf_ip_calls_now(all) + REPEAT_NS;
        wf_ip_end_attempts(all, c->party, c); /* this one becomes the link */
    } else if (rc != WEFT_EAGAIN) {
        wf_ip_call_fail(all, c,
                        rc == WEFT_EAUTH || rc == WEFT_ENOMEM ? rc : WEFT_ELINK,
                        wf_ip_refusal_text(rc));
    }
}

void wf_ip_handle_rejection(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    if (++c->rejections > RETRIES) {
        wf_ip_call_fail(all, c, WEFT_ELINK, "turned away");
        return;
    }
    if (c->state != CALL_PROOF)
        return;
    if (!wf_ip_call_renew_id(all, c)) {
        wf_ip_call_fail(all, c, WEFT_ENOMEM, "out of memory");
        return;
    }
    c->state = CALL_HELLO; /* from the start */
    c->last_word.verb = 0;
    c->remote_id = 0;
    c->send_at = wf_ip_calls_now(all) + ((uint64_t)REPEAT_NS << c->rejections);
}

/* A shorter `within` than that of the call makes it ask more often. */
uint64_t wf_ip_calls_silent_ns(struct wf_ip_calls *all,
                               const struct wf_ip_party *p, uint64_t within)
{
    uint64_t least = UINT64_MAX, now = wf_ip_calls_now(all);

    for (struct wf_ip_call *c = all->first; c; c = c->next) {
        uint64_t silent;
        if (!c->dialled || c->party != p || now < c->since)
            continue;
        c->alive.within = all->connect_timeout;
        wf_ip_set_sooner(&c->alive.within, within);
        silent = wf_ip_alive_silent_ns(all->watch, &c->alive, now);
        least = silent < least ? silent : least;
    }
    return least;
}

/* ---- time ---------------------------------------------------------------- */

/* The context of ask_host(). */
struct dialled_call {
    struct wf_ip_calls *all;
    struct wf_ip_call *call;
};

/* Asks only the host: the peer itself is called again and again. */
static void ask_host(void *ctx, uint64_t now)
{
    const struct dialled_call *d = ctx;
    struct wf_ip_call *c = d->call;

    wf_ip_alive_ask_host(d->all->watch, &c->alive, now, &c->remote,
                    &d->all->ip->use[c->path.socket].addr);
}

/* Asks and judges the host. Returns false if the call has failed: then it is
 * freed, and others may be, too. */
static bool check_call(struct wf_ip_calls *all, struct wf_ip_call *c,
                       uint64_t now)
{
    struct dialled_call d = {all, c};
    uint64_t unknown;
    char why[IP_REASON_BYTES];

    if (wf_ip_alive_check(all->watch, &c->alive, now, ask_host, &d, why)) {
        unknown = wf_ip_alive_unknown_ns(all->watch, &c->alive, now);
        if (unknown < all->connect_timeout || now < c->party->until)
            return true;
        snprintf(why, sizeof why,
                 "neither it nor its host has answered anything for %llu ms "
                 "(connect_timeout): is the host up, and is no firewall "
                 "between?",
                 (unsigned long long)(unknown / MS));
    }
    wf_ip_call_fail(all, c, WEFT_ELINK, why);
    return false;
}

static void repeat_word(struct wf_ip_calls *all, struct wf_ip_call *c,
                        uint64_t now)
{
    uint64_t wait = (uint64_t)REPEAT_NS << (c->tries < 5 ? c->tries : 5);
    char who[64];

    c->tries++;
    c->send_at = now + (wait < REPEAT_MAX_NS ? wait : REPEAT_MAX_NS);
    if (!c->warned && now >= c->since + all->connect_timeout / WARNED) {
        c->warned = true;
        wf_ip_print_address(&c->remote, who, sizeof who);
        all->host->log(all->core, 2,
                       "process %u at %s does not answer yet: it is busy, not "
                       "there, or a firewall is between",
                       c->party->ip->id, who);
    }
    if (c->state == CALL_HELLO)
        send_hello(all, c);
    else
        wf_ip_call_resend(all, c);
}

static bool is_due(const struct wf_ip_call *c, uint64_t now)
{
    return c->dialled && c->party->ip->state == PEER_DIALLING &&
           c->send_at <= now;
}

/* While callers only wait to be forgotten the list is not searched each
 * time. */
void wf_ip_calls_run_timers(struct wf_ip_calls *all, uint64_t now)
{
    if (all->caller_budget.pause && now >= all->caller_budget.pause)
        wf_ip_call_answer_kept(all, now);
    if (!all->dialling && (!all->next_forget_at || now < all->next_forget_at))
        return;
    all->next_forget_at = 0;
    for (struct wf_ip_call *c = all->first, *next; c; c = next) {
        next = c->next;
        if (is_due(c, now)) {
            if (check_call(all, c, now))
                repeat_word(all, c, now);
            else
                next = all->first;
        } else if (c->state == CALL_ANSWERED &&
                   now >= c->since + all->handshake_timeout) {
            wf_ip_call_free(all, c);
        } else if (c->state == CALL_ANSWERED) {
            wf_ip_set_sooner(&all->next_forget_at,
                         c->since + all->handshake_timeout);
        }
    }
}

uint64_t wf_ip_calls_deadline(const struct wf_ip_calls *all)
{
    uint64_t first = all->caller_budget.pause;

    for (const struct wf_ip_call *c = all->first; c; c = c->next) {
        if (c->dialled)
            wf_ip_set_sooner(&first, c->send_at);
        else if (c->state == CALL_ANSWERED)
            wf_ip_set_sooner(&first, c->since + all->handshake_timeout);
    }
    return first;
}

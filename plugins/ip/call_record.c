/* Calls over datagrams: creates and frees the records of calls; call.h has the
 * picture.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "call.h"

struct wf_ip_call *wf_ip_call_new(struct wf_ip_calls *all,
                                  const struct wf_ip_path *path)
{
    struct wf_ip_id *s = wf_ip_new_id(all);
    struct wf_ip_call *c = s ? calloc(1, sizeof *c) : NULL;

    if (!c)
        return NULL;
    s->call = c;
    c->id = s->id;
    c->path = *path;
    c->coded = wf_ip_calls_want_code(all);
    c->since = wf_ip_calls_now(all);
    c->local = -1;
    wf_ip_from_sockaddr((const struct sockaddr *)&path->to, &c->remote);
    c->next = all->first;
    all->first = c;
    return c;
}

bool wf_ip_call_renew_id(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_id *fresh = wf_ip_new_id(all), *old;

    if (!fresh)
        return false;
    fresh->call = c;
    old = wf_ip_find_id(all, c->id); /* the table may have moved */
    if (old)
        old->call = NULL;
    c->id = fresh->id;
    return true;
}

void wf_ip_call_free(struct wf_ip_calls *all, struct wf_ip_call *c)
{
    struct wf_ip_id *s = wf_ip_find_id(all, c->id);
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

void wf_ip_calls_init(struct wf_ip_calls *all, struct wf_ip_endpoint *here,
                      const struct wf_ip_call_ops *ops,
                      struct wf_ip_watch *watch)
{
    *all = (struct wf_ip_calls){.ep = (weft_ep *)(void *)here,
                                .ops = ops,
                                .host = here->host,
                                .core = here->core,
                                .ip = here,
                                .me = here->me,
                                .start = here->start,
                                .watch = watch};
}

void wf_ip_break_party(struct wf_ip_party *p, int status, const char *why)
{
    wf_ip_break_link(p->ip, status, "%s", why);
}

void wf_ip_calls_free(struct wf_ip_calls *all)
{
    while (all->first)
        wf_ip_call_free(all, all->first);
    free(all->ids);
    all->ids = NULL;
    all->ids_n = 0;
}

void wf_ip_end_attempts(struct wf_ip_calls *all, const struct wf_ip_party *p,
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
    wf_ip_end_attempts(all, p, NULL);
    if (p->parked)
        wf_ip_call_free(all, p->parked);
}

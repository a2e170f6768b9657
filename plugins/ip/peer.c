/* The peers of an endpoint: peer.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Returns the peer of the transport that this is the first member of. */
static weft_peer *whole_peer(struct wf_ip_peer *p)
{
    return (weft_peer *)(void *)p;
}

/* ---- peers that are due -------------------------------------------------- */

void wf_ip_mark_due(struct wf_ip_peer *p)
{
    struct wf_ip_endpoint *here = p->endpoint;

    if (p->due)
        return;
    p->due = true;
    p->due_next = NULL;
    *here->due_last = p;
    here->due_last = &p->due_next;
}

static void unmark_due(struct wf_ip_peer *p)
{
    struct wf_ip_endpoint *here = p->endpoint;
    struct wf_ip_peer **at = &here->due;

    while (*at && *at != p)
        at = &(*at)->due_next;
    if (!*at)
        return;
    *at = p->due_next;
    if (here->due_last == &p->due_next)
        here->due_last = at;
    p->due = false;
}

/* Takes the whole list: a peer that is marked from now on waits for the next
 * call. */
int wf_ip_serve_due(struct wf_ip_endpoint *here)
{
    struct wf_ip_peer *list = here->due, *p;
    int n = 0;

    here->due = NULL;
    here->due_last = &here->due;
    while ((p = list)) {
        list = p->due_next;
        p->due = false;
        here->transport->serve_peer(whole_peer(p));
        n++;
    }
    return n;
}

/* ---- links that break ---------------------------------------------------- */

void wf_ip_break_link(struct wf_ip_peer *p, int status, const char *fmt, ...)
{
    char text[1200];
    va_list ap;

    if (p->state == PEER_BROKEN)
        return; /* the first cause counts */
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    p->state = PEER_BROKEN;
    p->why_status = status;
    free(p->why);
    p->why = strdup(text);
    wf_ip_mark_due(p);
}

void wf_ip_break_gone(struct wf_ip_peer *p, const struct sockaddr_storage *at,
                      int status, const char *what)
{
    struct wf_ip_addr a;
    char where[64];

    wf_ip_from_sockaddr((const struct sockaddr *)at, &a);
    wf_ip_print_address(&a, where, sizeof where);
    wf_ip_break_link(p, status, "process %u at %s %s: %s", p->id, where,
                     status == WEFT_EPEER ? "has ended" : "broke off", what);
}

void wf_ip_report_down(struct wf_ip_peer *p)
{
    const struct wf_ip_endpoint *here = p->endpoint;

    p->reported = true;
    p->want_ready = false;
    here->host->peer_down(here->core, p->loc, p->why_status,
                          p->why ? p->why : "out of memory");
}

const char *wf_ip_refusal_text(int rc)
{
    return rc == WEFT_EAUTH
               ? "wrong job key: is core.job_key or core.job_key_file "
                 "the same on both sides?"
           : rc == WEFT_EUNREACH ? "another process of this job"
           : rc == WEFT_EPROTO   ? "not a Weft process"
           : rc == WEFT_ENOMEM   ? "out of memory"
                                 : "handshake failed";
}

/* ---- the table ----------------------------------------------------------- */

/* Makes the table long enough for process id. EINVAL: it has a peer already. */
static int prepare_slot(struct wf_ip_endpoint *here, uint32_t id)
{
    weft_peer **grown;
    uint32_t n = here->peers ? here->peers : 16;

    if (id == UINT32_MAX)
        return WEFT_EINVAL;
    if (id < here->peers)
        return here->peer[id] ? WEFT_EINVAL : WEFT_OK;
    while (n <= id)
        n = n > UINT32_MAX / 2 ? UINT32_MAX : n * 2;
    grown = realloc(here->peer, n * sizeof *grown);
    if (!grown)
        return WEFT_ENOMEM;
    memset(grown + here->peers, 0, (n - here->peers) * sizeof *grown);
    here->peer = grown;
    here->peers = n;
    return WEFT_OK;
}

int wf_ip_peer_add(weft_ep *ep, weft_loc *loc, uint32_t id, const void *addr,
                   size_t len, weft_peer **out)
{
    struct wf_ip_endpoint *here = (struct wf_ip_endpoint *)ep;
    struct wf_ip_book book;
    struct wf_ip_peer *p;
    int rc = wf_ip_unpack_book(addr, len, &book);

    if (rc == WEFT_OK)
        rc = prepare_slot(here, id);
    if (rc < 0)
        return rc;
    p = calloc(1, here->transport->peer_bytes);
    if (!p || !(p->book = malloc(sizeof book))) {
        free(p);
        return WEFT_ENOMEM;
    }
    *p->book = book;
    p->endpoint = here;
    p->loc = loc;
    p->id = id;
    here->transport->init_peer(ep, whole_peer(p));
    here->peer[id] = *out = whole_peer(p);
    return WEFT_OK;
}

void wf_ip_free_peer(struct wf_ip_peer *p)
{
    unmark_due(p);
    p->endpoint->peer[p->id] = NULL;
    free(p->book);
    free(p->why);
    free(p);
}

/* ---- parting ------------------------------------------------------------- */

int wf_ip_peer_del(weft_peer *peer, int abrupt)
{
    const struct wf_ip_transport *t =
        ((const struct wf_ip_peer *)peer)->endpoint->transport;

    if (!abrupt && !t->has_parted(peer))
        return WEFT_EAGAIN;
    t->free_peer(peer);
    return WEFT_OK;
}

int wf_ip_drain(weft_ep *ep)
{
    struct wf_ip_endpoint *here = (struct wf_ip_endpoint *)ep;
    int rc = WEFT_OK;

    for (uint32_t i = 0; i < here->peers; i++)
        if (here->peer[i] && !here->transport->has_parted(here->peer[i]))
            rc = WEFT_EAGAIN;
    return rc;
}

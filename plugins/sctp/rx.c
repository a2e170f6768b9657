/* Receiving: makes containers of messages again.
 *
 * Headers are delivered in the order in which they were sent. The payload of an
 * announced container is stored as it comes; several may be under way at once.
 * Payload that comes before its announcement, because that was lost, waits in
 * `early`: at most as much as the peer may send before it is acknowledged.
 *
 * INVARIANT  early holds nothing for a stream that has a container in[].
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "sctp.h"

enum { IN_MAX = 4096 /* announced containers that are not complete */ };

static void finish_sink(weft_peer *p, weft_sink *s, int status)
{
    p->ep->ip.host->rx_done(p->ep->ip.core, s, status);
}

static void report_violation(weft_peer *p, const char *what)
{
    wf_ip_break_link(&p->ip, WEFT_EPROTO, "process %u sent %s", p->ip.id, what);
}

/* ---- payload ------------------------------------------------------------- */

static void take_payload(weft_peer *p, int slot, const uint8_t *data, size_t n)
{
    struct wf_sctp_in *in = p->in[slot];

    if (n > in->len - in->off) {
        report_violation(p, "more payload than it announced");
        return;
    }
    if (in->sink && in->off < in->sink->len)
        wf_ip_sink_write(in->sink, in->off, data, n);
    in->off += n;
    if (in->off < in->len)
        return;
    p->in[slot] = in->next;
    p->ins--;
    if (in->sink)
        finish_sink(p, in->sink, WEFT_OK);
    free(in);
}

/* Takes the payload that came early for this stream; its container is known
 * now. */
static void take_early(weft_peer *p, int slot)
{
    struct wf_sctp_early **at = &p->early;

    while (*at && p->in[slot] && p->ip.state == PEER_OPEN) {
        struct wf_sctp_early *e = *at;
        if (e->stream != STREAM_BULK + slot) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        if (!*at)
            p->early_tail = at;
        p->early_bytes -= e->n;
        take_payload(p, slot, e->bytes, e->n);
        free(e);
    }
}

static void keep_early(weft_peer *p, const struct wf_sctp_message *m,
                       const uint8_t *data)
{
    struct wf_sctp_early *e;

    if (m->n > SCTP_EARLY_MAX - p->early_bytes) {
        report_violation(p, "payload that it never announced");
        return;
    }
    e = malloc(sizeof *e + m->n);
    if (!e) {
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        return;
    }
    e->next = NULL;
    e->stream = m->stream;
    e->n = m->n;
    memcpy(e->bytes, data, m->n);
    if (!p->early)
        p->early_tail = &p->early;
    *p->early_tail = e;
    p->early_tail = &e->next;
    p->early_bytes += m->n;
}

static void on_payload(weft_peer *p, const struct wf_sctp_message *m,
                       const uint8_t *data)
{
    int slot = m->stream - STREAM_BULK;

    if (slot < 0 || slot >= BULK_STREAMS)
        report_violation(p, "payload on a stream of headers");
    else if (p->in[slot])
        take_payload(p, slot, data, m->n);
    else
        keep_early(p, m, data);
}

/* ---- headers ------------------------------------------------------------- */

static void handle_own_frame(weft_peer *p, const uint8_t *head, size_t n)
{
    if (head[0] == SCTP_GOODBYE && n == SCTP_FRAME)
        p->ip.leaving = true;
    else
        report_violation(p, "a frame of unknown type");
}

/* Tells whether there is a whole header, and nothing that contradicts it. */
static bool is_sound(const struct wf_sctp_message *m, const uint8_t *data)
{
    size_t hl = m->n >= WEFT_HDR_MIN ? weft_hdr_len(data) : SIZE_MAX;

    if (m->n < hl || m->stream >= STREAM_BULK)
        return false;
    if (m->kind == KIND_WHOLE)
        return m->n - hl == weft_hdr_plen(data);
    return m->kind >= (KIND_ANNOUNCE | STREAM_BULK) &&
           m->kind < (KIND_ANNOUNCE | SCTP_STREAMS) && m->n == hl &&
           weft_hdr_plen(data) > 0 && data[0] < 0xf0;
}

static void append_in(weft_peer *p, int slot, struct wf_sctp_in *in)
{
    struct wf_sctp_in **at = &p->in[slot];

    while (*at)
        at = &(*at)->next;
    *at = in;
    p->ins++;
}

/* Prepares for the payload of a container whose header the core has seen. */
static void expect_payload(weft_peer *p, int slot, struct wf_sctp_in *in,
                           weft_sink *sink)
{
    in->sink = sink;
    if (sink && (sink->len > in->len || sink->len == 0)) {
        in->sink = NULL;
        finish_sink(p, sink, sink->len ? WEFT_EPROTO : WEFT_OK);
    }
    append_in(p, slot, in);
    take_early(p, slot);
}

static bool deliver_announced(weft_peer *p, const struct wf_sctp_message *m,
                              const uint8_t *head)
{
    weft_ep *ep = p->ep;
    struct wf_sctp_in *in = calloc(1, sizeof *in);
    weft_sink *sink = NULL;
    int rc;

    if (!in || p->ins >= IN_MAX) {
        if (in)
            wf_ip_break_link(&p->ip, WEFT_EPROTO,
                             "too much is under way from "
                             "process %u",
                             p->ip.id);
        else
            wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        free(in);
        return true;
    }
    rc = ep->ip.host->rx(ep->ip.core, p->ip.loc, (const weft_hdr *)head, head,
                         0, &sink);
    if (rc == WEFT_EAGAIN) {
        free(in);
        return false;
    }
    ep->count.rx_containers++;
    in->len = weft_hdr_plen(head);
    ep->count.rx_bytes += in->len;
    expect_payload(p, (int)(m->kind & 0xff) - STREAM_BULK, in,
                   rc == WEFT_OK ? sink : NULL);
    return true;
}

static bool deliver_whole(weft_peer *p, const uint8_t *data)
{
    weft_ep *ep = p->ep;
    uint32_t plen = weft_hdr_plen(data);
    weft_sink *sink = NULL;
    int rc = ep->ip.host->rx(ep->ip.core, p->ip.loc, (const weft_hdr *)data,
                             data + weft_hdr_len(data), plen, &sink);

    if (rc == WEFT_EAGAIN)
        return false;
    ep->count.rx_containers++;
    ep->count.rx_bytes += plen;
    if (rc == WEFT_OK && sink)
        finish_sink(p, sink, sink->len > plen ? WEFT_EPROTO : WEFT_OK);
    return true;
}

bool wf_sctp_deliver(weft_peer *p, const struct wf_sctp_message *m,
                     const uint8_t *data)
{
    if (m->kind == KIND_PAYLOAD) {
        on_payload(p, m, data);
        return true;
    }
    if (!is_sound(m, data)) {
        report_violation(p, "a message that is no container");
        return true;
    }
    if (data[0] >= 0xf0) {
        handle_own_frame(p, data, m->n);
        return true;
    }
    return m->kind == KIND_WHOLE ? deliver_whole(p, data)
                                 : deliver_announced(p, m, data);
}

/* ---- the association ----------------------------------------------------- */

/* Holds a message that the core has no memory for; all that follow it wait. */
static void hold_message(weft_peer *p, const struct wf_sctp_message *m,
                         const uint8_t *data)
{
    p->held = malloc(m->n);
    if (!p->held) {
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        return;
    }
    memcpy(p->held, data, m->n);
    p->held_as = *m;
}

static void deliver_held(weft_peer *p)
{
    uint8_t *data = p->held;

    p->resumed = false;
    p->held = NULL;
    if (wf_sctp_deliver(p, &p->held_as, data))
        free(data);
    else
        p->held = data;
}

/* Payload on other associations that comes before its header on the first is
 * kept in `early`, up to a limit. Beyond it stays in the stack: the window of
 * its association fills, and the peer waits. */
bool wf_sctp_is_readable(const weft_peer *p, int assoc)
{
    return p->ip.state == PEER_OPEN && !p->held &&
           (assoc == 0 || p->early_bytes < SCTP_EARLY_MAX / 2);
}

static void on_assoc_up(struct wf_sctp_assoc *s)
{
    if (s->sock)
        wf_sctp_setup_connected(s);
    else
        wf_sctp_assoc_mark_up(s);
}

static void on_assoc_end(struct wf_sctp_assoc *s, enum wf_sctp_event how)
{
    weft_peer *p = s->peer;
    const char *lost = "no answer on any path";

    if (s->sock && !s->set_up && !p->dialled)
        wf_sctp_setup_drop(s);
    else if (wf_sctp_setup_is_pending(p))
        wf_sctp_setup_fail(p, how == SCTP_LOST ? lost : "refused");
    else if (how == SCTP_LOST)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u: %s", p->ip.id, lost);
    else
        wf_sctp_peer_gone(p, WEFT_EPEER,
                          "its end of the association is closed");
}

static void handle_message(struct wf_sctp_assoc *s,
                           const struct wf_sctp_message *m)
{
    weft_peer *p = s->peer;
    const uint8_t *data = p->ep->message;

    if (m->n == 0 ||
        (s->sock && !s->set_up && wf_sctp_setup_receive(s, m, data)))
        return;
    if (p->ip.state == PEER_OPEN && !wf_sctp_deliver(p, m, data))
        hold_message(p, m, data);
}

/* Reads messages until there is none, or the core has no memory for one. */
static void read_assoc(weft_peer *p, struct wf_sctp_assoc *s)
{
    struct wf_sctp_message m;
    enum wf_sctp_event event;

    while (wf_sctp_is_readable(p, s->number)) {
        event = wf_sctp_assoc_receive(s, &m);
        switch (event) {
        case SCTP_NOTHING:
            p->unread &= ~(1u << s->number);
            return;
        case SCTP_UP:
            on_assoc_up(s);
            break;
        case SCTP_DOWN:
        case SCTP_LOST:
            on_assoc_end(s, event);
            return;
        case SCTP_PATH:
            if (s->number == 0)
                wf_sctp_handle_path_change(p, &s->sock->about, s->sock->works);
            break;
        case SCTP_MESSAGE:
            handle_message(s, &m);
        }
    }
}

static void read_assocs(weft_peer *p)
{
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->unread & 1u << i && p->assoc[i])
            read_assoc(p, p->assoc[i]);
}

void wf_sctp_take_arrived(weft_peer *p)
{
    const char *gone = p->gone;

    if (p->held && p->resumed && p->ip.state == PEER_OPEN)
        deliver_held(p);
    read_assocs(p);
    if (p->kernel)
        wf_sctp_update_epoll(p);
    if (!gone || p->held)
        return;
    p->gone = NULL;
    wf_sctp_peer_gone(p, p->gone_status, gone);
}

void wf_sctp_rx_resume(weft_peer *p)
{
    p->resumed = true;
    wf_ip_mark_due(&p->ip);
}

bool wf_sctp_rx_idle(const weft_peer *p)
{
    return !p->held && p->ins == 0;
}

void wf_sctp_rx_cancel(weft_peer *p, int status)
{
    for (int i = 0; i < BULK_STREAMS; i++) {
        struct wf_sctp_in *in;
        while ((in = p->in[i])) {
            p->in[i] = in->next;
            if (in->sink)
                finish_sink(p, in->sink, status);
            free(in);
        }
    }
    while (p->early) {
        struct wf_sctp_early *e = p->early;
        p->early = e->next;
        free(e);
    }
    free(p->held);
    p->held = NULL;
    p->resumed = false;
    p->early_bytes = 0;
    p->ins = 0;
}

/* Packets in parts, where the path drops large datagrams.
 *
 * A packet has the size that the interface carries, which is right within a
 * cluster. A path that carries less drops it without a word, and what has a TSN
 * cannot be cut again by the protocol. Such a path is known by an association
 * that has made no progress for STALL_NS while the peer answered probes, which
 * are small. From then on each packet that is larger than a part travels in
 * parts of PART bytes, which every path carries, and the peer joins them. A
 * lost part is a lost packet. Further links of the endpoint begin so: a route
 * with failover may end this one before it is used. After AGAIN_NS whole
 * packets are tried again, for paths change.
 *
 *   PART  value: packet's number << 16 | part << 8 | parts   offer: bytes
 *         check: number of the association                   body: the part
 *
 * The bytes come from the network: what does not fit is dropped.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "sctp.h"

enum { PART = 1152, PARTS_MAX = 64 };
#define MS       1000000u
#define STALL_NS (300u * MS)
#define ASK_NS   (30u * MS)
#define AGAIN_NS UINT64_C(60000000000)

/* ---- out ----------------------------------------------------------------- */

bool wf_sctp_send_parts(struct wf_sctp_exit *e, uint32_t assoc,
                        const void *packet, size_t n)
{
    uint32_t parts = (uint32_t)((n + PART - 1) / PART), number = e->number++;
    uint8_t head[HEAD_WORD];
    struct wf_sctp_datagram d = {.type = TYPE_PART,
                                 .to = e->to_link,
                                 .from = e->from_link,
                                 .check = assoc,
                                 .offer = (uint32_t)n};

    if (!e->in_parts || n <= PART || parts > PARTS_MAX)
        return false;
    for (uint32_t i = 0; i < parts; i++) {
        size_t at = (size_t)i * PART, left = n - at;
        struct iovec v[2] = {{.iov_base = head, .iov_len = HEAD_WORD},
                             {.iov_base = (char *)(uintptr_t)packet + at,
                              .iov_len = left < PART ? left : PART}};
        d.value = number << 16 | i << 8 | parts;
        wf_sctp_datagram_head(&d, head);
        wf_ip_datagram_send(e->fd, &e->to, v, 2, &e->errors);
        e->packets++;
    }
    return true;
}

/* Tells whether an association has made no progress for long, although the peer
 * has answered probes meanwhile. */
static bool is_stalled(weft_peer *p, struct wf_sctp_assoc *s, uint64_t now)
{
    if (!wf_sctp_user_awaits_ack(&s->user)) {
        s->stalled_since = 0;
        return false;
    }
    if (!s->stalled_since)
        s->stalled_since = now;
    if (now - s->stalled_since < STALL_NS / 2)
        return false;
    if (now - p->probe_at >= ASK_NS)
        wf_sctp_probe_paths(p, now);
    return now - s->stalled_since >= STALL_NS &&
           p->path[p->active].answered >= s->stalled_since + STALL_NS / 2;
}

static void set_parts(weft_peer *p, bool on)
{
    wf_sctp_stack_lock();
    p->exit.in_parts = on;
    wf_sctp_stack_unlock();
}

void wf_sctp_begin_size(weft_peer *p, uint64_t now)
{
    p->parts_until = p->ep->parts_until;
    p->exit.in_parts = now < p->parts_until;
}

void wf_sctp_watch_size(weft_peer *p, uint64_t now)
{
    bool stalled = false;

    if (p->exit.in_parts) {
        if (now >= p->parts_until)
            set_parts(p, false);
        return;
    }
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i])
            stalled = is_stalled(p, p->assoc[i], now) || stalled;
    if (!stalled || p->packet <= PART)
        return;
    set_parts(p, true);
    p->parts_until = p->ep->parts_until = now + AGAIN_NS;
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i])
            p->assoc[i]->stalled_since = 0;
    p->ep->ip.host->log(p->ep->ip.core, 1,
                     "packets of %u bytes to process %u do not arrive, small "
                     "ones do: they are sent in parts (option 'packet')",
                     p->packet, p->ip.id);
}

/* ---- in ------------------------------------------------------------------ */

static void drop_joint(struct wf_sctp_joint *j)
{
    free(j->bytes);
    *j = (struct wf_sctp_joint){.bytes = NULL};
}

void wf_sctp_joints_free(struct wf_sctp_joints *all)
{
    for (int i = 0; i < JOINTS; i++)
        drop_joint(&all->joint[i]);
}

/* Begins a packet in the place of an older one; false: there is no memory, and
 * the packet is lost. */
static bool begin_joint(struct wf_sctp_joint *j,
                        const struct wf_sctp_datagram *d)
{
    drop_joint(j);
    j->bytes = malloc(d->offer);
    j->n = d->offer;
    j->number = d->value >> 16;
    j->assoc = d->check;
    return j->bytes != NULL;
}

/* Returns the packet, whose size is d->offer, if this part makes it whole. */
const uint8_t *wf_sctp_join_part(struct wf_sctp_joints *all,
                                 const struct wf_sctp_datagram *d)
{
    struct wf_sctp_joint *j = &all->joint[(d->value >> 16) % JOINTS];
    uint32_t part = d->value >> 8 & 0xff, parts = d->value & 0xff;
    size_t at = (size_t)part * PART;
    uint64_t whole;

    if (parts < 2 || parts > PARTS_MAX || part >= parts ||
        (d->offer + PART - 1) / PART != parts || d->offer > parts * PART ||
        d->n != (part + 1 < parts ? PART : d->offer - at))
        return NULL;
    if ((!j->bytes || j->n != d->offer || j->number != d->value >> 16 ||
         j->assoc != d->check) &&
        !begin_joint(j, d))
        return NULL;
    memcpy(j->bytes + at, d->body, d->n);
    j->have |= UINT64_C(1) << part;
    whole = parts == PARTS_MAX ? UINT64_MAX : (UINT64_C(1) << parts) - 1;
    if (j->have != whole)
        return NULL;
    j->n = 0; /* the next part begins another packet */
    return j->bytes;
}

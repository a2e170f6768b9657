/* Checksums of containers between hosts: see checked.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/checked.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/arrive.h"
#include "protocol/failure.h"
#include "route/links.h"
#include "route/location.h"

enum { SEGMENTS = 32, PACKED = 16 << 10 };

/* A sink that puts the payload where `real` says, and checks it at the end. */
struct landing {
    struct wf_sink sink; /* given to the plugin */
    weft_sink *real;
    struct wf_checks *checks;
    struct weft_core *core;
    uint64_t have;     /* payload bytes that came with the header */
    uint32_t sum;      /* checksum of the header and these bytes */
    uint32_t expected; /* checksum of everything, from the header */
    bool whole;        /* the receive has room for all of the payload */
};

static struct wf_checks *ensure_checks(struct weft_loc *loc)
{
    struct wf_checks *c = loc->checks;

    if (c || !(c = calloc(1, sizeof *c)))
        return c;
    c->loc = loc;
    c->src_dst = loc->wf->rank->id | (uint64_t)loc->index << 32;
    c->sum = wf_crc32c_choose();
    c->sums = wf_crc32c_message_choose();
    return loc->checks = c;
}

int wf_checks_require(struct weft_loc *loc, uint32_t endpoints)
{
    if (!endpoints)
        return 0;
    if (!ensure_checks(loc))
        return WEFT_ENOMEM;
    loc->checks->required |= endpoints;
    return 0;
}

void wf_checks_free(struct weft_loc *loc)
{
    free(loc->checks);
    loc->checks = NULL;
}

/* ---- sending ------------------------------------------------------------- */

/* The checksums of a header and n bytes of payload. The fields that hold
 * checksums count as 0: the caller clears `seq`. */
static uint64_t sums_of(const struct wf_checks *c, const struct wf_wire *w,
                        const void *data, size_t n)
{
    return c->sums(w, wf_wire_word(w, 7) & UINT32_MAX, data, n);
}

/* Make a checked header out of one of 24 or 64 bytes, for n bytes of payload at
 * `data`. */
static void write_checked_header(const struct wf_checks *c, struct wf_wire *w,
                                 const void *hdr, const void *data, size_t n)
{
    uint64_t first = wf_wire_word(hdr, 0), sums;
    bool brief = first & (uint64_t)WEFT_HDR_SHORT << 16;

    wf_wire_set_word(w, 0,
                     (first | WF_CHECKED) & ~((uint64_t)WEFT_HDR_SHORT << 16));
    wf_wire_set_word(w, 1, wf_wire_word(hdr, 1));
    wf_wire_set_word(w, 2, wf_wire_word(hdr, 2));
    wf_wire_set_word(w, 3, 0);
    wf_wire_set_word(w, 4, brief ? 0 : wf_wire_word(hdr, 4));
    wf_wire_set_word(w, 5, brief ? 0 : wf_wire_word(hdr, 5));
    wf_wire_set_word(w, 6, c->src_dst);
    wf_wire_set_word(w, 7, 0);
    sums = sums_of(c, w, data, n);
    wf_wire_set_word(w, 3, sums >> 32);
    wf_wire_set_word(w, 7, sums << 32);
}

static int send_short(weft_peer *peer, const weft_hdr *hdr, const void *data,
                      size_t n, unsigned flags)
{
    struct wf_checked_lane *l = (struct wf_checked_lane *)peer;
    _Alignas(WEFT_HDR) struct wf_wire w;

    write_checked_header(l->checks, &w, hdr, data, n);
    return l->send_short(l->peer, (const weft_hdr *)&w, data, n, flags);
}

/* Continue a checksum over a payload of many small segments: packing them first
 * is faster than walking them. */
static uint32_t sum_packed(const struct wf_checks *c, uint32_t sum, weft_tx *tx)
{
    uint8_t room[PACKED];
    uint64_t n;

    for (uint64_t off = 0; off < tx->len; off += n) {
        n = tx->len - off < sizeof room ? tx->len - off : sizeof room;
        tx->copy(tx, off, room, n);
        sum = c->sum(sum, room, n);
    }
    return sum;
}

static uint32_t sum_payload(const struct wf_checks *c, uint32_t sum,
                            weft_tx *tx)
{
    struct iovec v[SEGMENTS];
    uint64_t off = 0;
    int n;

    if (tx->copy)
        return sum_packed(c, sum, tx);
    while (off < tx->len && (n = tx->seg(tx, off, v, SEGMENTS)) > 0)
        for (int i = 0; i < n; i++) {
            sum = c->sum(sum, v[i].iov_base, v[i].iov_len);
            off += v[i].iov_len;
        }
    return sum;
}

/* A container that the plugin has refused before has its checksums already. */
static int send_large(weft_peer *peer, weft_tx *tx)
{
    struct wf_checked_lane *l = (struct wf_checked_lane *)peer;
    struct wf_wire *w = (struct wf_wire *)tx->hdr;

    if (!(w->type & WF_CHECKED)) {
        write_checked_header(l->checks, w, w, NULL, 0);
        w->crc = wf_le32(sum_payload(l->checks, wf_le32(w->crc), tx));
    }
    return l->send(l->peer, tx);
}

void wf_checks_wrap(struct weft_loc *loc, struct wf_lane *l)
{
    struct wf_checked_lane *mine;

    if (!wf_checks_are_required(loc, l->core))
        return;
    mine = &loc->checks->lane[l - loc->lane];
    *mine = (struct wf_checked_lane){.checks = loc->checks,
                                     .peer = l->peer,
                                     .send = l->send,
                                     .send_short = l->send_short};
    l->peer = (weft_peer *)mine;
    l->send = send_large;
    /* A message is a row of containers: one is summed while the other side
     * takes the one before, and is still in the cache when it has come. */
    if (l->max_payload > WF_CHECKED_PIECE)
        l->max_payload = WF_CHECKED_PIECE;
    if (l->max_eager > l->max_payload)
        l->max_eager = (uint32_t)l->max_payload;
    if (l->send_short)
        l->send_short = send_short;
    l->send_words = NULL; /* a short header has no place for a checksum */
    l->recv_words = NULL; /* it compares headers without a checksum */
}

/* ---- faults -------------------------------------------------------------- */

static char *reason_of(enum wf_check_fault what, const char *transport)
{
    char why[320];

    if (what == WF_CHECK_DAMAGED)
        snprintf(why, sizeof why,
                 "a message from it arrived damaged by transport '%s': its "
                 "checksum is wrong, so something between the two processes "
                 "changes bytes (failover = yes in the [route] of the pair has "
                 "such messages sent again)",
                 transport);
    else
        snprintf(why, sizeof why,
                 "it sends without checksums by transport '%s', and this "
                 "process asks for them; give both the same crc in [route]",
                 transport);
    return strdup(why);
}

/* Note a fault, for wf_checks_end_damaged to end the link. The reason is
 * recorded at once: the operation that met the fault fails before that. */
static void note_fault(struct wf_checks *c, const struct weft_core *core,
                       enum wf_check_fault what)
{
    struct weft_loc *loc = c->loc;

    if (c->fault)
        return;
    c->fault = what;
    if (!loc->down_reason)
        loc->down_reason = reason_of(what, core->config->name);
    if (what == WF_CHECK_DAMAGED)
        loc->wf->links->damaged++;
    wf_progress_request_resume(loc->wf); /* wf_checks_end_damaged */
}

bool wf_checks_count_nonsense(struct weft_loc *loc, struct weft_core *core)
{
    if (!wf_checks_are_required(loc, core) || loc->checks->fault)
        return false;
    loc->wf->links->damaged++;
    return true;
}

void wf_checks_end_damaged(struct weft_loc *loc)
{
    if (loc->checks && loc->checks->fault && !loc->failed)
        wf_location_end(loc, WEFT_ELINK, NULL);
}

/* ---- receiving ----------------------------------------------------------- */

/* Whether the header fits its checksum. *w becomes the header as it was when
 * the checksum was made. */
static bool is_header_right(const struct wf_checks *c, const struct wf_wire *in,
                            struct wf_wire *w)
{
    memcpy(w, in, sizeof *w);
    wf_wire_set_word(w, 3, 0);
    return wf_wire_word(in, 3) == sums_of(c, w, NULL, 0) >> 32;
}

/* Whether this is a valid header of a sender that makes no checksums. */
static bool is_unchecked(const struct wf_wire *w)
{
    return w->ver == WF_WIRE_VERSION && w->type >= WF_EAGER &&
           w->type <= WF_CREDIT && w->type != WF_ACK;
}

static int landing_seg(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct landing *l = wf_container(sink, struct landing, sink);

    return l->real->seg(l->real, off, v, max);
}

static void landing_fill(weft_sink *s, uint64_t off, const void *from,
                         uint64_t n)
{
    struct wf_sink *sink = wf_container(s, struct wf_sink, sink);
    struct landing *l = wf_container(sink, struct landing, sink);

    l->real->fill(l->real, off, from, n);
}

/* The checksum of the header and all of the payload, which has landed. */
static uint32_t sum_landed(const struct landing *l)
{
    struct iovec v[SEGMENTS];
    uint64_t off = l->have;
    uint32_t sum = l->sum;
    int n;

    while (off < l->real->len &&
           (n = l->real->seg(l->real, off, v, SEGMENTS)) > 0)
        for (int i = 0; i < n; i++) {
            sum = l->checks->sum(sum, v[i].iov_base, v[i].iov_len);
            off += v[i].iov_len;
        }
    return sum;
}

static void landing_done(struct wf_sink *sink, int status)
{
    struct landing *l = wf_container(sink, struct landing, sink);
    struct wf_sink *real = wf_container(l->real, struct wf_sink, sink);

    if (status >= 0 && l->whole && sum_landed(l) != l->expected) {
        note_fault(l->checks, l->core, WF_CHECK_DAMAGED);
        status = WEFT_ELINK;
    }
    free(l);
    real->done(real, status);
}

/* A container with the first `have` bytes of its payload, and the checksum of
 * the header and these bytes. */
struct part {
    struct weft_core *core;
    const void *data;
    size_t have;
    uint32_t sum;
};

static int arrive_part(struct wf_checks *c, const struct part *a,
                       const struct wf_wire *w, weft_sink **sink)
{
    struct landing *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return WEFT_EAGAIN;
    r = wf_arrive_plain(a->core, c->loc, (const weft_hdr *)w, a->data, a->have,
                        &l->real);
    if (r != WEFT_OK || !l->real) {
        free(l);
        return r;
    }
    l->checks = c;
    l->core = a->core;
    l->have = a->have;
    l->sum = a->sum;
    l->expected = wf_le32(w->crc);
    l->whole = l->real->len == wf_le32(w->plen);
    l->sink.done = landing_done;
    l->sink.sink = (weft_sink){.len = l->real->len,
                               .size = sizeof(weft_sink),
                               .one = l->real->one,
                               .seg = landing_seg,
                               .fill = l->real->fill ? landing_fill : NULL};
    *sink = &l->sink.sink;
    return WEFT_OK;
}

int wf_checked_arrive(struct weft_core *core, struct weft_loc *from,
                      const weft_hdr *hdr, const void *data, size_t have,
                      weft_sink **sink)
{
    const struct wf_wire *in = (const struct wf_wire *)hdr;
    struct wf_checks *c = ensure_checks(from);
    uint32_t plen = wf_le32(in->plen);
    int drop = have == plen ? WEFT_DONE : WEFT_SKIP;
    struct part part = {core, data, have, 0};
    _Alignas(WEFT_HDR) struct wf_wire w;
    bool brief = weft_hdr_len(hdr) != WEFT_HDR;

    if (!c)
        return WEFT_EAGAIN;
    if (c->fault || from->failed)
        return drop;
    if (brief || !(in->type & WF_CHECKED) || !is_header_right(c, in, &w)) {
        note_fault(c, core,
                   !(in->type & WF_CHECKED) && is_unchecked(in)
                       ? WF_CHECK_ABSENT
                       : WF_CHECK_DAMAGED);
        return drop;
    }
    w.type &= (uint8_t)~WF_CHECKED;
    part.sum = c->sum((uint32_t)wf_wire_word(in, 3), data, have);
    if (have < plen)
        return arrive_part(c, &part, &w, sink);
    if (part.sum != wf_le32(in->crc)) {
        note_fault(c, core, WF_CHECK_DAMAGED);
        return drop;
    }
    return wf_arrive_plain(core, from, (const weft_hdr *)&w, data, have, sink);
}

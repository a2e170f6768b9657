/* Checked containers: checksums between hosts, for pairs without failover.
 *
 * A network may change bytes behind the checksums of its own layers. Where the
 * transport does not check end to end itself (WEFT_CAP_INTACT) and the pair is
 * not ordered (order.h has checksums of its own), both sides wrap its lanes
 * here:
 *
 *   out  a container gets a full header, the bit WF_CHECKED in its type, in
 *        `seq` the CRC-32C of the header (seq and crc are 0 in it), and in
 *        `crc` that checksum continued over the payload
 *   in   the header is checked before it is believed; payload that is here is
 *        checked before it is delivered; payload that still comes goes straight
 *        to its place, and the receive completes with an error if it was wrong
 *
 * DESIGN  A stream that delivers wrong bytes cannot be trusted any further: the
 * first damage ends the link, at the end of the poll, since a plugin's callback
 * may not delete its peer. Everything that waits for the peer then fails, with
 * a text that names transport and remedy. The payload of a message that is
 * longer than its receive and comes in parts is not checked, because the core
 * never sees its end; the receive fails by WF_ETRUNCATED in any case.
 *
 * INVARIANT  Nothing that comes through an endpoint in `required` is delivered
 * without a checksum.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CHECKED_H
#define WF_CHECKED_H

#include "os/crc32c.h"
#include "protocol/queues.h"
#include "route/location.h"

/* Stands in a wrapped lane for the plugin's peer. */
struct wf_checked_lane {
    struct wf_checks *checks;
    weft_peer *peer;
    int (*send)(weft_peer *, weft_tx *);
    int (*send_short)(weft_peer *, const weft_hdr *, const void *, size_t,
                      unsigned flags);
};

enum wf_check_fault { WF_CHECK_FINE, WF_CHECK_DAMAGED, WF_CHECK_ABSENT };

/* The checksums of one pair of processes. */
struct wf_checks {
    struct weft_loc *loc;
    uint64_t src_dst;  /* word 6 of the headers that this process sends */
    uint32_t required; /* endpoints whose containers must have a checksum */
    enum wf_check_fault fault; /* if set, wf_checks_end_damaged ends the link */
    wf_crc32c_fn *sum;
    wf_crc32c_message_fn *sums; /* of header and payload */
    struct wf_checked_lane lane[WF_LANES];
};

/* Require checksums in containers that come from the peer through these
 * endpoints. 0 or WEFT_ENOMEM. */
int wf_checks_require(struct weft_loc *, uint32_t endpoints);
/* Make this lane send checksums, if its endpoint requires them. */
void wf_checks_wrap(struct weft_loc *, struct wf_lane *);
void wf_checks_free(struct weft_loc *);
/* Whether containers through this endpoint must have a checksum. */
static inline bool wf_checks_are_required(const struct weft_loc *loc,
                                   const struct weft_core *core)
{
    return loc->checks && loc->checks->required & 1u << core->index;
}
/* Process a container that has a checksum or must have one; results as
 * wf_arrive. */
int wf_checked_arrive(struct weft_core *, struct weft_loc *, const weft_hdr *,
                      const void *data, size_t have, weft_sink **);
/* Count nonsense that the plugin found in the stream, if checksums are
 * required. true: it was counted. */
bool wf_checks_count_nonsense(struct weft_loc *, struct weft_core *);
/* End the link to this location if it brought damage. Runs at the end of a
 * poll. */
void wf_checks_end_damaged(struct weft_loc *);

#endif

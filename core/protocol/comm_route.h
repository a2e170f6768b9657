/* The lanes of messages that a route tells from others of their pair, by their
 * communicator (comm =) or their kind (kind =).
 *
 * DESIGN  The messages of one communicator and kind take one lane to a process,
 * for ever: so none overtakes another, which is all that MPI asks for. The
 * sender alone decides. The name of the communicator is looked at when its
 * first message leaves or is awaited; from it come the keys of the rules that
 * hold (route/route.h). A pair has a set of lanes for each combination of keys
 * that came up, and no more than WF_LANES lanes in all. Such messages take the
 * slow path, those of other communicators notice nothing. A pair with failover
 * has one lane, and no such rule is about it.
 *
 * A window or a file has a communicator of its own. All messages on it are of
 * the kind rma or io, and it has the name of the communicator over which it was
 * made.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_ROUTE_H
#define WF_COMM_ROUTE_H

#include "config/select.h"
#include "group/comm.h"
#include "group/envelope.h"
#include "route/location.h"

/* The lanes of messages with these keys: that of envelopes first, then those of
 * larger payloads. */
struct wf_lane_set {
    struct wf_lane_set *next;
    uint32_t keys;
    uint8_t n, lane[WF_LANES];
    uint64_t from_size[WF_LANES];
};

/* Look at the name of the communicator, at its first message. */
void wf_comm_route_decide(struct wf_comm *);

/* Make all messages of a new communicator those of a chapter (kind rma or io)
 * that uses it instead of the communicator `over`. */
void wf_comm_route_give_kind(struct wf_comm *, const struct wf_comm *over,
                             enum wf_route_kind);

/* The keys of the communicator's messages in a space; 0: they are routed as all
 * others. */
static inline uint32_t wf_comm_route_keys(struct wf_comm *c, unsigned space)
{
    if (wf_unlikely(!c->route_decided))
        wf_comm_route_decide(c);
    return wf_likely(!c->routed) ? 0
           : space == WF_SPACE_P2P || space == WF_SPACE_SETUP ||
                   space == WF_SPACE_PART || space == WF_SPACE_RMA ||
                   space == WF_SPACE_FILE
               ? c->route_keys[0]
           : space == WF_SPACE_COLL ? c->route_keys[1]
                                    : 0;
}

/* Store the lane of payloads of so many bytes of messages with these keys;
 * bytes 0: that of their envelopes. 0, or the status of a failure, as
 * recorded. */
int wf_comm_route_find_lane(struct weft_loc *, uint32_t keys, uint64_t bytes,
                            unsigned *lane);

/* Choose the lane of the communicator's messages in a space whose payload is
 * not longer than their envelopes take, and connect to the location if that is
 * needed to know it. 0, or the status of a failure, as recorded; then the order
 * lane is stored. */
int wf_comm_route_choose_lane(struct wf_comm *, unsigned space,
                              struct weft_loc *, unsigned *lane);

/* Check that a route leads to the location for such messages: else the other
 * process, whose configuration is the same, sends none, and a wait for one
 * would not end. 0, or the status of the failure, as recorded. */
static inline int wf_comm_route_check(struct wf_comm *c, unsigned space,
                                      struct weft_loc *loc)
{
    unsigned lane;

    return wf_likely(!wf_comm_route_keys(c, space))
               ? 0
               : wf_comm_route_choose_lane(c, space, loc, &lane);
}

void wf_comm_route_free(struct weft_loc *);

#endif

/* The send side of a peer: what a thread needs to copy a message to it, which
 * is the credit, the numbers of the order lane, and the plugin's ring.
 *
 *   ENGINE  it belongs to the API section, as everything of the engine
 *   LENT    no thread is at it; any thread of the program may claim it
 *   BUSY    a thread has claimed it and copies one message
 *
 *      ENGINE --wf_side_lend--> LENT <--wf_side_send--> BUSY
 *         ^--wf_side_take_back---'
 *
 * DESIGN  Per-object granularity (lock/critical.h): while the side is lent,
 * threads that send to different peers share nothing, and none of them enters
 * the API section. It is lent when a thread has sent to the peer while others
 * waited for the section, and taken back by whoever is inside and needs it: for
 * any message that is not a short copy, for credit, or because the plugin has
 * to write to the ring itself (weft_host.tx_close). A side is lent only while
 * its lane is clear, so what a thread sends by it follows what the same thread
 * has sent before.
 *
 * Nobody is BUSY for long: the plugin copies one short message or refuses it.
 * So a thread that finds the side BUSY spins, and gives its CPU away only when
 * the other seems to have lost its own.
 *
 * LOCK  ENGINE to LENT and back: the API section. tests/model/relacy/side.cpp
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SEND_SIDE_H
#define WF_SEND_SIDE_H

#include "group/comm.h"
#include "process/instance.h"
#include "route/location.h"

/* The parts that are not inline. */
void wf_side_lend(struct weft_loc *);
void wf_side_take_back_now(struct weft_loc *);

/* True if threads may claim the side. It may have been taken back meanwhile. */
static inline bool wf_side_is_lent(struct weft_loc *loc)
{
    return WF_OBJECTS && wf_load_relaxed(&loc->side.state) != WF_SIDE_ENGINE;
}

/* Take the side back for the engine, if it is lent. Inside the section. */
static inline void wf_side_take_back(struct weft_loc *loc)
{
    if (wf_unlikely(wf_side_is_lent(loc)))
        wf_side_take_back_now(loc);
}

/* Lend the side of a rank that was just sent to, if other threads wait for the
 * section. Inside. */
static inline void wf_side_offer(struct wf_comm *comm, int dest)
{
    struct weft_loc *loc;

    if (!WF_OBJECTS || !wf_cs_is_brief(&comm->wf->api) ||
        !(WF_LENDS_ALWAYS || wf_cs_is_contended(&comm->wf->api)))
        return;
    loc = wf_contact_of(comm, dest);
    if (loc && loc->fastpath_end)
        wf_side_lend(loc);
}

/* Send a short message by a side that is lent. Called outside of the section.
 * False: it was not sent; enter and send it there. */
bool wf_side_send(struct weft_loc *, const void *data, uint64_t n,
                  uint64_t env0, uint64_t env1);

#endif

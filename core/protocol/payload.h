/* Memory as plugins see it: outgoing payloads and incoming sinks that cover a
 * range of a request's packed stream, contiguous in memory or not, or that are
 * one block.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_PAYLOAD_H
#define WF_PROTOCOL_PAYLOAD_H

#include "base.h"

struct iovec;
struct wf_p2p;
struct wf_sink;
struct wf_tx;

/* Describe n bytes of the request's stream from `offset` on, to be sent through
 * p->tx or received through a sink. */
void wf_send_set_payload(struct wf_p2p *, uint64_t offset, uint64_t n);

/* Write the segments of [off, end) of the request's stream into v. Returns
 * their number, at most max. */
int wf_payload_segments(const struct wf_p2p *, uint64_t off, uint64_t end,
                        struct iovec *v, int max);
weft_sink *wf_receive_set_sink(struct wf_p2p *, uint64_t offset, uint64_t n,
                               void (*done)(struct wf_sink *, int status));

/* Describe a payload, or a sink, of n bytes that is one block. */
void wf_tx_set_block(struct wf_tx *, void *block, uint64_t n);
void wf_sink_set_block(struct wf_sink *, void *block, uint64_t n,
                       void (*done)(struct wf_sink *, int status));

#endif

/* Sending of the messages of one-sided communication (wire.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_MESSAGE_H
#define WF_RMA_MESSAGE_H

#include "protocol/active.h"
#include "rma/wire.h"

struct wf_win_peer;

/* A message as it arrives. */
struct wf_rma_message {
    const struct wf_active_head *head;
    const void *data;
    size_t bytes;
};

/* The words of a message that is sent. */
struct wf_rma_words {
    uint32_t word;
    uint64_t c, d;
};

/* Sends a message without data. */
void wf_rma_send(struct wf_win_peer *, const struct wf_rma_words *);

/* A message under way to its payload: begin, write n bytes to `at`, finish. */
struct wf_rma_draft {
    struct wf_active *long_one; /* NULL: it is short */
    uint8_t *at;
    size_t n;
    _Alignas(16) uint8_t small[WF_ACTIVE_SHORT];
};

/* Begins a message with an extent and n bytes of data, which are to be written
 * to draft->at. False: out of memory. */
bool wf_rma_begin(struct wf_rma_draft *, const struct wf_rma_extent *,
                  size_t n);
/* Begins a message with n bytes and no extent. */
bool wf_rma_begin_plain(struct wf_rma_draft *, size_t n);
/* Sends it. Bytes that the transport takes later count in
 * peer->in_flight. */
void wf_rma_finish(struct wf_rma_draft *, struct wf_win_peer *,
                   const struct wf_rma_words *);

/* Reads the extent in front of the data; false: it is not there. */
bool wf_rma_read_extent(struct wf_rma_message *, struct wf_rma_extent *);

#endif

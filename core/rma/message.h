/* Sending of the messages of one-sided communication (wire.h).
 *
 * Small messages to one process share a container: they stand in the list of
 * its wf_win_peer until one of them is urgent, until the list is full, or until
 * wf_rma_push. All messages to a process keep their order.
 *
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

/* Sends a message without data, which is urgent. */
void wf_rma_send(struct wf_win_peer *, const struct wf_rma_words *);

/* A message under way to its payload: begin, write n bytes to `at`, finish. A
 * draft that is not finished is given up by wf_rma_abandon. No other message to
 * the same process may be begun meanwhile. */
struct wf_rma_draft {
    struct wf_active *alone; /* NULL: it is in the list */
    uint8_t *at;
    size_t n;
    uint32_t flags; /* WF_RMA_WHOLE if it has no extent, else 0 */
};

/* Begins a message with an extent and n bytes of data, which are to be written
 * to draft->at. False: out of memory. */
bool wf_rma_begin(struct wf_rma_draft *, struct wf_win_peer *,
                  const struct wf_rma_extent *, size_t n);
/* Begins a message with n bytes and no extent. */
bool wf_rma_begin_plain(struct wf_rma_draft *, struct wf_win_peer *, size_t n);
/* Sends it, at once if it is urgent. Bytes that the transport takes later count
 * in peer->in_flight. */
void wf_rma_finish(struct wf_rma_draft *, struct wf_win_peer *,
                   const struct wf_rma_words *, bool urgent);
void wf_rma_abandon(struct wf_rma_draft *);

/* Sends the list of a process, if there is one. */
void wf_rma_push(struct wf_win_peer *);
/* Keeps even urgent messages in the list until wf_rma_uncork, which may be
 * called as often. */
void wf_rma_cork(struct wf_win_peer *);
void wf_rma_uncork(struct wf_win_peer *);
/* Frees the list. */
void wf_rma_drop_list(struct wf_win_peer *);

/* Reads the extent in front of the data; false: it is not there. */
bool wf_rma_read_extent(struct wf_rma_message *, struct wf_rma_extent *);
/* Takes the first message off a LIST; its head is written to *head. False: it
 * makes no sense. */
bool wf_rma_take_entry(struct wf_rma_message *list, struct wf_active_head *head,
                       struct wf_rma_message *entry);

#endif

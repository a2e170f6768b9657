/* The transport `thread`: what its files share. transport.c says what it does.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_TRANSPORT_H
#define WF_THREAD_TRANSPORT_H

#include "thread/mailbox.h"

struct weft_peer {
    struct mailbox *box;
    uint64_t seen; /* the box's head as far as we know */
    uint32_t me;   /* our own index */
    bool wants;    /* there was no room: tx_ready is due */
    bool down;     /* peer_down was said */
    bool asked;    /* something short was sent since something short came */
    uint8_t patience; /* pauses before the first look for an answer: deliver.c */
    uint8_t prompt;   /* answers in a row that this look has found */
    weft_ep *ep;
    weft_loc *loc;
    weft_peer *next;
};

struct thread_config {
    int64_t mailbox; /* lines */
    uint64_t eager, share, piece, around;
};

struct weft_ep {
    struct mailbox *box;
    struct thread_config config;
    struct mail_address address;
    uint64_t head; /* next line to look at */
    const weft_host *host;
    weft_core *core;
    weft_peer **from; /* by index of the sender */
    uint32_t from_room;
    uint32_t wants; /* peers that want room */
    bool words;     /* the core has rx_words */
    bool armed;     /* we may be seen as asleep */
    bool mourns;    /* somebody has gone without a word */
    bool stalled;   /* the core had no memory for the next container */
    uint32_t deaths;
    weft_peer *peers;
    /* the copy that we share, when the assistant is not done yet: assist.c */
    weft_rma *rma;
    uint32_t own;        /* pieces that we copied */
    uint32_t generation; /* of our last job */
};

/* The peer of that index, made if necessary; NULL: it cannot be. */
weft_peer *wf_thread_from(weft_ep *, uint32_t index);

/* The peer is lost: the core is told, once. */
void wf_thread_down(weft_peer *, const char *why);

/* post.c */
int wf_thread_send(weft_peer *, weft_tx *);
int wf_thread_send_short(weft_peer *, const weft_hdr *, const void *, size_t);
int wf_thread_send_words(const void *data, uint64_t h0, weft_peer *,
                         uint64_t h1, uint64_t h2);
/* There is more to do than to look for mail. */
static inline bool thread_busy(const weft_ep *e)
{
    return e->armed | e->mourns | (e->wants != 0) | (e->rma != NULL);
}
/* deliver.c: containers handled, at most budget. */
int wf_thread_receive(weft_ep *, int budget);
int wf_thread_recv_words(weft_peer *, weft_want *);
/* memory.c */
int wf_thread_mem_alloc(weft_ep *, weft_mem *);
void wf_thread_mem_free(weft_ep *, weft_mem *);
int wf_thread_mr_reg(weft_ep *, void *, size_t, unsigned, weft_mr **);
void wf_thread_mr_dereg(weft_ep *, weft_mr *);
int wf_thread_mr_pack(weft_ep *, weft_mr *, void *, size_t *);
int wf_thread_rkey_open(weft_peer *, const void *, size_t, weft_rkey **);
void *wf_thread_rkey_map(weft_rkey *, uint64_t, size_t);
/* assist.c */
int wf_thread_get(weft_peer *, weft_rma *);
/* Help with that peer's copy, of which it says that word. */
void wf_assist(weft_peer *, uint64_t word);
/* Our own copy, handed out, has come to its end. */
bool wf_assist_done(const weft_ep *);
/* Wait for it: its memory is about to go. */
void wf_assist_finish(weft_ep *);

#endif

/* Declarations shared by the files of the transport `thread`; see transport.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_THREAD_TRANSPORT_H
#define WF_THREAD_TRANSPORT_H

#include "thread/mailbox.h"

struct weft_peer {
    struct mailbox *box;
    uint64_t seen;      /* head of the box as far as this rank knows */
    uint32_t me;        /* index of this rank's own mailbox */
    bool wants;         /* waits for space: tx_ready is due */
    bool down;          /* peer_down was reported */
    bool awaits_answer; /* sent a short message since the last poll for one */
    uint8_t pre_poll_pauses; /* before the first poll for an answer */
    uint8_t prompt_answers; /* answers in a row that the first poll has found */
    weft_ep *ep;
    weft_loc *loc;
    weft_peer *next;
};

struct thread_config {
    int64_t mailbox; /* lines */
    uint64_t eager, share, piece, nontemporal;
};

struct weft_ep {
    struct mailbox *box;
    struct thread_config config;
    struct mail_address address;
    uint64_t head; /* the next line to poll */
    const weft_host *host;
    weft_core *core;
    weft_peer **by_sender; /* peers by index of their mailbox */
    uint32_t by_sender_room;
    uint32_t wants; /* number of peers that wait for space */
    bool armed;     /* senders may see this rank as asleep */
    bool peer_died; /* an owner of a mailbox has gone without leaving */
    bool stalled;   /* the core had no memory for the next container */
    /* wf_mail_count_deaths() of the last look for dead peers */
    uint32_t seen_deaths;
    weft_peer *peers;
    weft_get *rma;       /* a shared copy that the sender has not finished */
    uint32_t own_pieces; /* pieces of it that this rank has copied */
    uint32_t generation; /* of the last job */
};

/* Returns the peer with that index; the core makes it if it is none yet. NULL
 * if that cannot be. */
weft_peer *wf_thread_find_peer(weft_ep *, uint32_t index);

/* Reports to the core that the peer is lost; only the first call does. */
void wf_thread_report_down(weft_peer *, const char *why);

/* Tells whether there is more to do than to poll the mailbox. */
static inline bool thread_busy(const weft_ep *e)
{
    return e->armed | e->peer_died | (e->wants != 0) | (e->rma != NULL);
}

#endif

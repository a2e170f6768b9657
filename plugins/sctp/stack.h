/* The protocol: associations of libusrsctp, driven by us.
 *
 *   stack.c    the process-wide stack, its lock and its clock; associations
 *   absent.c   the same where there was no library to build against
 *   library.c  where libusrsctp comes from
 *
 * libusrsctp has one state per process, and weft may have several endpoints.
 * All of them share the stack; the first that comes starts it, the last that
 * leaves ends it. Each call into it holds one lock, and what it calls back
 * holds it too. It runs no threads and owns no sockets: packets leave through
 * wf_sctp_assoc.output, come in through wf_sctp_input, and time passes in
 * wf_sctp_tick. Whoever ticks does it for everybody.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_STACK_H
#define WF_SCTP_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SCTP_STREAMS = 78,
    SCTP_HEADERS = 2, /* the first streams go before the others */
    SCTP_RTO_MIN_MS = 20,
    SCTP_RTO_INITIAL_MS = 50,
    SCTP_RTO_MAX_MS = 250,
    SCTP_SACK_MS = 5,     /* an answer waits so long for more to answer, */
    SCTP_SACK_PACKETS = 2 /* or for so many packets */
};

struct socket;

struct wf_sctp_setup {
    uint32_t mtu;    /* bytes of a packet of the protocol */
    uint32_t window; /* bytes we keep for the peer */
    uint32_t room;   /* bytes that wait to be sent, or for an answer */
    bool check;      /* packets carry a checksum */
    bool old;        /* no I-DATA from here, as of older stacks */
};

struct wf_sctp_assoc {
    struct socket *so;
    bool check, muted;
    bool full; /* the send buffer is set for control, not for bulk */
    uint32_t window, held; /* receive buffer: usual size, size now */
    uint32_t room;         /* of the send buffer */
    uint32_t tsn;          /* the highest with which a packet began */
    bool sent;             /* there was one */
    uint32_t acked, offered; /* by the peer: all up to here, and its window */
    bool acked_any;          /* it has said so */
    bool progress; /* it got further; for wf_sctp_input's caller to clear */
    uint32_t repeated;     /* packets that went again, until somebody asks */
    void *ctx;
    /* Under the lock, maybe in another endpoint's thread. */
    void (*output)(void *ctx, const void *packet, size_t n);
};

enum wf_sctp_event {
    SCTP_MESSAGE,
    SCTP_UP,
    SCTP_DOWN, /* the peer has ended the association */
    SCTP_NOTHING,
    SCTP_LOST, /* nobody answers (kernel only) */
    SCTP_PATH  /* an address of the peer works, or not (kernel only) */
};

struct wf_sctp_message {
    uint16_t stream;
    uint32_t kind; /* of the sender's choice */
    size_t n;
};

/* Join; a negative answer comes with its reason. */
int wf_sctp_enter(char *why, size_t n);
void wf_sctp_leave(void);
void wf_sctp_lock(void);
void wf_sctp_unlock(void);
void wf_sctp_tick(uint64_t now_ns);

int wf_sctp_open(struct wf_sctp_assoc *, const struct wf_sctp_setup *);
/* Says nothing to the peer. */
void wf_sctp_close(struct wf_sctp_assoc *);
/* A packet that has come. False: it was damaged, and dropped. */
bool wf_sctp_input(struct wf_sctp_assoc *, const void *packet, size_t n);
/* WEFT_OK, WEFT_EAGAIN: no room, WEFT_ELINK. Bulk leaves some for control. */
int wf_sctp_send(struct wf_sctp_assoc *, const struct wf_sctp_message *,
                 const void *data, bool bulk);
enum wf_sctp_event wf_sctp_receive(struct wf_sctp_assoc *, void *buf,
                                   size_t room, struct wf_sctp_message *);
/* Bytes that were sent, or are to be, and not acknowledged. */
uint32_t wf_sctp_assoc_unacked(struct wf_sctp_assoc *);
/* The peer has not acknowledged what was sent, though it has room. */
bool wf_sctp_assoc_owed(struct wf_sctp_assoc *);
/* Packets that were sent again since the last call. */
uint32_t wf_sctp_assoc_repeated(struct wf_sctp_assoc *);
/* The smoothed round trip; 0: unknown. */
uint32_t wf_sctp_assoc_rtt_ms(struct wf_sctp_assoc *);
/* Now and then, where packets get lost: else what waits for one of them may
 * take the place that it needs. */
void wf_sctp_make_room(struct wf_sctp_assoc *);

#endif

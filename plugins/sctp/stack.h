/* The protocol in user space: associations of libusrsctp, driven by this
 * transport.
 *
 *   stack.c         the process-wide stack, its lock and clock
 *   user_assoc.c    an association: opening, messages, what is known of it
 *   user_packet.c   its packets: checksums, what was sent and acknowledged
 *   no_usrsctp.c    takes their place where there was no usrsctp.h
 *   library.c       loads libusrsctp
 *
 * libusrsctp has one state per process, and a process may have several
 * endpoints. All of them share the stack; the first that enters starts it, the
 * last that leaves ends it. Each call into the stack holds one lock, and so
 * does each call back. The stack runs no threads and owns no sockets: packets
 * leave by wf_sctp_user_assoc.output and come in by wf_sctp_user_input, and
 * time passes in wf_sctp_stack_tick, for all endpoints.
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
    SCTP_SACK_MS = 5,     /* the longest delay of an acknowledgement */
    SCTP_SACK_PACKETS = 2 /* packets that are acknowledged at once */
};

struct socket;
struct wf_sctp_library;

struct wf_sctp_user_settings {
    uint32_t mtu;    /* bytes of a packet of the protocol */
    uint32_t window; /* bytes kept for the peer */
    uint32_t room;   /* bytes that wait to be sent or acknowledged */
    bool check;      /* packets carry a checksum */
    bool old;        /* do not send I-DATA, as older stacks */
};

struct wf_sctp_user_assoc {
    const struct wf_sctp_library *lib; /* while it is open */
    struct socket *so;
    bool check, muted;
    bool full;           /* the send buffer is set for control, not for bulk */
    uint32_t window;     /* usual size of the receive buffer */
    uint32_t window_now; /* its size now */
    uint32_t room;       /* of the send buffer */
    uint32_t tsn;        /* the highest that a packet began with */
    bool sent;           /* tsn is valid */
    uint32_t acked;      /* the peer has acknowledged all up to this TSN */
    uint32_t offered;    /* the window that it has offered with that */
    bool acked_any;      /* acked and offered are valid */
    bool progress;       /* acked advanced; the caller of ..._input clears it */
    uint32_t retransmitted; /* packets since the last take_retransmitted */
    uint64_t retransmitted_before; /* packets until then */
    void *ctx;
    /* Sends a packet. Called under the lock, maybe in another endpoint's
     * thread. */
    void (*output)(void *ctx, const void *packet, size_t n);
};

enum wf_sctp_event {
    SCTP_MESSAGE,
    SCTP_UP,
    SCTP_DOWN, /* the peer has ended the association */
    SCTP_NOTHING,
    SCTP_LOST, /* the peer does not answer (kernel only) */
    SCTP_PATH  /* an address of the peer works or fails (kernel only) */
};

struct wf_sctp_message {
    uint16_t stream;
    uint32_t kind; /* chosen by the sender */
    size_t n;
};

/* Joins the stack. Returns WEFT_OK, or an error with its reason in `why`. */
int wf_sctp_stack_enter(char *why, size_t n);
void wf_sctp_stack_leave(void);
void wf_sctp_stack_lock(void);
void wf_sctp_stack_unlock(void);
/* Lets time pass for the stack; runs its timers. */
void wf_sctp_stack_tick(uint64_t now_ns);

int wf_sctp_user_open(struct wf_sctp_user_assoc *,
                      const struct wf_sctp_user_settings *);
/* Closes the association; the peer is not told. */
void wf_sctp_user_close(struct wf_sctp_user_assoc *);
/* Handles a packet that has come. Returns false if it was damaged and
 * dropped. */
bool wf_sctp_user_input(struct wf_sctp_user_assoc *, const void *packet,
                        size_t n);
/* Sends a message. Returns WEFT_OK, WEFT_EAGAIN if there is no room, or
 * WEFT_ELINK. Bulk messages leave some room for others. */
int wf_sctp_user_send(struct wf_sctp_user_assoc *,
                      const struct wf_sctp_message *, const void *data,
                      bool bulk);
/* Receives a message or an event. SCTP_MESSAGE with n == 0 is of no
 * interest. */
enum wf_sctp_event wf_sctp_user_receive(struct wf_sctp_user_assoc *, void *buf,
                                        size_t room, struct wf_sctp_message *);
/* Returns the bytes that were sent, or are to be, and not acknowledged. */
uint32_t wf_sctp_user_unacked(struct wf_sctp_user_assoc *);
/* Tells whether the peer, though it has room, has not acknowledged what was
 * sent. */
bool wf_sctp_user_awaits_ack(struct wf_sctp_user_assoc *);
/* Returns the number of packets retransmitted since the last call. */
uint32_t wf_sctp_user_take_retransmitted(struct wf_sctp_user_assoc *);
/* Returns the number of packets retransmitted since the association began. */
uint64_t wf_sctp_user_retransmissions(struct wf_sctp_user_assoc *);
/* Returns the smoothed round trip; 0 if it is unknown. */
uint32_t wf_sctp_user_rtt_ms(struct wf_sctp_user_assoc *);
/* Adapts the receive buffer; call it now and then where packets get lost. Else
 * the chunks that wait for a lost packet may take the room that it needs. */
void wf_sctp_user_make_room(struct wf_sctp_user_assoc *);

#endif

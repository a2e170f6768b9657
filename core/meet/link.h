/* The connection by which the roots of two groups meet.
 *
 *   dialler                                    listener
 *   magic, tag A, nonce A, HMAC(token, ...)  -->
 *        <--  tag B, nonce B, HMAC(token, all so far)
 *   HMAC(k, all so far)                      -->
 *   frames, each with an HMAC by k, in both directions
 *
 *   k = HMAC(token, "weft pair 1", both nonces, both tags)
 *
 * Both have the token. A stranger, or one that repeats what it has heard, gets
 * no further than the first message, and is hung up on after
 * WF_LINK_HANDSHAKE_NS. Of a descriptor that the program has given
 * (MPI_Comm_join) no byte is read that does not belong to this exchange.
 *
 * LOCK  the API section of the first engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_LINK_H
#define WF_MEET_LINK_H

#include "meet/port_name.h"

struct wf_instance;

#define WF_LINK_HANDSHAKE_NS UINT64_C(10000000000)
enum {
    WF_LINK_HELLO = 76,
    WF_LINK_ANSWER = 68,
    WF_LINK_PROOF = 32,
    WF_LINK_HEAD = 36, /* of a frame: length, HMAC */
    WF_FRAME_MAX = 1 << 28
};

enum wf_link_state {
    WF_LINK_CALLING, /* dialler: connect() goes on */
    WF_LINK_CALLED,  /* listener: waits for the first message */
    WF_LINK_ASKED,   /* dialler: waits for the answer */
    WF_LINK_DOUBTED, /* listener: waits for the proof */
    WF_LINK_OPEN,
    WF_LINK_OVER /* why says the cause */
};

struct wf_port; /* meet/port.c */

struct wf_link_buffer {
    unsigned char *bytes;
    size_t n, room, done;
};

struct wf_meet_link {
    struct wf_list link;  /* of the rank's links */
    struct wf_port *port; /* at which it came; NULL: it was dialled, or taken */
    int fd;
    bool dialled;      /* by this side */
    bool own_fd;       /* it is closed with the link */
    bool starved;      /* it has ended because this process lacks memory */
    bool watches_room; /* EPOLLOUT is asked for */
    enum wf_link_state state;
    uint64_t until; /* ns: it ends then, unless it is open; 0: never */
    unsigned char token[WF_TOKEN], key[WF_TOKEN];
    unsigned char said[WF_LINK_HELLO + WF_LINK_ANSWER]; /* so far */
    struct wf_link_buffer in, out;
    uint64_t frames_in, frames_out;
    bool framed; /* a whole frame is in `in`, and its code is right */
    const char *why;
};

/* Make a link of a connected socket, or of one that connects. NULL: no
 * memory. */
struct wf_meet_link *wf_link_create(int fd, const unsigned char *token,
                                    enum wf_link_state);
void wf_link_free(struct wf_meet_link *);

/* Prepare a socket of TCP: small messages leave at once, and a host that is
 * gone is noticed while this one waits, in seconds. */
void wf_link_set_options(int fd);

/* Whether it leads to another host: the addresses of its ends differ. */
bool wf_link_leaves_host(const struct wf_meet_link *);

/* Do what can be done now: write, read, and answer. Afterwards it may be OPEN,
 * framed, or OVER. */
void wf_link_serve(struct wf_instance *, struct wf_meet_link *);
/* Send a frame as soon as the link is open. False: no memory. */
bool wf_link_send(struct wf_meet_link *, const void *, size_t n);
/* Returns the frame that has come, and its length; the next one is read after
 * wf_link_drop_frame. */
const unsigned char *wf_link_frame(const struct wf_meet_link *, size_t *n);
void wf_link_drop_frame(struct wf_meet_link *);
/* Whether both sides have proved who they are, or never will: for a wait. */
static inline bool wf_link_is_decided(void *link)
{
    const struct wf_meet_link *l = link;

    return l->state == WF_LINK_OPEN || l->state == WF_LINK_OVER;
}

/* Whether an error of a socket says only that nothing can be done now. */
bool wf_link_error_is_temporary(int error);

/* Whether all that was sent has gone to the kernel. */
static inline bool wf_link_is_flushed(const struct wf_meet_link *l)
{
    return l->out.done == l->out.n;
}

#endif

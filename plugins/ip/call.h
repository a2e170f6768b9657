/* Calls: the authenticated handshake over datagrams, for transports that have
 * one socket and many peers.
 *
 *   dialler   HELLO --> (answer) --> PROOF --> (accept) --> link is open
 *   listener            ANSWERED ------> (authenticated) --> link is open
 *                                             +--> PARKED: its own call is
 *                                                          decided first
 *
 * This layer decides which words of the handshake are sent and which of two
 * calls becomes the link; the transport puts words into its own packets, opens
 * links, and ends them. The bodies of the first three words are the messages of
 * weft_host.auth_step.
 *
 * CODES  A transport whose packets can carry an authentication code asks for it
 * in its words (`coded`); both sides use codes when one asks. `salt` is made of
 * the hello and the answer, so that a packet of one link proves nothing on
 * another.
 *
 *   call.c         handshake, being called    call_dial.c  calling, timers
 *   call_record.c  records of calls           link_id.c    ids of calls, links
 *
 * THREADS  none, no locks: the core serialises all calls.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_CALL_H
#define WF_IP_CALL_H

#include "alive.h"
#include "budget.h"
#include "datagram.h"
#include "peer.h"

enum {
    IP_LINKS_MAX = 1 << 16 /* calls and links at one time */
};

enum wf_ip_verb {
    IP_HELLO = 1,
    IP_ANSWER,
    IP_PROOF,
    IP_ACCEPT,
    IP_RESET /* from: the id that belongs to no link here */
};

/* One word of the handshake, without its body. */
struct wf_ip_word {
    enum wf_ip_verb verb;
    uint32_t to, from; /* link ids; to is 0 while the other's is unknown */
    uint32_t room;     /* bytes that the sender of the word accepts at first */
    uint32_t offer;    /* a further value that only the transport interprets */
    bool coded;        /* a code in each packet is wanted, or agreed on */
    weft_loc *loc;     /* ACCEPT, RESET: whose key makes the code; or NULL */
};

/* The calls to and from a peer; the transport's weft_peer holds one. */
struct wf_ip_party {
    weft_peer *peer;
    struct wf_ip_peer *ip; /* the common part of the same */
    struct wf_ip_call *parked;
    int calls;      /* attempts under way */
    uint64_t until; /* ns: it may appear as late as that; 0: it is there */
    bool coded;     /* packets of the link carry a code */
    char *why;      /* why attempts failed */
};

enum wf_ip_call_state {
    CALL_HELLO,    /* dialler: hello sent, or to be sent */
    CALL_PROOF,    /* dialler: proof sent, waiting for ACCEPT */
    CALL_ANSWERED, /* listener: waiting for the proof */
    CALL_PARKED    /* listener: authentic; its own attempt goes first */
};

/* One attempt to open a link, in either direction. */
struct wf_ip_call {
    struct wf_ip_call *next;
    struct wf_ip_party *party; /* NULL until the caller is known */
    enum wf_ip_call_state state;
    bool dialled, warned;
    struct wf_ip_path path;
    struct wf_ip_addr remote;
    uint32_t id, remote_id;
    uint32_t room, offer; /* of the other side */
    bool coded;           /* one of the two wants codes */
    uint64_t salt;        /* distinguishes this link from all others */
    weft_auth *auth;
    uint64_t since, send_at; /* ns: the start; the next repetition */
    unsigned tries, rejections;
    struct wf_ip_alive alive;    /* dialler: of the host that is called */
    int local;                   /* interface, or -1 */
    struct wf_ip_word last_word; /* the last one sent, with its body */
    uint8_t body[WEFT_AUTH_MSG];
    size_t body_n; /* 0: no word was sent yet */
};

/* The owner of a link id; the table is indexed by the id's low half. */
struct wf_ip_id {
    uint32_t id;
    struct wf_ip_call *call;
    struct wf_ip_party *party; /* its link is open */
};

/* The functions of the transport that this layer calls. */
struct wf_ip_call_ops {
    /* Sends a word, best effort. */
    void (*say)(weft_ep *, const struct wf_ip_path *, const struct wf_ip_word *,
                const void *body, size_t n);
    /* Opens the link; its id is call->id. A negative result breaks it. */
    int (*up)(weft_ep *, struct wf_ip_party *, const struct wf_ip_call *);
    /* Records that no link can be opened; progress() reports it:
     * wf_ip_break_party(), but for tests. */
    void (*failed)(struct wf_ip_party *, int status, const char *why);
    /* Handles a RESET of an open link: the peer does not know its id. */
    void (*forgotten)(struct wf_ip_party *, uint32_t id);
    /* Asks the peer by its open link, which it may have dropped: it calls. A
     * RESET answers then. */
    void (*doubted)(struct wf_ip_party *);
    /* Ends an open link whose peer has said goodbye: a new one replaces it. */
    void (*left)(struct wf_ip_party *);
    /* Returns the party of process id, or NULL. */
    struct wf_ip_party *(*party)(weft_ep *, uint32_t id);
    /* Tells whether this process wants a code in each packet. NULL: never. */
    bool (*wants_code)(const weft_ep *);
};

/* A hello that came during a pause, and is answered at its end. */
struct wf_ip_kept_hello {
    struct wf_ip_path path;
    struct wf_ip_word word;
    uint8_t body[WEFT_AUTH_MSG];
};

/* The calls of an endpoint, which sets the first part. */
struct wf_ip_calls {
    weft_ep *ep;
    const struct wf_ip_call_ops *ops;
    const weft_host *host;
    weft_core *core;
    const struct wf_ip_endpoint *ip;
    uint32_t me, room, offer; /* own process; values for own words */
    uint64_t start, connect_timeout, handshake_timeout; /* ns */
    struct wf_ip_watch *watch;

    struct wf_ip_call *first;
    int pending, dialling;   /* callers without proof; own attempts */
    uint64_t next_forget_at; /* ns: no caller is forgotten before */
    struct wf_ip_budget caller_budget;
    struct wf_ip_kept_hello kept_hello[IP_BUNDLE];
    unsigned kept;             /* of kept_hello[] */
    bool said_auth;            /* the warning about wrong keys was given */
    uint64_t shortage_since;   /* ns: no memory for callers; 0: there is */
    uint64_t refused, foreign_packets; /* counters: callers, foreign packets */
    struct wf_ip_id *ids;
    uint32_t ids_n, ids_hint;
};

/* Sets all but the timeouts, room and offer. */
void wf_ip_calls_init(struct wf_ip_calls *, struct wf_ip_endpoint *,
                      const struct wf_ip_call_ops *, struct wf_ip_watch *);
void wf_ip_break_party(struct wf_ip_party *, int status, const char *why);
/* Frees everything. */
void wf_ip_calls_free(struct wf_ip_calls *);
/* Starts to call the party. It reports nothing itself: the outcome comes from
 * progress(). */
void wf_ip_dial_party(struct wf_ip_calls *, struct wf_ip_party *);
/* Ends every attempt and parked call of this party. */
void wf_ip_hang_up(struct wf_ip_calls *, struct wf_ip_party *);
/* Returns the silence of the host of a party that is being called, as
 * weft_ops.silent does: nothing is known of the process itself. */
uint64_t wf_ip_calls_silent_ns(struct wf_ip_calls *, const struct wf_ip_party *,
                               uint64_t within);
/* Handles a word that has come, undamaged, with n bytes of body. */
void wf_ip_take_word(struct wf_ip_calls *, const struct wf_ip_path *,
                const struct wf_ip_word *, const void *body, size_t n);
/* Handles an error that the kernel reports about datagrams to that address.
 * Returns false if no attempt goes there. */
bool wf_ip_call_handle_error(struct wf_ip_calls *, const struct wf_ip_path *,
                      int error);
void wf_ip_calls_run_timers(struct wf_ip_calls *, uint64_t now);
/* Returns when wf_ip_calls_run_timers() has something to do; 0: never. */
uint64_t wf_ip_calls_deadline(const struct wf_ip_calls *);
static inline bool wf_ip_calls_have_timer(const struct wf_ip_calls *c)
{
    return c->first || c->caller_budget.pause;
}

/* Returns the owner of a link id, or NULL. */
struct wf_ip_id *wf_ip_find_id(struct wf_ip_calls *, uint32_t id);
/* Returns whose link, or whose call, has this id; NULL: nobody's that is
 * known. */
weft_loc *wf_ip_find_loc(struct wf_ip_calls *, uint32_t id);
/* Takes a link id from the party, if it has it: the link has ended. */
void wf_ip_release_id(struct wf_ip_calls *, uint32_t id,
                      const struct wf_ip_party *);
/* Tells the other side that `unknown` belongs to no link here. */
void wf_ip_send_reset(struct wf_ip_calls *, const struct wf_ip_path *,
                      uint32_t to, uint32_t unknown);

/* The rest is shared by the files of this layer only. */

static inline uint64_t wf_ip_calls_now(const struct wf_ip_calls *c)
{
    return c->host->now_ns(c->core);
}
/* Tells whether this process wants a code in each packet. */
static inline bool wf_ip_calls_want_code(const struct wf_ip_calls *c)
{
    return c->ops->wants_code && c->ops->wants_code(c->ep);
}

/* Answers the kept hellos at the end of a pause. */
void wf_ip_call_answer_kept(struct wf_ip_calls *, uint64_t now);
/* Returns a free slot with a new id; the caller sets call or party. NULL: there
 * is none. */
struct wf_ip_id *wf_ip_new_id(struct wf_ip_calls *);
/* Gives the call another id, so that answers to earlier words do not reach it.
 */
bool wf_ip_call_renew_id(struct wf_ip_calls *, struct wf_ip_call *);
struct wf_ip_call *wf_ip_call_new(struct wf_ip_calls *,
                                  const struct wf_ip_path *);
void wf_ip_call_free(struct wf_ip_calls *, struct wf_ip_call *);
/* Sends the last word again. */
void wf_ip_call_resend(struct wf_ip_calls *, const struct wf_ip_call *);
/* Performs one step of the handshake on the message that has come, if any, and
 * sends its result. Returns the result of auth_step(); *whom is the process at
 * the other side, or the one that is called. */
int wf_ip_call_step(struct wf_ip_calls *, struct wf_ip_call *, const void *in,
                    size_t n, uint32_t *whom);
/* Ends an attempt that does not work. If it was the last of its party, dialling
 * has failed. */
void wf_ip_call_fail(struct wf_ip_calls *, struct wf_ip_call *, int status,
                     const char *what);
/* Ends all attempts of the party but `keep`. */
void wf_ip_end_attempts(struct wf_ip_calls *, const struct wf_ip_party *,
                        const struct wf_ip_call *keep);
/* Handles that no attempt is left: it accepts the parked call, or reports the
 * failure. */
void wf_ip_fail_dialling(struct wf_ip_calls *, struct wf_ip_party *,
                         int status);
/* Agrees on codes if one side wants them, and derives the salt of this link
 * from hello and answer. */
void wf_ip_call_agree_codes(struct wf_ip_calls *, struct wf_ip_call *,
                            const struct wf_ip_word *, const void *hello,
                            const void *answer);
void wf_ip_handle_answer(struct wf_ip_calls *, struct wf_ip_call *,
                         const struct wf_ip_word *, const void *body);
/* Handles that the peer does not know the call: it had no room for it, does not
 * want it, or has no memory. The call is repeated from the hello. */
void wf_ip_handle_rejection(struct wf_ip_calls *, struct wf_ip_call *);

#endif

/* Calls: the authenticated handshake over datagrams, for transports that have
 * one socket and many peers.
 *
 *   dialler   HELLO --> (answer) --> PROOF --> (accept) --> link is open
 *   listener            ANSWERED --------> (who is it?) --> link is open
 *                                             +--> PARKED: ours goes first
 *
 * This layer says what is to be said and decides who stays; the transport puts
 * words into its own packets, opens links, and ends them. The bodies of the
 * first three words are those of weft_host.auth_step.
 *
 * CODES  A transport whose packets carry a code says so in its words
 * (`coded`); both sides use them when one wants to. `salt` is made of what both
 * said, so that a packet of one link proves nothing on another.
 *
 *   call.c     records, being called      call_dial.c  calling, time
 *   link_id.c  ids of calls and links
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

enum {
    IP_PENDING_MAX = 64,     /* callers not yet authenticated */
    IP_LINKS_MAX = 1 << 16   /* calls and links at one time */
};

enum wf_ip_verb {
    IP_HELLO = 1,
    IP_ANSWER,
    IP_PROOF,
    IP_ACCEPT,
    IP_RESET /* from: the id that nobody has here */
};

struct wf_ip_word {
    enum wf_ip_verb verb;
    uint32_t to, from; /* link ids; to 0: nobody yet */
    uint32_t room;     /* what the speaker takes at first */
    uint32_t offer;    /* what else he has, to the transport's own meaning */
    bool coded;        /* he wants a code in each packet, or it was agreed on */
};

enum wf_ip_party_state {
    PARTY_IDLE,
    PARTY_DIALLING,
    PARTY_OPEN,
    PARTY_BROKEN, /* the end is due to be reported, or was */
    PARTY_LEFT    /* said goodbye, and is gone */
};

/* A peer, as calls see it; the transport's weft_peer holds one. */
struct wf_ip_party {
    weft_peer *peer;
    uint32_t id; /* process */
    enum wf_ip_party_state state;
    struct wf_ip_book *book;
    struct wf_ip_call *parked;
    int calls;      /* attempts under way */
    uint64_t until; /* an absent peer may appear before; 0: it is there */
    bool met;       /* was connected once */
    bool leaving;   /* its goodbye was heard */
    bool coded;     /* packets of the link carry a code */
    char *why;      /* what became of the attempts */
};

enum wf_ip_call_state {
    CALL_HELLO,    /* dialler: hello sent, or to be sent */
    CALL_PROOF,    /* dialler: proof sent, waiting for ACCEPT */
    CALL_ANSWERED, /* listener: waiting for the proof */
    CALL_PARKED    /* listener: authentic; my own attempt goes first */
};

struct wf_ip_call {
    struct wf_ip_call *next;
    struct wf_ip_party *party; /* NULL until the caller is known */
    enum wf_ip_call_state state;
    bool dialled, warned;
    struct wf_ip_path path;
    struct wf_ip_addr remote;
    uint32_t id, remote_id;
    uint32_t room, offer; /* of the other side */
    bool coded;    /* one of the two wants codes */
    uint64_t salt; /* by which this link differs from all others */
    weft_auth *auth;
    uint64_t since, say_at;
    unsigned tries, refusals;
    struct wf_ip_alive alive; /* dialler: does anybody live there? */
    int local; /* interface, or -1 */
    struct wf_ip_word said;
    uint8_t body[WEFT_AUTH_MSG];
    size_t body_n; /* 0: nothing was said yet */
};

struct wf_ip_id { /* by the low half of a link id */
    uint32_t id;
    struct wf_ip_call *call;
    struct wf_ip_party *party; /* its link is open */
};

struct wf_ip_call_ops {
    /* Send, best effort. */
    void (*say)(weft_ep *, const struct wf_ip_path *, const struct wf_ip_word *,
                const void *body, size_t n);
    /* Open the link; the id is call->id. A negative answer breaks it. */
    int (*up)(weft_ep *, struct wf_ip_party *, const struct wf_ip_call *);
    /* The link cannot be had; to be reported. */
    void (*failed)(struct wf_ip_party *, int status, const char *why);
    /* Nobody there knows this open link by that id any more. */
    void (*forgotten)(struct wf_ip_party *, uint32_t id);
    /* An open link whose peer took leave: end it, its successor is here. */
    void (*left)(struct wf_ip_party *);
    /* The party with that number, or NULL. */
    struct wf_ip_party *(*party)(weft_ep *, uint32_t id);
    /* Does this process want a code in each packet? NULL: never. */
    bool (*wants_code)(const weft_ep *);
};

/* A hello that came during a pause of strangers. */
struct wf_ip_stranger {
    struct wf_ip_path path;
    struct wf_ip_word word;
    uint8_t body[WEFT_AUTH_MSG];
};

struct wf_ip_calls { /* of an endpoint; the first part is set by it */
    weft_ep *ep;
    const struct wf_ip_call_ops *ops;
    const weft_host *host;
    weft_core *core;
    const struct wf_ip_place *ip;
    uint32_t me, room, offer;
    uint64_t start, connect_timeout, handshake_timeout;
    struct wf_ip_watch *watch;

    struct wf_ip_call *first;
    int pending, dialling;       /* strangers; calls of our own */
    uint64_t forget_at;          /* the first of them; not before */
    struct wf_ip_budget strangers;
    struct wf_ip_stranger waiting[IP_BUNDLE];
    unsigned waits;
    bool said_auth; /* the warning about wrong keys was given */
    uint64_t short_since; /* there is no memory for callers; 0: there is */
    uint64_t refused, strange;
    struct wf_ip_id *ids;
    uint32_t ids_n, ids_hint;
};

void wf_ip_call_end(struct wf_ip_calls *); /* frees everything */
/* Begin. Reports nothing by itself: the outcome comes from progress(). */
void wf_ip_dial(struct wf_ip_calls *, struct wf_ip_party *);
/* Forget every attempt and caller of this party. */
void wf_ip_hang_up(struct wf_ip_calls *, struct wf_ip_party *);
/* A word that has come, intact; n bytes of body. */
void wf_ip_hear(struct wf_ip_calls *, const struct wf_ip_path *,
                const struct wf_ip_word *, const void *body, size_t n);
/* The kernel reports an error about datagrams to there. False: no attempt goes
 * there. */
bool wf_ip_call_error(struct wf_ip_calls *, const struct wf_ip_path *,
                      int error);
void wf_ip_call_timers(struct wf_ip_calls *, uint64_t now);
uint64_t wf_ip_call_deadline(const struct wf_ip_calls *); /* 0: none */
static inline bool wf_ip_calls_timed(const struct wf_ip_calls *c)
{
    return c->first || c->strangers.pause;
}

struct wf_ip_id *wf_ip_id_find(struct wf_ip_calls *, uint32_t id);
void wf_ip_reset(struct wf_ip_calls *, const struct wf_ip_path *, uint32_t to,
                 uint32_t unknown);

/* Between the files of this layer. */
void wf_ip_call_bundle(struct wf_ip_calls *, uint64_t now);
struct wf_ip_id *wf_ip_id_new(struct wf_ip_calls *); /* set call or party */
bool wf_ip_call_renew(struct wf_ip_calls *, struct wf_ip_call *);
struct wf_ip_call *wf_ip_call_new(struct wf_ip_calls *,
                                  const struct wf_ip_path *);
void wf_ip_call_free(struct wf_ip_calls *, struct wf_ip_call *);
void wf_ip_call_repeat(struct wf_ip_calls *, const struct wf_ip_call *);
int wf_ip_call_step(struct wf_ip_calls *, struct wf_ip_call *, const void *in,
                    size_t n, uint32_t *whom);
void wf_ip_call_failed(struct wf_ip_calls *, struct wf_ip_call *, int status,
                       const char *what);
void wf_ip_dial_end(struct wf_ip_calls *, const struct wf_ip_party *,
                    const struct wf_ip_call *keep);
void wf_ip_dial_failed(struct wf_ip_calls *, struct wf_ip_party *, int status);
/* One of the two wants codes; hello and answer make them those of this link. */
void wf_ip_call_agree(struct wf_ip_calls *, struct wf_ip_call *,
                      const struct wf_ip_word *, const void *hello,
                      const void *answer);
void wf_ip_on_answer(struct wf_ip_calls *, struct wf_ip_call *,
                     const struct wf_ip_word *, const void *body);
void wf_ip_turned_away(struct wf_ip_calls *, struct wf_ip_call *);

#endif

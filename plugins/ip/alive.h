/* Tells whether a silent peer still exists: it asks the peer and its host,
 * collects signs of life, and reaches a verdict.
 *
 * A sign of life is an answer: something that the peer, or its host, can have
 * said only after it received what was sent to it. Data that arrives by itself
 * is none, for it proves only one direction of the path.
 *
 * HOST  A process that computes answers nothing, and lives. Its kernel answers
 * all the same: a connection to the TCP port "discard" (RFC 863) is refused, or
 * accepted, at once. A host that has answered so before, and does not any more,
 * has stopped or cannot be reached. Where a firewall drops such connection
 * requests nothing is known of a silent peer, and nothing is concluded.
 *
 * DEAF  A process that is seen to run, for it asks by itself or sends something
 * again, and yet answers nothing, is not computing: either nothing, or nothing
 * large, of what this process sends reaches it. Answers of its host are no
 * excuse then. A process that has much to read may send long before it reads
 * what came from here: a packet shows that it runs only if it had found its
 * sockets empty, or had read something later from here. It may have run for a
 * moment between two computations, and answers may be lost; so it must be seen
 * several times, and each time proves only that much of the silence:
 *
 *   last answer     seen      seen            seen        now
 *   |<-- counts -->|<-counts->|<- counts ->....|<- counts ->|
 *                               at most three tenths of the limit
 *
 * TIME  Silence is measured from the last sign, but counts only if enough
 * questions stayed unanswered: a process that did not run for a while has asked
 * nothing.
 *
 *   sign ---- a quarter of the limit, at most `every` ----> question
 *   question ---- a twentieth of the limit ----> the next, until a sign comes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_ALIVE_H
#define WF_IP_ALIVE_H

#include "ip.h"

/* The most connection requests that wait for one host's answer at a time. */
enum { IP_HOST_REQUESTS = 4 };

/* The settings and the count that all peers of an endpoint share. */
struct wf_ip_watch {
    uint64_t every;    /* ns without a sign until a peer is asked; 0: never */
    uint64_t vanished; /* ns of silence that end a link; 0: none does */
    bool local;        /* all peers are on this machine: no host is asked */
    int open;          /* connection requests to hosts that are under way */
};

/* The state of one peer. All times are in ns. */
struct wf_ip_alive {
    uint64_t sign;       /* when the last sign was seen, or the watch began */
    uint64_t asked;      /* when the last question left; 0: none has */
    uint64_t within;     /* the silence that the core asks about; 0: none */
    uint64_t host;       /* when the request left that the host answered last */
    unsigned unanswered; /* questions since the last sign */
    uint64_t answer;     /* when the peer itself gave the last sign */
    uint64_t seen;       /* when it was seen to run after that; 0: it was not */
    uint64_t excused;    /* time after `answer` in which it may have computed */
    unsigned ignored;    /* questions since `answer` */
    bool known;          /* the host has answered */
    bool answers_read;   /* the host's, since the last question */
    int next_slot;       /* of fd[] and called[] */
    int fd[IP_HOST_REQUESTS];     /* connection requests under way, or -1 */
    uint64_t called[IP_HOST_REQUESTS]; /* when they left */
};

/* The options of the transports over datagrams that limit waits.
 * OPTION(member, type, default, range, help) makes one. */
/* clang-format off */
#define WF_IP_TIME_OPTIONS(OPTION)                                             \
    OPTION(connect_timeout, WEFT_OPT_TIME, "60s", "100ms..3600s",              \
           "a peer that is called for the first time is given up when neither "\
           "it nor its host has answered anything for so long"),               \
    OPTION(handshake_timeout, WEFT_OPT_TIME, "2s", "100ms..3600s",             \
           "time for a caller to prove that it belongs to the job"),           \
    OPTION(unreachable, WEFT_OPT_TIME, "5s", "0..3600s",                       \
           "a peer to which the system has known no way for so long is given " \
           "up"),                                                              \
    OPTION(keepalive, WEFT_OPT_TIME, "2s", "0..3600s",                         \
           "a peer that has acknowledged nothing for so long, or for a "       \
           "quarter of 'vanished', is asked whether it is there; 0: never"),   \
    OPTION(vanished, WEFT_OPT_TIME, "10s", "0..3600s",                         \
           "a peer that does not answer, and whose host does not any more, "   \
           "for so long is given up; 0: never")
/* clang-format on */

void wf_ip_alive_begin(struct wf_ip_alive *, uint64_t now);
void wf_ip_alive_end(struct wf_ip_watch *, struct wf_ip_alive *);

/* Records that the peer has answered, at `when`, what was sent to it. */
static inline void wf_ip_alive_note_answer(struct wf_ip_alive *a, uint64_t when)
{
    if (when > a->answer)
        a->answer = when;
    a->seen = a->excused = 0;
    a->ignored = 0;
    if (when <= a->sign)
        return;
    a->sign = when;
    a->unanswered = 0;
}

/* Records that the peer runs: a packet came that it sent after it had read what
 * had arrived there. The packet is no sign of life, for it confirms nothing
 * that was sent from here, or not what it should. */
void wf_ip_alive_note_running(const struct wf_ip_watch *, struct wf_ip_alive *,
                      uint64_t now);

/* Reads the answers of the host. They are signs of life only if `counts`: the
 * transport may know better. */
void wf_ip_alive_read_answers(struct wf_ip_watch *, struct wf_ip_alive *,
                              bool counts);

/* Returns for how many ns neither the peer nor its host has ever answered; 0:
 * one has, or they were not asked enough. */
uint64_t wf_ip_alive_unknown_ns(const struct wf_ip_watch *,
                             const struct wf_ip_alive *, uint64_t now);

/* Returns when the next question is due; 0: never. */
uint64_t wf_ip_alive_deadline(const struct wf_ip_watch *,
                              const struct wf_ip_alive *);

/* Asks the host, from the address `from`; the transport asks the process
 * itself. */
void wf_ip_alive_ask_host(struct wf_ip_watch *, struct wf_ip_alive *,
                          uint64_t now, const struct wf_ip_addr *host,
                          const struct wf_ip_addr *from);

/* Returns the silence of the peer, as weft_ops.silent does. */
uint64_t wf_ip_alive_silent_ns(const struct wf_ip_watch *,
                            const struct wf_ip_alive *, uint64_t now);

/* Returns the time since the last sign. Unless `sure`, which the transport may
 * decide by what it knows, the result stays below the limit. */
uint64_t wf_ip_alive_quiet_ns(const struct wf_ip_watch *,
                           const struct wf_ip_alive *, uint64_t now, bool sure);

enum { IP_REASON_BYTES = 200 /* bytes of a reason */ };

/* Reads answers, and asks if that is due: ask() asks the peer itself, and calls
 * wf_ip_alive_ask_host. Returns false if the peer is to be given up; then why[]
 * is the rest of a sentence about it. */
bool wf_ip_alive_check(struct wf_ip_watch *, struct wf_ip_alive *, uint64_t now,
                      void (*ask)(void *ctx, uint64_t now), void *ctx,
                      char why[IP_REASON_BYTES]);

#endif

/* Does a silent peer still exist? Questions, signs of life, and a verdict.
 *
 * A sign of life is an answer: something that the peer, or its host, can have
 * said only after it received what was sent to it. Data that arrives by itself
 * is none, for it proves only one direction of the path.
 *
 * HOST  A process that computes answers nothing, and lives. Its kernel answers
 * all the same: a connection to the TCP port "discard" (RFC 863) is refused, or
 * accepted, at once. A host that has answered so before, and does not any more,
 * has stopped or cannot be reached. Where a firewall swallows such calls nothing
 * is known of a silent peer, and nothing is concluded.
 *
 * DEAF  A process that is seen to run, for it asks by itself or sends something
 * again, and yet answers nothing, is not computing: ours does not reach it, or
 * nothing large does. Answers of its host are no excuse then. A process that has
 * much to read may send long before it reads ours: a packet shows that it runs
 * only if it had found its sockets empty, or had read something later of ours.
 * It may have run for a moment between two computations, and answers may be
 * lost; so it must be seen several times, and each time proves only that much of
 * the silence:
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

enum { IP_ASKS = 4 /* calls of one host at a time */ };

/* The same for all peers of an endpoint. */
struct wf_ip_watch {
    uint64_t every;    /* ns without a sign after which a peer is asked; 0: never */
    uint64_t vanished; /* ns of silence that end a link; 0: none does */
    bool local;        /* all peers are on this machine: no host is asked */
    int open;          /* calls of hosts that are under way */
};

struct wf_ip_alive {
    uint64_t sign;       /* when the last sign was seen, or the watch began */
    uint64_t asked;      /* when the last question left; 0: none has */
    uint64_t within;     /* ns of silence that somebody wants to know; 0: none */
    uint64_t host;       /* when the call left that the host answered last */
    unsigned unanswered; /* questions since the last sign */
    uint64_t answer;     /* when the peer itself gave the last sign */
    uint64_t seen;       /* when it was seen to run after that; 0: it was not */
    uint64_t excused;    /* ns after `answer` in which it may have computed */
    unsigned ignored;    /* questions since `answer` */
    bool known;          /* the host has answered */
    bool looked;         /* for answers, since the last question */
    int next;            /* of the slots below */
    int fd[IP_ASKS];     /* calls of the host that are under way, or -1 */
    uint64_t called[IP_ASKS]; /* when they left */
};

/* Options of the transports over datagrams: how long each wait may last.
 * OPTION(member, type, default, range, help) makes one. */
#define WF_IP_WAITS(OPTION)                                                    \
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

void wf_ip_alive_begin(struct wf_ip_alive *, uint64_t now);
void wf_ip_alive_end(struct wf_ip_watch *, struct wf_ip_alive *);
/* The peer has answered what was sent to it. */
static inline void wf_ip_alive_sign(struct wf_ip_alive *a, uint64_t when)
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
/* The peer runs: this packet was sent after it had read what had come. But the
 * packet is no sign: it confirms nothing of ours, or not what it should. */
void wf_ip_alive_runs(const struct wf_ip_watch *, struct wf_ip_alive *,
                      uint64_t now);
/* Read the answers of the host. They are signs, unless the transport knows
 * better: `counts`. */
void wf_ip_alive_hear(struct wf_ip_watch *, struct wf_ip_alive *, bool counts);
/* For how long neither the peer nor its host has ever answered; 0: one has, or
 * they were not asked enough. */
uint64_t wf_ip_alive_unknown(const struct wf_ip_watch *,
                             const struct wf_ip_alive *, uint64_t now);
/* When the next question is due; 0: never. */
uint64_t wf_ip_alive_deadline(const struct wf_ip_watch *,
                              const struct wf_ip_alive *);
/* Ask the host; the transport asks the process itself. from: the address that
 * the call leaves from. */
void wf_ip_alive_ask(struct wf_ip_watch *, struct wf_ip_alive *, uint64_t now,
                     const struct wf_ip_addr *host,
                     const struct wf_ip_addr *from);
/* As weft_ops.silent. */
uint64_t wf_ip_alive_silent(const struct wf_ip_watch *,
                            const struct wf_ip_alive *, uint64_t now);
/* The same where the transport knows better what can be told: it is sure that
 * there was no sign. */
uint64_t wf_ip_alive_quiet(const struct wf_ip_watch *,
                           const struct wf_ip_alive *, uint64_t now, bool sure);
enum { IP_WHY = 200 };
/* Read answers, and ask if that is due: ask() asks the peer itself, and calls
 * wf_ip_alive_ask. False: the peer is to be given up, and why[] is the rest of a
 * sentence about it. */
bool wf_ip_alive_turn(struct wf_ip_watch *, struct wf_ip_alive *, uint64_t now,
                      void (*ask)(void *ctx, uint64_t now), void *ctx,
                      char why[IP_WHY]);

#endif

/* A mailbox: where all other ranks of the process put what they send to one.
 *
 *      tail (claimed by senders)                    head (the owner)
 *        v                                            v
 *      | free | ... | being written | line | line line | line | free |
 *
 * A container takes consecutive lines of 64 bytes:
 *
 *   first line   word | env0 | env1 | 40 bytes of payload, or the rest of a
 *                                     long header
 *   further      64 bytes of payload each
 *
 *   word = type, version, flags 32 | payload bytes 18 | sender 14
 *
 * A sender claims its lines by moving tail, writes them, and stores the word
 * last. The owner looks at one line only, the next one, whoever sends. It
 * clears the first word of each line before it moves head over them, so that a
 * word that is not 0 is news. A container does not go around the end: lines up
 * to there are skipped (MAIL_PAD), which may have to be consumed before the
 * container has room.
 *
 * DESIGN  One ring per receiver, not per pair: a thousand ranks have a thousand
 * rings, and to look for mail costs the same for two as for a thousand. The
 * price is one atomic operation for each container. It pays for the bell too:
 * the lowest bit of tail says that the owner sleeps, so whoever claims lines
 * learns it without a fence, and nobody misses it.
 *
 * INVARIANTS  tail - head <= the ring's lines, a power of two; a mailbox lives as long as its owner
 * or a peer refers to it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MAILBOX_H
#define WF_MAILBOX_H

#include <stdbool.h>
#include <string.h>

#include "os/atomic.h"
#include "weft_transport.h"

enum {
    MAIL_LINE = 64,
    MAIL_LINES_MIN = 512,
    MAIL_FIRST = 40,   /* payload in the first line */
    MAIL_MAX = 65536,  /* payload of a container; never more than half of
                          the ring */
    MAIL_SENDERS = 1 << 14,
    /* frames of our own */
    MAIL_PAD = 0xF0,   /* env0: lines to skip */
    MAIL_ASSIST = 0xF1, /* env0: claim of the sender's job: assist.c */
    MAIL_REFUSE = 0xF2  /* the sender does not take our messages */
};
#define MAIL_ASLEEP 1u /* in tail */

struct mail_line {
    wf_atomic_u64 word;
    uint64_t env[2];
    uint8_t data[MAIL_FIRST];
};

/* A copy that two ranks share: assist.c. */
struct mail_job {
    wf_atomic_u64 claim; /* assist.c */
    wf_atomic_u32 done;  /* pieces that the assistant has copied, from the end */
    uint32_t pieces, piece, first; /* bytes of a piece, and of the first */
    bool around; /* the caches */
    const char *from;
    char *to;
    size_t len;
};

struct mailbox {
    _Alignas(64) wf_atomic_u64 tail; /* lines claimed * 2 + MAIL_ASLEEP */
    _Alignas(64) wf_atomic_u64 head; /* lines the owner is done with */
    wf_atomic_u32 hungry; /* 1 + sender that waits for room */
    _Alignas(64) struct mail_job job; /* of the owner */
    _Alignas(64) struct mail_line *lines;
    uint32_t mask; /* lines - 1 */
    int bell; /* eventfd */
    uint32_t index, generation, loc_id;
    wf_atomic_u32 refs;
    wf_atomic_u32 closed; /* enum mail_end */
};
enum mail_end { MAIL_OPEN, MAIL_LEAVING, MAIL_GONE };

/* What a sender remembers of a mailbox. */
struct mail_claim {
    struct mail_line *first;
    bool asleep; /* ring when it is written */
};

static inline struct mail_line *mail_at(const struct mailbox *m, uint64_t at)
{
    return &m->lines[at & m->mask];
}

static inline uint64_t mail_word(uint64_t h0, uint32_t from)
{
    return (h0 & 0xffffffffu) | (h0 >> 32) << 32 | (uint64_t)from << 50;
}

#define MAIL_WORD_LEN ((((uint64_t)1 << 18) - 1) << 32)

static inline uint32_t mail_from(uint64_t word)
{
    return (uint32_t)(word >> 50);
}

/* The first word of the container's header. */
static inline uint64_t mail_header(uint64_t word)
{
    return word & (((uint64_t)1 << 50) - 1);
}

/* Lines of a container. */
static inline uint32_t mail_count(bool is_short, uint32_t plen)
{
    uint32_t here = is_short ? MAIL_FIRST : 0;
    return 1 + (plen > here ? (plen - here + MAIL_LINE - 1) / MAIL_LINE : 0);
}

/* The lines up to the end were claimed: mark them, and claim n behind. */
bool wf_mail_padded(struct mailbox *, uint32_t n, uint32_t lines,
                    uint64_t *seen, uint32_t from, struct mail_claim *);

/* Claim n lines. *seen: head as far as this sender knows. False: no room. */
static inline bool mail_claim(struct mailbox *m, uint32_t n, uint64_t *seen,
                              uint32_t from, struct mail_claim *c)
{
    uint64_t tail = wf_load_relaxed(&m->tail), at;
    uint32_t take, left;

    do {
        at = tail >> 1;
        left = m->mask + 1 - (uint32_t)(at & m->mask);
        take = n > 1 && n > left ? left : n; /* the pad first, and by itself */
        if (at + take - *seen > (uint64_t)m->mask + 1) {
            /* pairs with the release in mail_done: the words are cleared */
            *seen = wf_load_acquire(&m->head);
            if (at + take - *seen > (uint64_t)m->mask + 1)
                return false;
        }
    } while (!wf_cas_acq_rel(&m->tail, &tail, (at + take) << 1));
    *c = (struct mail_claim){mail_at(m, at), tail & MAIL_ASLEEP};
    return __builtin_expect(take == n, 1) ||
           wf_mail_padded(m, n, take, seen, from, c);
}

/* At most MAIL_FIRST bytes, of which most messages have few. */
static inline void mail_copy(void *dst, const void *src, uint32_t n)
{
    uint8_t *to = dst;
    const uint8_t *from = src;

    if (n < 8) {
        if (n >= 4) {
            memcpy(to, from, 4);
            memcpy(to + n - 4, from + n - 4, 4);
        } else if (n) {
            to[0] = from[0];
            to[n / 2] = from[n / 2];
            to[n - 1] = from[n - 1];
        }
    } else if (n <= 16) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else {
        memcpy(to, from, 16);
        if (n > 32)
            memcpy(to + 16, from + 16, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    }
}

/* Get a line for writing, ahead of time. The address need not be valid. */
static inline void mail_own(const void *line)
{
#if defined(__x86_64__)
    /* older processors, for which compilers leave it out, take it as a no-op */
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* A quarter full at most: time to try again. */
static inline bool mail_roomy(const struct mailbox *m)
{
    return (wf_load_relaxed(&m->tail) >> 1) - wf_load_acquire(&m->head) <=
           m->mask / 4;
}

/* Wake the owner if it sleeps and nobody has woken it yet. */
void wf_mail_wake(struct mailbox *);
void wf_mail_ring(const struct mailbox *);

/* Everything is written: let the owner see it. */
static inline void mail_publish(const struct mailbox *m,
                                const struct mail_claim *c, uint64_t word)
{
    /* pairs with the acquire in mail_peek */
    wf_store_release(&c->first->word, word);
    if (__builtin_expect(c->asleep, 0))
        wf_mail_ring(m);
}

/* The owner: the word of the next container, or 0. */
static inline uint64_t mail_peek(const struct mailbox *m, uint64_t head)
{
    return wf_load_acquire(&mail_at(m, head)->word);
}

/* The owner has consumed n lines. */
static inline void mail_done(struct mailbox *m, uint64_t *head, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        wf_store_relaxed(&mail_at(m, *head + i)->word, 0);
    *head += n;
    wf_store_release(&m->head, *head); /* pairs with the acquire in mail_claim */
}

/* ---- registry.c: the mailboxes of this process ------------------------------- */

struct mail_address {
    uint64_t process[2]; /* random */
    uint32_t index, generation;
};

/* A new mailbox of that many lines, rounded up, registered; NULL with *error. */
struct mailbox *wf_mail_open(uint32_t loc_id, uint32_t lines, int *error);
/* Its owner goes. */
void wf_mail_close(struct mailbox *);
void wf_mail_address(const struct mailbox *, struct mail_address *);
/* A reference to the mailbox of an address, or NULL: it is gone. */
struct mailbox *wf_mail_find(const struct mail_address *);
void wf_mail_put(struct mailbox *);
/* Which process a sender is, or -1: it is gone. */
int64_t wf_mail_loc_id(uint32_t index);
/* Tell a sender that its messages are not taken, if there is room. */
void wf_mail_refuse(uint32_t index, uint32_t me);
/* Wake that one, if it sleeps. */
void wf_mail_wake_index(uint32_t index);
/* How many have gone without saying so. */
uint32_t wf_mail_deaths(void);

#endif

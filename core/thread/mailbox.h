/* A mailbox: the queue into which all other ranks of the process put what they
 * send to its owner.
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
 * last. The owner polls only the next line, whichever rank sends. It clears the
 * first word of each line before it moves head over them, so that a word other
 * than 0 is a new container. A container does not wrap around the end of the
 * ring: the lines up to there are skipped (MAIL_PAD), and may have to be
 * consumed before the container has room.
 *
 * DESIGN  There is one ring per receiver, not per pair: a thousand ranks have a
 * thousand rings, and polling costs the same for two ranks as for a thousand.
 * The price is one atomic operation for each container. The same operation pays
 * for the bell: the lowest bit of tail says that the owner sleeps, so a sender
 * that claims lines learns it without a fence, and none misses it.
 *
 * INVARIANTS  tail - head <= the lines of the ring, which are a power of two. A
 * mailbox lives as long as its owner or a peer refers to it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MAILBOX_H
#define WF_MAILBOX_H

#include <stdbool.h>
#include <string.h>

#include "os/atomic.h"
#include "process/ranks.h"
#include "thread/registry.h"
#include "weft_transport.h"

enum {
    MAIL_LINE = 64,
    MAIL_LINES_MIN = 512,
    MAIL_FIRST = 40,  /* payload in the first line */
    MAIL_MAX = 65536, /* payload of a container; at most half of the ring */
    MAIL_SENDERS = WF_RANK_THREADS_MAX,
    /* types of frames of this transport itself */
    MAIL_PAD = 0xF0,    /* env0: lines to skip */
    MAIL_ASSIST = 0xF1, /* env0: claim word of the sender's job (assist.c) */
    MAIL_REFUSE = 0xF2  /* the sender does not take messages from here */
};
#define MAIL_ASLEEP 1u /* bit of tail: the owner sleeps */

struct mail_line {
    wf_atomic_u64 word;
    uint64_t env[2];
    uint8_t data[MAIL_FIRST];
};

/* A copy that two ranks share (assist.c). */
struct mail_job {
    wf_atomic_u64 claim; /* generation, pieces, next piece: claim_word() */
    wf_atomic_u32 done;  /* pieces that the sender has copied, from the end */
    uint32_t pieces;     /* number of pieces */
    uint32_t piece;      /* bytes of a piece but the first */
    uint32_t first;      /* bytes of the first piece */
    bool nontemporal;    /* copy by non-temporal stores */
    const char *from;
    char *to;
    size_t len;
};

struct mailbox {
    _Alignas(64) wf_atomic_u64 tail;  /* lines claimed * 2 + MAIL_ASLEEP */
    _Alignas(64) wf_atomic_u64 head;  /* lines that the owner has consumed */
    wf_atomic_u32 waiting_for_space;  /* 1 + index of a waiting sender, or 0 */
    _Alignas(64) struct mail_job job; /* of the owner, as receiver */
    _Alignas(64) struct mail_line *lines;
    uint32_t mask; /* lines - 1 */
    int bell;      /* eventfd */
    uint32_t index, generation, loc_id;
    wf_atomic_u32 refs;
    wf_atomic_u32 closed; /* enum mail_end */
};
enum mail_end { MAIL_OPEN, MAIL_LEAVING, MAIL_GONE };

/* Lines that a sender has claimed. */
struct mail_claim {
    struct mail_line *first;
    bool asleep; /* the owner sleeps: ring when they are written */
};

static inline struct mail_line *mail_line_at(const struct mailbox *m,
                                             uint64_t at)
{
    return &m->lines[at & m->mask];
}

static inline uint64_t mail_make_word(uint64_t h0, uint32_t from)
{
    return (h0 & 0xffffffffu) | (h0 >> 32) << 32 | (uint64_t)from << 50;
}

#define MAIL_WORD_LEN ((((uint64_t)1 << 18) - 1) << 32)

static inline uint32_t mail_sender_of(uint64_t word)
{
    return (uint32_t)(word >> 50);
}

/* Returns the first word of the container's header. */
static inline uint64_t mail_header_of(uint64_t word)
{
    return word & (((uint64_t)1 << 50) - 1);
}

/* Returns the number of lines of a container. */
static inline uint32_t mail_lines_of(bool is_short, uint32_t plen)
{
    uint32_t here = is_short ? MAIL_FIRST : 0;
    return 1 + (plen > here ? (plen - here + MAIL_LINE - 1) / MAIL_LINE : 0);
}

/* Claims n lines. *seen is the head as far as this sender knows. Returns false
 * if there is no room. */
static inline bool mail_claim_lines(struct mailbox *m, uint32_t n,
                                    uint64_t *seen, uint32_t from,
                                    struct mail_claim *c)
{
    uint64_t tail = wf_load_relaxed(&m->tail), at;
    uint32_t take, left;

    do {
        at = tail >> 1;
        left = m->mask + 1 - (uint32_t)(at & m->mask);
        /* padding is claimed first, by itself */
        take = n > 1 && n > left ? left : n;
        if (at + take - *seen > (uint64_t)m->mask + 1) {
            /* pairs with mail_release_lines: the words are cleared */
            *seen = wf_load_acquire(&m->head);
            if (at + take - *seen > (uint64_t)m->mask + 1)
                return false;
        }
    } while (!wf_cas_acq_rel(&m->tail, &tail, (at + take) << 1));
    *c = (struct mail_claim){mail_line_at(m, at), tail & MAIL_ASLEEP};
    return __builtin_expect(take == n, 1) ||
           wf_mail_claim_after_pad(m, n, take, seen, from, c);
}

/* Copies at most MAIL_FIRST bytes; most messages have few. */
static inline void mail_copy_short(void *dst, const void *src, uint32_t n)
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

/* Prefetches a line for writing. The address need not be valid. */
static inline void mail_prefetch_line(const void *line)
{
#if defined(__x86_64__)
    /* compilers leave it out for older processors, which take it as a no-op */
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Tells whether the ring is at most a quarter full: time for a sender to
 * resume. */
static inline bool mail_has_room(const struct mailbox *m)
{
    return (wf_load_relaxed(&m->tail) >> 1) - wf_load_acquire(&m->head) <=
           m->mask / 4;
}

/* Makes claimed lines visible to the owner, once they are written. */
static inline void mail_publish(const struct mailbox *m,
                                const struct mail_claim *c, uint64_t word)
{
    /* pairs with the acquire in mail_peek */
    wf_store_release(&c->first->word, word);
    if (__builtin_expect(c->asleep, 0))
        wf_mail_ring_bell(m);
}

/* Returns the word of the next container, or 0; for the owner. */
static inline uint64_t mail_peek(const struct mailbox *m, uint64_t head)
{
    return wf_load_acquire(&mail_line_at(m, head)->word);
}

/* Releases n lines that the owner has consumed. */
static inline void mail_release_lines(struct mailbox *m, uint64_t *head,
                                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        wf_store_relaxed(&mail_line_at(m, *head + i)->word, 0);
    *head += n;
    /* pairs with the acquire in mail_claim_lines */
    wf_store_release(&m->head, *head);
}

/* ---- registry.c: the mailboxes of this process --------------------------- */

struct mail_address {
    uint64_t process[2]; /* random */
    uint32_t index, generation;
};

#endif

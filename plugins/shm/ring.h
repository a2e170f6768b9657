/* The fast path: it publishes a slot, and wakes the other side if it sleeps.
 *
 * No read-modify-write, lock, system call, allocation or clock here.
 *
 * ORDERS  publish: release, pairs with the acquire in wf_shm_receive.
 *         room:    acquire of the receiver's counts, pairs with the release
 *                  in return_room (receive.c): the receiver has read these
 *                  slots before they are written again.
 *         wake:    publish, fence, load mode; the sleeper stores mode, fence,
 *                  polls the slots (bell.c). One of the two sees the other.
 *                  Where the sleeper uses membarrier, its fence is also the
 *                  sender's, and the sender only stops the compiler.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_RING_H
#define WF_SHM_RING_H

#include "shm.h"

#include <string.h>

/* A full fence. TSan knows no fences; on real machines a read-modify-write
 * orders as much. */
static inline void shm_fence(void)
{
#if defined(__SANITIZE_THREAD__)
    _Atomic int here = 0;
    atomic_fetch_add_explicit(&here, 1, memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Fetches a cache line for writing ahead of time. The address need not be
 * valid. */
static inline void shm_prefetch_for_write(const void *line)
{
#if defined(__x86_64__)
    /* older processors, for which compilers leave it out, take it as a no-op */
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Tells the processor that this is a loop that waits. */
static inline void shm_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Reads the mode of the peer's page, after publishing or returning room. */
static inline uint32_t shm_peer_mode(weft_peer *p)
{
    if (p->out.fence)
        shm_fence();
    else
        atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(&p->out.page->mode, memory_order_relaxed);
}

static inline void shm_wake_peer(weft_peer *p)
{
    uint32_t mode = shm_peer_mode(p);
    if (shm_unlikely(mode & (SHM_ASLEEP | SHM_MANY)))
        wf_shm_ring_bell(p, mode);
}

/* Copies up to SHM_INLINE bytes without a call, in overlapping parts of
 * constant size. Returns false if they are more. */
static inline bool shm_copy_inline(unsigned char *to, const void *data,
                                   uint32_t n)
{
    const unsigned char *from = data;
    if (n - 8 <= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n > 16) {
        if (n > SHM_INLINE)
            return false;
        memcpy(to, from, 16);
        if (n > 32)
            memcpy(to + 16, from + 16, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else if (n > 0) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
    return true;
}

/* The time in ns if it is wanted, else 0. */
static inline uint64_t shm_clock_if(const weft_peer *p, bool wanted)
{
    return shm_unlikely(wanted) ? p->ep->host->now_ns(p->ep->core) : 0;
}

/* The way of a chunk's copy, and its time if it was timed, for the chunk's
 * slot. The copy began at `start`; 0: it was not timed. */
static inline uint32_t shm_describe_copy(const weft_peer *p, enum shm_way way,
                                         uint64_t start)
{
    return shm_unlikely(start)
               ? wf_shm_way_pack_time(way, shm_clock_if(p, true) - start)
               : way;
}

/* The number of slots that may be in use, by the receiver's counts last
 * read. */
static inline uint32_t shm_used(const struct shm_out *out)
{
    return shm_head(out) - out->tail;
}

static inline bool shm_slot_free(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (shm_likely(shm_used(out) <= out->mask))
        return true;
    return wf_shm_find_free_slot(p);
}

/* Takes over a count of the receiver if it can be true. */
static inline bool shm_accept_count(uint32_t *tail, uint32_t at, uint32_t count)
{
    if (count - *tail > at - *tail)
        return false;
    *tail = count;
    return true;
}

/* The end of the slots that are free from out->next on. */
static inline struct shm_slot *shm_free_end(const struct shm_out *out)
{
    uint32_t to_end = (uint32_t)(out->end - out->next);
    uint32_t left = out->mask + 1 - shm_used(out);
    return out->next + (left < to_end ? left : to_end);
}

/* The next slot. Its body may be written; it is not yet visible. */
static inline struct shm_slot *shm_slot_next(struct shm_out *out)
{
    WEFT_ASSERT(out->next >= out->slots && out->next < out->end);
    return out->next;
}

/* Makes a slot visible. The caller checks whether it was the last of the ring,
 * and then calls wf_shm_wrap_out. `what` has the first four bytes of the header
 * and, above them, the length. */
static inline void shm_store_word(struct shm_out *out, struct shm_slot *s,
                                  uint64_t what, unsigned kind)
{
    WEFT_ASSERT(s >= out->slots && s < out->end && kind >= SHM_HEAD &&
                kind <= SHM_PIECE);
    atomic_store_explicit(
        &s->word, out->word + (what | shm_word(0, 0, kind - SHM_HEAD, 0)),
        memory_order_release);
    shm_write_next(out, s + 1);
}

/* Makes the next slot visible, without waking the receiver. */
static inline void shm_publish_unwoken(weft_peer *p, uint32_t first,
                                       uint32_t len, unsigned kind)
{
    struct shm_out *out = &p->out;
    shm_store_word(out, shm_slot_next(out), shm_word(first, len, 0, 0), kind);
    if (shm_unlikely(out->next == out->end))
        wf_shm_wrap_out(p);
}

static inline void shm_publish_slot(weft_peer *p, uint32_t first, uint32_t len,
                                    unsigned kind)
{
    shm_publish_unwoken(p, first, len, kind);
    shm_wake_peer(p);
}

/* Says whether n contiguous bytes fit, by the consumed bytes last read. */
static inline bool shm_bytes_fit(const struct shm_bytes *b, uint32_t n)
{
    WEFT_ASSERT(n <= b->size && b->at - b->tail <= b->size);
    uint32_t end = shm_place(b->at, n, b->size) + shm_bytes_taken(n);
    return end - b->tail <= b->size;
}

/* Takes n bytes. The sender has checked the room; the receiver follows. */
static inline unsigned char *shm_bytes_take(struct shm_bytes *b, uint32_t n)
{
    WEFT_ASSERT(b->base && n <= b->size && (b->size & (b->size - 1)) == 0);
    uint32_t at = shm_place(b->at, n, b->size);
    b->at = at + shm_bytes_taken(n);
    return b->base + (at & (b->size - 1));
}

/* Copies the header into the body of a slot, but for its first eight bytes. */
static inline void shm_put_head(struct shm_slot *s, const weft_hdr *hdr)
{
    const unsigned char *from = (const unsigned char *)hdr + 8;
    memcpy(s->body, from, 16);
    if (weft_hdr_len(hdr) != WEFT_HDR_MIN)
        memcpy(s->body + 16, from + 16, 40);
}

static inline uint32_t shm_first_bytes(const weft_hdr *hdr)
{
    uint32_t first;
    memcpy(&first, hdr, 4);
    return first;
}

/* Says whether the payload fits in the slot. A short header leaves 40 bytes. */
static inline bool shm_is_inline(const weft_hdr *hdr, uint64_t len)
{
    return len == 0 || (len <= SHM_INLINE && weft_hdr_len(hdr) == WEFT_HDR_MIN);
}

/* Delivers what has arrived from one peer. Returns the slots handled. */
static inline int wf_shm_receive(weft_peer *p, int budget)
{
    /* acquire: pairs with the release in shm_store_word */
    uint64_t word =
        atomic_load_explicit(&p->in.next->word, memory_order_acquire);
    return (word >> 61) != p->in.wrap ? 0 : wf_shm_receive_slots(p, budget);
}

#endif

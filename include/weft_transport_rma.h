/* weft_transport_rma.h - the part of weft_transport.h, which includes it, about
 * operations on memory of a peer. docs/transport-guide.md is the contract.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_TRANSPORT_RMA_H
#define WEFT_TRANSPORT_RMA_H

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation on memory that a peer has exposed. The core owns
 * it and lends it until rma_done. */
enum weft_rma_kind {
    WEFT_RMA_PUT = 1, /* the bytes of `one` go to raddr */
    WEFT_RMA_GET,     /* those at raddr come to `one` */
    WEFT_RMA_FLUSH,   /* none: ends when all before it have ended there, too */
    /* Atomic, on the integer of `width` bytes at raddr, which is a multiple of
     * width: what it was goes to `result`, and it becomes */
    WEFT_RMA_ADD,  /* result + operand */
    WEFT_RMA_AND,  /* result & operand */
    WEFT_RMA_OR,   /* result | operand */
    WEFT_RMA_XOR,  /* result ^ operand */
    WEFT_RMA_SWAP, /* operand */
    WEFT_RMA_CAS   /* operand, if result == compare */
};
typedef struct weft_rkey weft_rkey; /* an opened region of a peer */
typedef struct weft_rma {
    uint32_t size;
    uint32_t kind;    /* enum weft_rma_kind */
    struct iovec one; /* of PUT and GET, at least one byte */
    uint64_t raddr;   /* in the peer's address space */
    weft_rkey *rkey;  /* NULL for FLUSH */
    uint32_t width;   /* 4 or 8; numbers of 4 bytes are in the lower half */
    uint32_t reserved;
    uint64_t operand, compare;
    uint64_t result; /* the plugin sets it */
    uint64_t priv[6];
} weft_rma;

enum { WEFT_ACCESS_READ = 1, WEFT_ACCESS_WRITE = 2, WEFT_ACCESS_ATOMIC = 4 };

/* Compute the number that an atomic operation makes of the old one. */
static inline uint64_t weft_rma_compute(const weft_rma *r, uint64_t old)
{
    switch (r->kind) {
    case WEFT_RMA_ADD:
        return old + r->operand;
    case WEFT_RMA_AND:
        return old & r->operand;
    case WEFT_RMA_OR:
        return old | r->operand;
    case WEFT_RMA_XOR:
        return old ^ r->operand;
    case WEFT_RMA_SWAP:
        return r->operand;
    default: /* WEFT_RMA_CAS; of 4 bytes only the lower half counts */
        return r->width == 4
                   ? (uint32_t)old == (uint32_t)r->compare ? r->operand : old
               : old == r->compare ? r->operand
                                   : old;
    }
}

/* Perform an operation on memory that is mapped at `at`: for a transport whose
 * processes map each other's memory, and for the target's side of one that
 * sends requests. The caller has checked the range. */
static inline void weft_rma_perform(weft_rma *r, void *at)
{
    uint32_t *half = (uint32_t *)at, old;
    uint64_t *whole = (uint64_t *)at;

    if (r->kind == WEFT_RMA_FLUSH)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else if (r->kind == WEFT_RMA_PUT)
        memcpy(at, r->one.iov_base, r->one.iov_len);
    else if (r->kind == WEFT_RMA_GET)
        memcpy(r->one.iov_base, at, r->one.iov_len);
    else if (r->width == 4) {
        old = __atomic_load_n(half, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(
            half, &old, (uint32_t)weft_rma_compute(r, old), 0, __ATOMIC_SEQ_CST,
            __ATOMIC_RELAXED))
            ;
        r->result = old;
    } else {
        r->result = __atomic_load_n(whole, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(whole, &r->result,
                                            weft_rma_compute(r, r->result), 0,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;
    }
}

#ifdef __cplusplus
}
#endif
#endif

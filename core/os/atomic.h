/* Atomic operations with the memory order in the name. Only this file spells
 * memory orders. The code is written for weakly ordered machines: the comment
 * at each use names the operation that it pairs with.
 *
 *   release store / acquire load   everything before the store is visible
 *                                  after the load that sees it
 *   relaxed                        orders nothing else
 *   fence_full                     a store before it precedes a load after it,
 *                                  as both sides of a Dekker pair need
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ATOMIC_H
#define WF_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t wf_atomic_u32;
typedef _Atomic uint64_t wf_atomic_u64;

#define wf_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
/* Read and write a pointer that other threads read meanwhile, as relaxed loads
 * and stores that the compiler may make part of another instruction. */
#ifdef __SANITIZE_THREAD__
#define wf_read_pointer(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define wf_write_pointer(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#else
#define wf_read_pointer(p)     (*(p))
#define wf_write_pointer(p, v) ((void)(*(p) = (v)))
#endif
/* The same in order: what was written before the pointer, or the number, is
 * visible after it. */
#define wf_read_published(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define wf_write_published(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define wf_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define wf_store_release(p, v)                                                 \
    atomic_store_explicit((p), (v), memory_order_release)
#define wf_store_relaxed(p, v)                                                 \
    atomic_store_explicit((p), (v), memory_order_relaxed)
#define wf_exchange_acq_rel(p, v)                                              \
    atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define wf_add_acq_rel(p, v)                                                   \
    atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define wf_add_relaxed(p, v)                                                   \
    atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define wf_and_acq_rel(p, v)                                                   \
    atomic_fetch_and_explicit((p), (v), memory_order_acq_rel)
#define wf_or_acq_rel(p, v)                                                    \
    atomic_fetch_or_explicit((p), (v), memory_order_acq_rel)
#define wf_xor_acq_rel(p, v)                                                   \
    atomic_fetch_xor_explicit((p), (v), memory_order_acq_rel)
#define wf_cas_acq_rel(p, expected, v)                                         \
    atomic_compare_exchange_strong_explicit(                                   \
        (p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
/* Orders stores for the compiler alone: for a reader of what is left when this
 * process is gone. */
#define wf_fence_compiler() atomic_signal_fence(memory_order_seq_cst)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
/* A locked instruction orders as much as mfence, and takes half the time. */
#define wf_fence_full()                                                        \
    __asm__ __volatile__("lock orl $0, -4(%%rsp)" ::: "memory", "cc")
#else
#define wf_fence_full() atomic_thread_fence(memory_order_seq_cst)
#endif

/* For thread-local variables that every call reads: they are found without the
 * function call that this otherwise takes in a shared library. */
#define WF_TLS_NEAR __attribute__((tls_model("initial-exec")))

/* Tells the processor that this is a spin loop. */
static inline void wf_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

#endif

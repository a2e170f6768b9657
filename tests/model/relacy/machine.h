/* The core's atomics, fences, futexes and barriers on the machine of Relacy
 * (Debian: relacy-dev), and what makes one source of the core compile there.
 *
 * Every atomic operation of the code under test has a number, its site;
 * with `-m N` on the command line the order of that one is weaker by a step.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <relacy/relacy.hpp>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mutant;

/* Assertions would only add steps to the model. */
#define WF_ASSERT(condition)   ((void)0)
#define WEFT_ASSERT(condition) ((void)0)

/* ---- memory -------------------------------------------------------------- */

/* Zeroed, as all that the core allocates. */
template <typename T> struct atom : rl::atomic<T> {
    atom() : rl::atomic<T>(T()) {}
};
struct futex_word : atom<uint32_t> {
    atom<int> bucket;  /* the kernel's lock */
    atom<int> sleepers[2]; /* those of each of the lowest bits */
};
typedef futex_word wf_atomic_u32;
typedef atom<uint64_t> wf_atomic_u64;

/* A field that is no atomic: two threads, one of them writing, unordered, are a
 * race. */
template <typename T> struct plain {
    mutable rl::var<T> v;

    plain() : v(T()) {}
    T get() const { return v($); }
    operator T() const { return get(); }
    T operator->() const { return get(); }
    T set(T x) const { v($) = x; return x; }
    T operator=(T x) { return set(x); }
    T operator=(const plain &o) { return set(o.get()); }
    T operator++() { return set(get() + 1); }
    T operator++(int) { T x = get(); set(x + 1); return x; }
    T operator+=(T x) { return set(get() + x); }
    T operator-=(T x) { return set(get() - x); }
};

/* ---- orders -------------------------------------------------------------- */

/* A step weaker, if this is the site; one of acq_rel has two numbers. */
static inline rl::memory_order order_at(int site, rl::memory_order mo)
{
    if (mo == rl::mo_acq_rel)
        return mutant == site       ? rl::mo_acquire
               : mutant == site + 1 ? rl::mo_release
                                    : mo;
    return mutant == site ? rl::mo_relaxed : mo;
}

static inline rl::memory_order on_failure(rl::memory_order mo)
{
    return mo == rl::mo_acq_rel || mo == rl::mo_acquire ? rl::mo_acquire
                                                        : rl::mo_relaxed;
}

#define wf_load_acquire(n, p) (p)->load(order_at(n, rl::mo_acquire), $)
#define wf_load_relaxed(p) (p)->load(rl::mo_relaxed, $)
#define wf_store_release(n, p, v)                                              \
    (p)->store((v), order_at(n, rl::mo_release), $)
#define wf_store_relaxed(p, v) (p)->store((v), rl::mo_relaxed, $)
#define wf_exchange_acq_rel(n, p, v)                                           \
    (p)->exchange((v), order_at(n, rl::mo_acq_rel), $)
#define wf_add_acq_rel(n, p, v)                                                \
    (p)->fetch_add((v), order_at(n, rl::mo_acq_rel), $)
#define wf_cas_acq_rel(n, p, expected, v)                                      \
    (p)->compare_exchange_strong(*(expected), (v),                             \
                                 order_at(n, rl::mo_acq_rel), $,               \
                                 on_failure(order_at(n, rl::mo_acq_rel)), $)
#define wf_fence_full(n)                                                       \
    (mutant == (n) ? (void)0 : rl::atomic_thread_fence(rl::mo_seq_cst, $))
#define wf_membarrier(n) (mutant == (n) || (rl::systemwide_fence($), true))
#define wf_membarrier_own wf_membarrier
#define membarrier(n, command) (wf_membarrier(n) ? 0L : -1L)

#define atomic_load_explicit(p, mo) (p)->load((mo), $)
#define atomic_store_explicit(p, v, mo) (p)->store((v), (mo), $)
#define atomic_exchange_explicit(p, v, mo) (p)->exchange((v), (mo), $)
#define atomic_fetch_add_explicit(p, v, mo) (p)->fetch_add((v), (mo), $)
#define atomic_fetch_and_explicit(p, v, mo) (p)->fetch_and((v), (mo), $)
#define atomic_fetch_or_explicit(p, v, mo) (p)->fetch_or((v), (mo), $)
#define atomic_compare_exchange_weak_explicit(p, e, v, yes, no)                \
    (p)->compare_exchange_weak(*(e), (v), (yes), $, (no), $)
#define atomic_signal_fence(mo) ((void)0)
#define __ATOMIC_RELAXED rl::mo_relaxed
#define __atomic_fetch_add(p, v, mo) (p)->fetch_add((v), (mo), $)
#define __atomic_sub_fetch(p, v, mo) ((p)->fetch_sub((v), (mo), $) - (v))
#define memory_order_relaxed rl::mo_relaxed

#define wf_cpu_relax() rl::yield(1, $)
/* Each look at the clock is later than those before. */
static inline uint64_t wf_clock_ns()
{
    static uint64_t now;

    return ++now;
}
#define assert_that(x) RL_ASSERT(x)

/* ---- sleeping ------------------------------------------------------------ */

/* Sleeps if the word has the value. As futex(2) has it: waiting and waking on
 * one word follow one another; nothing else is ordered by them. No return for
 * nothing, so that none can make good what is wrong. */
template <typename PLACE>
static void sleep_in(PLACE *place, wf_atomic_u32 *word, uint32_t value,
                     bool limit)
{
    rl::context &c = rl::ctx();
    uint32_t now;

    word->bucket.fetch_add(1, rl::mo_acq_rel, $);
    {
        rl::preemption_disabler pd(c);
        now = word->load(rl::mo_relaxed, $);
    }
    if (now == value)
        place->wait(c, limit, false, $);
}

static inline void wf_futex_wait(wf_atomic_u32 *word, uint32_t value,
                                 const struct timespec *limit)
{
    sleep_in(word, word, value, limit != NULL);
}

static inline void wf_futex_wake(wf_atomic_u32 *word)
{
    word->bucket.fetch_add(1, rl::mo_acq_rel, $);
    word->wake(rl::ctx(), 1000, $);
}

static inline void wf_futex_wait_bits(wf_atomic_u32 *word, uint32_t value,
                                      uint32_t bits)
{
    sleep_in(&word->sleepers[bits >> 1], word, value, false);
}

static inline void wf_futex_wake_bits(wf_atomic_u32 *word, uint32_t bits)
{
    word->bucket.fetch_add(1, rl::mo_acq_rel, $);
    word->sleepers[bits >> 1].wake(rl::ctx(), 1000, $);
}

/* ---- C ------------------------------------------------------------------- */

#define _Alignas(n)
#define _Noreturn
#define WF_UNANALYSED
#define WF_CAPABILITY(name)
#define WF_COLD
#define wf_likely(x) (x)
#define wf_unlikely(x) (x)
#define wf_container(ptr, type, field)                                         \
    ((type *)((char *)(ptr) - offsetof(type, field)))

/* ---- running ------------------------------------------------------------- */

static int iterations = 20000;

/* rl::simulate would have its two other searches compiled, too, which takes
 * longer than all runs. A fault that no mutant explains is run again, and its
 * steps told. */
template <typename Suite> static bool does_hold(int depth = 3000)
{
    typedef rl::random_scheduler<Suite::params::thread_count> order;
    rl::test_params p;
    std::ostringstream state, again;

    p.test_name = "driver";
    p.iteration_count = iterations;
    p.execution_depth_limit = depth;
    rl::test_result_e result = rl::run_test<Suite, order>(p, state, false);
    printf("iterations: %d\n", (int)p.stop_iteration);
    if (result == rl::test_result_success)
        return true;
    if (!mutant) {
        p.initial_state = p.final_state = state.str();
        p.collect_history = true;
        rl::run_test<Suite, order>(p, again, true);
    }
    return false;
}

/* -n RUNS -m SITE */
static inline void read_arguments(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        (strcmp(argv[i], "-m") == 0 ? mutant : iterations) = atoi(argv[i + 1]);
}

#endif

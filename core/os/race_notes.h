/* Tells ThreadSanitizer of the order that words in shared memory make. Ranks
 * that are threads of one process map a segment at an address each, and TSan
 * relates atomics by address: without these notes it reports what the ranks do
 * before and after a barrier as a race. Each order has a number: collectives
 * (core/coll/shm) note the context id of their communicator, windows (core/rma)
 * that of a stripe, or 0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RACE_NOTES_H
#define WF_RACE_NOTES_H

#include <stdint.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

enum { WF_RACE_ORDERS = 64 };

/* One address for the orders of a number, in all threads and files. */
__attribute__((weak)) uint64_t wf_race_orders[WF_RACE_ORDERS];

/* Notes that this thread is about to store a word of that order. */
static inline void wf_race_note_store(uint32_t order)
{
    __tsan_release(&wf_race_orders[order % WF_RACE_ORDERS]);
}

/* Notes that this thread has loaded a word of that order. */
static inline void wf_race_note_load(uint32_t order)
{
    __tsan_acquire(&wf_race_orders[order % WF_RACE_ORDERS]);
}
#else
static inline void wf_race_note_store(uint32_t order)
{
    (void)order;
}

static inline void wf_race_note_load(uint32_t order)
{
    (void)order;
}
#endif

#endif

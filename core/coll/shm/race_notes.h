/* Tells ThreadSanitizer of the order that words in the segment make. Ranks that
 * are threads of one process map the segment at an address each, and TSan
 * relates atomics by address: without these notes it reports what the members
 * do before and after a barrier as a race. Locks of windows (core/rma) lie in
 * such segments, too, and note the number of a stripe, or 0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_RACE_NOTES_H
#define WF_SHMCOLL_RACE_NOTES_H

#include <stdint.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

enum { WF_SHMCOLL_ORDERS = 64 };

/* One address for the communicators of a context id, in all threads. */
extern uint64_t wf_shmcoll_orders[WF_SHMCOLL_ORDERS];

/* Notes that a member of the communicator with this id is about to store. */
static inline void wf_shmcoll_note_store(uint32_t context)
{
    __tsan_release(&wf_shmcoll_orders[context % WF_SHMCOLL_ORDERS]);
}

/* Notes that a member of the communicator with this id has loaded. */
static inline void wf_shmcoll_note_load(uint32_t context)
{
    __tsan_acquire(&wf_shmcoll_orders[context % WF_SHMCOLL_ORDERS]);
}
#else
static inline void wf_shmcoll_note_store(uint32_t context)
{
    (void)context;
}

static inline void wf_shmcoll_note_load(uint32_t context)
{
    (void)context;
}
#endif

#endif

/* The parts of a lock word: see lock_word.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_LOCK_STATE_H
#define WF_RMA_LOCK_STATE_H

#include "rma/lock_word.h"

static inline uint32_t wf_lock_tail(uint64_t state)
{
    return (uint32_t)(state >> 48);
}

static inline uint32_t wf_lock_head(uint64_t state)
{
    return (uint32_t)(state >> 32) & 0xffff;
}

static inline uint32_t wf_lock_exclusive(uint64_t state)
{
    return (uint32_t)state >> 16;
}

static inline uint32_t wf_lock_shared(uint64_t state)
{
    return (uint32_t)state & 0xffff;
}

static uint64_t wf_lock_with_queue(uint64_t state, uint32_t head, uint32_t tail)
{
    return (uint32_t)state | (uint64_t)head << 32 | (uint64_t)tail << 48;
}

static inline bool wf_lock_is_open(uint64_t state, uint32_t kind)
{
    if (kind == WF_HOLD_SHARED)
        return wf_lock_exclusive(state) == 0;
    if (kind == WF_HOLD_ANNOUNCED)
        return wf_lock_shared(state) == 0;
    return (uint32_t)state == 0;
}

/* Returns the amount that a hold adds to the word. */
static inline uint64_t wf_lock_amount(const struct wf_rma_lock *l,
                                      uint32_t kind)
{
    if (kind == WF_HOLD_SHARED)
        return 1;
    return kind == WF_HOLD_ANNOUNCED ? UINT64_C(1) << 16
                                     : (uint64_t)(l->me + 1) << 16;
}

#endif

/* Futexes: sleeping on a word that the threads of this process share.
 *
 * A wait returns at once if the word no longer has the value, and may return
 * without a reason: callers test their condition again.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FUTEX_H
#define WF_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/atomic.h"

/* Sleeps while the word has the value; for ever if limit is NULL. */
static inline void wf_futex_wait(wf_atomic_u32 *word, uint32_t value,
                                 const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, limit,
            NULL, 0);
}

/* Sleeps until a wake-up that names one of these bits. */
static inline void wf_futex_wait_bits(wf_atomic_u32 *word, uint32_t value,
                                      uint32_t bits)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
            NULL, NULL, bits);
}

static inline void wf_futex_wake_bits(wf_atomic_u32 *word, uint32_t bits)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX,
            NULL, NULL, bits);
}

/* Wakes all threads that sleep on the word. */
static inline void wf_futex_wake(wf_atomic_u32 *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL,
            NULL, 0);
}

#endif

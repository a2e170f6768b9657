/* membarrier(2): one thread pays for the memory barriers of all.
 *
 * After wf_membarrier every running thread of every process that has registered
 * has passed a full barrier; after wf_membarrier_own, every running thread of
 * this process. So when two sides each store and then load what the other
 * stores (Dekker), the frequent one needs no barrier of its own.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEMBARRIER_H
#define WF_MEMBARRIER_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The commands of linux/membarrier.h, which old systems lack. */
enum {
    WF_MEMBARRIER_GLOBAL = 1 << 1,
    WF_MEMBARRIER_REGISTER = 1 << 2,
    WF_MEMBARRIER_OWN = 1 << 3,
    WF_MEMBARRIER_REGISTER_OWN = 1 << 4
};

static inline bool wf_membarrier_call(int command)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0) == 0;
#else
    (void)command;
    return false;
#endif
}

/* Registers this process; other processes may then rely on wf_membarrier. To do
 * it again does no harm. Returns false if the kernel cannot do it. */
static inline bool wf_membarrier_register(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_REGISTER);
}

static inline bool wf_membarrier(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_GLOBAL);
}

/* Registers this process for wf_membarrier_own. A process that was forked may
 * have to register again. */
static inline bool wf_membarrier_register_own(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_REGISTER_OWN);
}

static inline bool wf_membarrier_own(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_OWN);
}

#endif

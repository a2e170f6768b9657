/* One thread pays for the barriers of all: membarrier(2).
 *
 * After wf_membarrier every running thread of every process that has registered
 * has passed a full barrier; after wf_membarrier_own, those of this process. So of two sides that each store and then load what
 * the other stores (Dekker), the frequent one needs none of its own.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEMBARRIER_H
#define WF_MEMBARRIER_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { /* linux/membarrier.h, which old systems lack */
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

/* Before other processes rely on it; again does no harm. False: not here. */
static inline bool wf_membarrier_register(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_REGISTER);
}

static inline bool wf_membarrier(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_GLOBAL);
}

/* The same among the threads of one process; a process that was forked may have
 * to register again. */
static inline bool wf_membarrier_register_own(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_REGISTER_OWN);
}

static inline bool wf_membarrier_own(void)
{
    return wf_membarrier_call(WF_MEMBARRIER_OWN);
}

#endif

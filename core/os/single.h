/* Whether the process has one thread.
 *
 * The C library knows: who creates a second thread says so before it runs. So as
 * long as the answer is yes no other thread can be anywhere, and the next one is
 * started by the thread that asks. A yes may follow a no, when the others have
 * ended. A library that does not tell has several always.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SINGLE_H
#define WF_SINGLE_H

#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define WF_SINGLE_TOLD 1
#endif
#endif

/* Not 0: one. */
static inline const char *wf_single_flag(void)
{
#ifdef WF_SINGLE_TOLD
    return &__libc_single_threaded;
#else
    static const char never = 0;
    return &never;
#endif
}

static inline bool wf_single_thread(void)
{
    return *wf_single_flag() != 0;
}

#endif

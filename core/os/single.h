/* Tells whether the process has one thread.
 *
 * The C library knows it: it changes its flag before a second thread runs. So
 * as long as the answer is yes no other thread exists, and only the thread that
 * asks can start one. A yes may follow a no, when the other threads have ended.
 * Where the library does not tell, the answer is always no.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SINGLE_H
#define WF_SINGLE_H

#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define WF_SINGLE_KNOWN 1
#endif
#endif

/* Returns the flag of the C library; not 0 means one thread. */
static inline const char *wf_single_flag(void)
{
#ifdef WF_SINGLE_KNOWN
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

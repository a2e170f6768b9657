/* The time of tests of the sctp transport. Its library asks gettimeofday() how
 * old a packet is: it asks this one, which the program exports
 * (CMakeLists.txt). So nothing sleeps, and a seed fails again as it failed
 * before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SCTP_CLOCK_H
#define SCTP_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/time.h>

static _Atomic uint64_t clock_ns = 1000000000; /* of all threads */

/* Returns the time in ns and then adds a millisecond. */
static inline uint64_t clock_forward_ms(void)
{
    return atomic_fetch_add(&clock_ns, 1000000);
}

__attribute__((visibility("default"))) int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    uint64_t us = atomic_load(&clock_ns) / 1000;

    *t = (struct timeval){.tv_sec = (time_t)(us / 1000000),
                          .tv_usec = (suseconds_t)(us % 1000000)};
    return 0;
}

#endif

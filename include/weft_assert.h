/* Assertions of the plugins: WEFT_ASSERT states what this code guarantees.
 *
 *   WEFT_ASSERT(ring->head - ring->tail <= ring->cells);
 *
 * They are checked where WEFT_ASSERTIONS is defined, as builds for debugging
 * and with sanitizers do. Elsewhere nothing is evaluated, but the condition
 * must compile. A condition is about this program alone: bytes from another
 * process, the configuration and arguments of the caller are checked by code
 * that is always there.
 *
 * The header needs libc only. A plugin knows its rank from the launcher's
 * environment, so a rank that is a thread is named by the process alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_ASSERT_H
#define WEFT_ASSERT_H

#ifdef WEFT_ASSERTIONS

#include <stdio.h>
#include <stdlib.h>

/* Says which condition does not hold, where, and in which rank, and aborts. */
static _Noreturn void weft_assertion_failed(const char *file, int line,
                                            const char *function,
                                            const char *condition)
    __attribute__((cold, noinline, unused));
static _Noreturn void weft_assertion_failed(const char *file, int line,
                                            const char *function,
                                            const char *condition)
{
    const char *rank = getenv("PMI_RANK");

    fprintf(stderr, "weft[%s]: %s:%d: %s: assertion '%s' does not hold\n",
            rank ? rank : "?", file, line, function, condition);
    abort();
}

#define WEFT_ASSERT(condition)                                                 \
    ((condition)                                                               \
         ? (void)0                                                             \
         : weft_assertion_failed(__FILE__, __LINE__, __func__, #condition))
#else
#define WEFT_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif

/* Assertions of the core: WF_ASSERT states what the code guarantees.
 *
 *   WF_ASSERT(loc->credit <= (int64_t)engine->credits);
 *
 * They are checked where WEFT_ASSERTIONS is defined, as builds for debugging
 * and with sanitizers do (CMakeLists.txt). Elsewhere nothing is evaluated, but
 * the condition must compile. A condition is about this program alone: bytes
 * from another process, the configuration and the program's arguments are
 * checked by code that is always there. include/weft_assert.h is the same for
 * plugins, and for os/ and lock/, which are below this folder.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_REPORT_ASSERT_H
#define WF_REPORT_ASSERT_H

/* Says which condition does not hold, where, and in which rank, and aborts. */
_Noreturn void wf_assertion_failed(const char *file, int line,
                                   const char *function, const char *condition)
    __attribute__((cold, noinline));

#ifdef WEFT_ASSERTIONS
#define WF_ASSERT(condition)                                                   \
    ((condition)                                                               \
         ? (void)0                                                             \
         : wf_assertion_failed(__FILE__, __LINE__, __func__, #condition))
#else
#define WF_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif

/* Context ids: comm/context.h says how processes agree on them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONTEXT_ID_H
#define WF_CONTEXT_ID_H

#include <stdint.h>

enum {
    WF_CONTEXT_WORLD = 0,
    WF_CONTEXT_SELF = 1,
    WF_CONTEXT_WORDS = 64 /* words of a window */
};

/* Returns the word from which a communicator with this id derives others
 * first. The words
 * are spread, so that allocations of different parents seldom meet in one. */
static inline uint32_t wf_context_first_word(uint32_t context)
{
    return context * 37 % WF_CONTEXT_WORDS;
}

#endif

/* A hash of a few words, for names that must differ; not for secrets.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HASH_H
#define WF_HASH_H

#include <stdint.h>

/* Returns a word whose bits depend on all bits of x: multiplies by the golden
 * ratio twice and brings high bits down. */
static inline uint64_t wf_hash_mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

#endif

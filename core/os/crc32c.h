/* CRC-32C (Castagnoli), by the processor's instruction where it has one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRC32C_H
#define WF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a sum over n bytes; crc is the sum so far, 0 at the beginning. */
typedef uint32_t wf_crc32c_fn(uint32_t crc, const void *data, size_t n);
/* Returns the fastest function for this processor. The question takes
 * microseconds in a virtual machine, so keep the answer. */
wf_crc32c_fn *wf_crc32c_choose(void);
/* Works without the instruction; for tests and processors that lack it. */
wf_crc32c_fn wf_crc32c_table;

/* Sums a message in one call. The upper half of the result is the sum of seven
 * words in memory and an eighth that is not (its bytes in little-endian order);
 * the lower half is that sum continued over the data. */
enum { WF_CRC32C_WORDS = 7 };
typedef uint64_t wf_crc32c_message_fn(const void *words, uint64_t eighth,
                                      const void *data, size_t n);
wf_crc32c_message_fn *wf_crc32c_message_choose(void);
wf_crc32c_message_fn wf_crc32c_message_table;

#endif

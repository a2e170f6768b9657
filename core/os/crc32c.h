/* CRC-32C (Castagnoli), by the processor's instruction where it has one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CRC32C_H
#define WF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue a sum: crc is the sum so far, 0 at the beginning. */
uint32_t wf_crc32c(uint32_t crc, const void *data, size_t n);
/* The same without the instruction; for tests and processors without it. */
uint32_t wf_crc32c_table(uint32_t crc, const void *data, size_t n);

#endif

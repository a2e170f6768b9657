/* Little-endian numbers of wire formats, as numbers of this machine and back.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BYTE_ORDER_H
#define WF_BYTE_ORDER_H

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define wf_le16(x) (x)
#define wf_le32(x) (x)
#define wf_le64(x) (x)
#else
#define wf_le16(x) __builtin_bswap16(x)
#define wf_le32(x) __builtin_bswap32(x)
#define wf_le64(x) __builtin_bswap64(x)
#endif

#endif

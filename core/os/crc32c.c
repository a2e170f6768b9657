/* CRC-32C: see crc32c.h. Reflected polynomial 0x82f63b78, as in iSCSI.
 *
 * The instruction takes eight bytes in three cycles; whether it is there is
 * asked at run time, because one library serves all processors.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/crc32c.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Nibbles: 64 bytes of table, and nobody waits for this path. */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
    0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t wf_crc32c_table(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (crc = ~crc; n; n--, p++) {
        crc ^= *p;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

uint64_t wf_crc32c_message_table(const void *words, uint64_t eighth,
                                 const void *data, size_t n)
{
    uint8_t last[8];
    uint32_t head;

    for (int i = 0; i < 8; i++)
        last[i] = (uint8_t)(eighth >> 8 * i);
    head = wf_crc32c_table(0, words, 8 * WF_CRC32C_WORDS);
    head = wf_crc32c_table(head, last, sizeof last);
    return (uint64_t)head << 32 | wf_crc32c_table(head, data, n);
}

#if defined(__x86_64__)
static __attribute__((target("sse4.2"))) uint32_t
crc_instruction(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t c = (uint32_t)~crc, word;

    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        c = __builtin_ia32_crc32di(c, word);
    }
    for (; n; n--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
    return ~(uint32_t)c;
}

static __attribute__((target("sse4.2"))) uint64_t
message_instruction(const void *words, uint64_t eighth, const void *data,
                    size_t n)
{
    uint64_t w[WF_CRC32C_WORDS], c = 0xffffffffu;
    uint32_t head;

    memcpy(w, words, sizeof w);
    c = __builtin_ia32_crc32di(c, w[0]);
    c = __builtin_ia32_crc32di(c, w[1]);
    c = __builtin_ia32_crc32di(c, w[2]);
    c = __builtin_ia32_crc32di(c, w[3]);
    c = __builtin_ia32_crc32di(c, w[4]);
    c = __builtin_ia32_crc32di(c, w[5]);
    c = __builtin_ia32_crc32di(c, w[6]);
    head = ~(uint32_t)__builtin_ia32_crc32di(c, eighth);
    return (uint64_t)head << 32 | crc_instruction(head, data, n);
}

static bool has_instruction(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2;
}

wf_crc32c_fn *wf_crc32c_choose(void)
{
    return has_instruction() ? crc_instruction : wf_crc32c_table;
}

wf_crc32c_message_fn *wf_crc32c_message_choose(void)
{
    return has_instruction() ? message_instruction : wf_crc32c_message_table;
}
#else
wf_crc32c_message_fn *wf_crc32c_message_choose(void)
{
    return wf_crc32c_message_table;
}

wf_crc32c_fn *wf_crc32c_choose(void)
{
    return wf_crc32c_table;
}
#endif

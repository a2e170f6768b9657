/* CRC-32C: see crc32c.h. Reflected polynomial 0x82f63b78, as in iSCSI.
 *
 * The instruction takes eight bytes in three cycles, and a new one can begin in
 * each cycle: three parts of a block are summed side by side. Appending n bytes
 * to a part multiplies its sum by x^8n; the factor is a constant for each size
 * of block, and the product of 64 bits is reduced by the instruction itself,
 * which multiplies by x^32 (and the product of reflected numbers by x), so the
 * factors are x^(8n - 33). The processor is asked for the instructions at run
 * time, because one library serves all processors.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/crc32c.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* The table has one entry per nibble: 64 bytes, for a path that need not be
 * fast. */
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

/* A block is three parts of n bytes each. The factors append one part, and two,
 * to a sum. */
struct block {
    size_t n;
    uint32_t one, two;
};
static const struct block large = {2048, 0xa51b6135, 0x82f89c77},
                          small = {256, 0xb9e02b86, 0xdd7e3b0c};

static inline __attribute__((target("sse4.2,pclmul"))) uint64_t
append_part(uint64_t c, uint32_t factor)
{
    __m128i product = _mm_clmulepi64_si128(
        _mm_cvtsi64_si128((int64_t)c), _mm_cvtsi64_si128((int64_t)factor), 0);

    return __builtin_ia32_crc32di(0, (uint64_t)_mm_cvtsi128_si64(product));
}

static __attribute__((target("sse4.2,pclmul"))) uint64_t
add_block(uint64_t c, const uint8_t *p, const struct block *b)
{
    uint64_t second = 0, third = 0, w[3];

    for (const uint8_t *end = p + b->n; p < end; p += 8) {
        memcpy(&w[0], p, 8);
        memcpy(&w[1], p + b->n, 8);
        memcpy(&w[2], p + 2 * b->n, 8);
        c = __builtin_ia32_crc32di(c, w[0]);
        second = __builtin_ia32_crc32di(second, w[1]);
        third = __builtin_ia32_crc32di(third, w[2]);
    }
    return append_part(c, b->two) ^ append_part(second, b->one) ^ third;
}

static __attribute__((target("sse4.2,pclmul"))) uint32_t
crc_parallel(uint32_t crc, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t c = (uint32_t)~crc;

    for (; n >= 3 * large.n; n -= 3 * large.n, p += 3 * large.n)
        c = add_block(c, p, &large);
    for (; n >= 3 * small.n; n -= 3 * small.n, p += 3 * small.n)
        c = add_block(c, p, &small);
    return crc_instruction(~(uint32_t)c, p, n);
}

static __attribute__((target("sse4.2"))) uint64_t
crc_message_instruction(const void *words, uint64_t eighth, const void *data,
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

static bool has_instructions(unsigned which)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & which) == which;
}

wf_crc32c_fn *wf_crc32c_choose(void)
{
    if (has_instructions(bit_SSE4_2 | bit_PCLMUL))
        return crc_parallel;
    return has_instructions(bit_SSE4_2) ? crc_instruction : wf_crc32c_table;
}

wf_crc32c_message_fn *wf_crc32c_message_choose(void)
{
    return has_instructions(bit_SSE4_2) ? crc_message_instruction
                                        : wf_crc32c_message_table;
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

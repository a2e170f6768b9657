/* Encodes and decodes packets, and computes their checksum.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <endian.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "packet.h"

enum { VERSION = 1, CHECK_AT = 12 };

static void put_u16(uint8_t *p, uint16_t v)
{
    v = htole16(v);
    memcpy(p, &v, sizeof v);
}

static void put_u32(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof v);
}

static void put_u64(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof v);
}

static uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof v);
    return le16toh(v);
}

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

size_t wf_udp_packet_pack(const struct wf_udp_packet *k, uint8_t *p)
{
    p[0] = k->type;
    p[1] = VERSION;
    put_u16(p + 2, k->flags);
    put_u32(p + 4, k->to);
    put_u32(p + 8, k->number);
    put_u32(p + CHECK_AT, 0);
    put_u64(p + 16, k->next);
    put_u32(p + 24, k->seen);
    put_u32(p + 28, k->room);
    put_u64(p + 32, k->offset);
    if (!(k->flags & UDP_SACK))
        return PACKET_HEAD;
    for (int i = 0; i < SACK_WORDS; i++)
        put_u64(p + PACKET_HEAD + 8 * i, k->sack[i]);
    return PACKET_MAX;
}

size_t wf_udp_packet_unpack(struct wf_udp_packet *k, const uint8_t *p, size_t n)
{
    if (n < PACKET_HEAD || p[1] != VERSION || p[0] < UDP_HELLO ||
        p[0] > UDP_RESET)
        return 0;
    k->type = p[0];
    k->flags = get_u16(p + 2);
    k->to = get_u32(p + 4);
    k->number = get_u32(p + 8);
    k->next = get_u64(p + 16);
    k->seen = get_u32(p + 24);
    k->room = get_u32(p + 28);
    k->offset = get_u64(p + 32);
    if (!(k->flags & UDP_SACK)) {
        memset(k->sack, 0, sizeof k->sack);
        return PACKET_HEAD;
    }
    if (n < PACKET_MAX)
        return 0;
    for (int i = 0; i < SACK_WORDS; i++)
        k->sack[i] = get_u64(p + PACKET_HEAD + 8 * i);
    return PACKET_MAX;
}

/* ---- checksum ---------------------------------------------------------- */

#if defined(__x86_64__)
/* Asks the processor once: in a virtual machine that is slow. */
static bool has_crc_instruction(void)
{
    static atomic_int known;
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    unsigned a, b, c, d;

    if (!k) {
        k = __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2 ? 1 : -1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return k > 0;
}

__attribute__((target("sse4.2"))) static uint32_t
crc_by_instruction(uint32_t crc, const uint8_t *p, size_t n)
{
    uint64_t c = crc, word;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        c = __builtin_ia32_crc32di(c, word);
    }
    for (; n > 0; n--)
        c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
    return (uint32_t)c;
}
#endif

/* Processes half a byte at a time, so that the table fits one cache line; for
 * processors without the instruction. */
static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, size_t n)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    for (; n > 0; n--) {
        crc ^= *p++;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return crc;
}

uint32_t wf_udp_crc32c(uint32_t crc, const void *data, size_t n)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (has_crc_instruction())
        return ~crc_by_instruction(crc, data, n);
#endif
    return ~crc_by_table(crc, data, n);
}

void wf_udp_packet_set_checksum(uint8_t *head, size_t n, const struct iovec *v,
                        int count)
{
    uint32_t crc;

    put_u16(head + 2, get_u16(head + 2) | UDP_CHECK);
    put_u32(head + CHECK_AT, 0);
    crc = wf_udp_crc32c(0, head, n);
    for (int i = 0; i < count; i++)
        crc = wf_udp_crc32c(crc, v[i].iov_base, v[i].iov_len);
    put_u32(head + CHECK_AT, crc);
}

bool wf_udp_packet_is_intact(uint8_t *p, size_t n)
{
    uint32_t said;

    if (n < PACKET_HEAD || !(get_u16(p + 2) & UDP_CHECK))
        return false;
    said = get_u32(p + CHECK_AT);
    put_u32(p + CHECK_AT, 0);
    return wf_udp_crc32c(0, p, n) == said;
}

/* The MAC of a datagram: SipHash-2-4 (Aumasson and Bernstein, 2012) over the
 * nonce, which makes the first eight bytes, and the datagram.
 *
 * Its short key is derived from the job key for this purpose alone. The MAC
 * shows that a process of the job made the datagram, and nothing else. The
 * nonce, which the transport chooses, keeps an old datagram from being taken
 * for a new one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "crypto/mac.h"

#include <endian.h>
#include <string.h>

struct sip {
    uint64_t v0, v1, v2, v3;
    uint64_t word; /* bytes that do not make a word yet, lowest first */
    uint64_t bytes;
};

static inline uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void run_rounds(struct sip *s, int n)
{
    while (n-- > 0) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate_left(s->v1, 13) ^ s->v0;
        s->v3 = rotate_left(s->v3, 16) ^ s->v2;
        s->v0 = rotate_left(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = rotate_left(s->v1, 17) ^ s->v2;
        s->v3 = rotate_left(s->v3, 21) ^ s->v0;
        s->v2 = rotate_left(s->v2, 32);
    }
}

static inline void absorb_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    run_rounds(s, 2);
    s->v0 ^= word;
}

static inline uint64_t load_word(const unsigned char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

static void absorb_byte(struct sip *s, unsigned char byte)
{
    s->word |= (uint64_t)byte << 8 * (s->bytes % 8);
    if (++s->bytes % 8 == 0) {
        absorb_word(s, s->word);
        s->word = 0;
    }
}

static void absorb_bytes(struct sip *s, const unsigned char *p, size_t n)
{
    for (; n > 0 && s->bytes % 8; n--)
        absorb_byte(s, *p++);
    s->bytes += n / 8 * 8;
    for (; n >= 8; n -= 8, p += 8)
        absorb_word(s, load_word(p));
    for (; n > 0; n--)
        absorb_byte(s, *p++);
}

uint64_t wf_mac64(const uint64_t key[2], uint64_t nonce, const struct iovec *v,
                  int n)
{
    struct sip s = {.v0 = key[0] ^ 0x736f6d6570736575u,
                    .v1 = key[1] ^ 0x646f72616e646f6du,
                    .v2 = key[0] ^ 0x6c7967656e657261u,
                    .v3 = key[1] ^ 0x7465646279746573u,
                    .bytes = 8};

    absorb_word(&s, nonce);
    for (int i = 0; i < n; i++)
        absorb_bytes(&s, v[i].iov_base, v[i].iov_len);
    absorb_word(&s, s.word | s.bytes << 56);
    s.v2 ^= 0xff;
    run_rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

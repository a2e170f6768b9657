/* Computes the keyed digest of a packet; digest.h describes it.
 *
 * INVARIANT  `pair` is the pair of words of the key that is combined with the
 * next 16 bytes; `part` holds the bytes behind the last whole 16, `bytes` % 16
 * of them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "digest.h"
#include "weft_assert.h"

#include <endian.h>
#include <string.h>

enum { PAIR = 16, PAIRS = DIGEST_BLOCK / PAIR };

__extension__ typedef unsigned __int128 wide;

struct digest {
    const uint64_t *key;
    uint64_t *out;
    size_t words, bytes, pair;
    wide sum;
    uint8_t part[PAIR];
};

static void end_block(struct digest *d)
{
    WEFT_ASSERT(d->words + 2 < DIGEST_MAX);
    d->out[d->words++] = htole64((uint64_t)d->sum);
    d->out[d->words++] = htole64((uint64_t)(d->sum >> 64));
    d->sum = 0;
    d->pair = 0;
}

static uint64_t load_word(const uint8_t *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
    return le64toh(w);
}

/* Adds n pairs of words to the sum; they do not go beyond this block. */
static void add_pairs(struct digest *d, const uint8_t *p, size_t n)
{
    const uint64_t *k = d->key + 2 * d->pair;
    wide sum = d->sum;

    for (size_t i = 0; i < n; i++, p += PAIR, k += 2)
        sum += (wide)(load_word(p) + k[0]) * (load_word(p + 8) + k[1]);
    d->sum = sum;
    d->pair += n;
    if (d->pair == PAIRS)
        end_block(d);
}

static void add_bytes(struct digest *d, const uint8_t *p, size_t n)
{
    WEFT_ASSERT(d->pair < PAIRS);
    size_t had = d->bytes % PAIR, fill = PAIR - had < n ? PAIR - had : n;

    d->bytes += n;
    if (had) {
        memcpy(d->part + had, p, fill);
        if (had + fill < PAIR)
            return;
        add_pairs(d, d->part, 1);
        p += fill;
        n -= fill;
    }
    while (n >= PAIR) {
        size_t left = PAIRS - d->pair, m = n / PAIR;
        m = m < left ? m : left;
        add_pairs(d, p, m);
        p += m * PAIR;
        n -= m * PAIR;
    }
    if (n)
        memcpy(d->part, p, n);
}

size_t wf_udp_digest(const uint64_t key[DIGEST_KEY], const struct iovec *v,
                     int n, uint64_t out[DIGEST_MAX])
{
    struct digest d = {.key = key, .out = out};
    size_t rest;

    for (int i = 0; i < n; i++)
        if (v[i].iov_len)
            add_bytes(&d, v[i].iov_base, v[i].iov_len);
    rest = d.bytes % PAIR;
    if (rest) {
        memset(d.part + rest, 0, PAIR - rest);
        add_pairs(&d, d.part, 1);
    }
    if (d.pair)
        end_block(&d);
    out[d.words++] = htole64(d.bytes);
    return d.words;
}

/* A keyed digest of a packet: it reduces a packet to a few words, by one
 * multiplication for each 16 bytes. It proves nothing by itself; the code of
 * the packet is made of it (seal.c).
 *
 * The digest is NH (Black, Halevi, Krawczyk, Krovetz and Rogaway, "UMAC", 1999;
 * with words of 64 bits: Krovetz and Dai, "VMAC", 2007): for each block the sum
 * of (word + key) * (word + key), to 128 bits. Two packets of one length have
 * the same digest with probability 2^-64, even if an attacker chooses them, as
 * long as the key and the digests stay secret.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_DIGEST_H
#define WF_UDP_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    DIGEST_KEY = 64,               /* words of the key */
    DIGEST_BLOCK = DIGEST_KEY * 8, /* bytes that two words stand for */
    DIGEST_PACKET = 1 << 16,       /* bytes of the largest packet */
    DIGEST_MAX = 2 * (DIGEST_PACKET / DIGEST_BLOCK + 1) + 1 /* words */
};

/* Writes two words for each block, even one that is not full, and the number of
 * bytes, all little-endian; returns how many words. */
size_t wf_udp_digest(const uint64_t key[DIGEST_KEY], const struct iovec *,
                     int n, uint64_t out[DIGEST_MAX]);

#endif

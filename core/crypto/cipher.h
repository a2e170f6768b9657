/* Authenticated encryption of the containers between two processes (RFC 5116,
 * AEAD).
 *
 * The cipher is AES-256-GCM where the processor has instructions for it, or
 * ChaCha20-Poly1305 (RFC 8439) on any. Both have 32 bytes of key, a nonce of 12
 * and a tag of 16.
 *
 * The functions are in a table, alone in its archive member: a program gets it
 * with -Wl,-u,weft_cipher, which mpicc adds; a static program that is to be
 * small leaves it out.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CIPHER_H
#define WF_CIPHER_H

#include "base.h"

enum wf_cipher_kind { WF_CIPHER_CHACHA20, WF_CIPHER_AES256 };
enum { WF_CIPHER_KEY = 32, WF_CIPHER_TAG = 16 };

struct wf_cipher_key;

/* A text to be encrypted or decrypted: `n` bytes from `in` to `out`, which may
 * be the same place, and `ad_n` bytes at `ad` that are only authenticated. */
struct wf_cipher_text {
    const void *ad, *in;
    void *out;
    size_t ad_n, n;
};

struct wf_cipher {
    /* Whether AES-256-GCM can be used on this processor. */
    bool (*has_aes)(void);
    /* Make a key; NULL: out of memory. The bytes may be cleared afterwards. */
    struct wf_cipher_key *(*key)(enum wf_cipher_kind,
                                 const unsigned char bytes[WF_CIPHER_KEY]);
    void (*free)(struct wf_cipher_key *);
    /* Encrypt. No counter may be used twice with one key. */
    void (*seal)(const struct wf_cipher_key *, uint64_t counter,
                 const struct wf_cipher_text *,
                 unsigned char tag[WF_CIPHER_TAG]);
    /* Decrypt. False: the text was not sealed with this key, counter and ad,
     * and out holds nothing of it. */
    bool (*open)(const struct wf_cipher_key *, uint64_t counter,
                 const struct wf_cipher_text *,
                 const unsigned char tag[WF_CIPHER_TAG]);
};
extern const struct wf_cipher weft_cipher __attribute__((weak));

#endif

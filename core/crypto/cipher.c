/* The ciphers of cipher.h, which use members of libsodium (cmake/vendor.sh).
 *
 * The members choose an implementation by the instructions that the processor
 * has. libsodium itself does not initialise them here, so this file does, once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "crypto/cipher.h"

#include <pthread.h>
#include <string.h>

#include "crypto/vendor.h"
#include "os/secret.h"

enum { NONCE = 12, ALIGN = 64 };

#pragma GCC visibility push(hidden)
int wf_vendor__crypto_stream_chacha20_pick_best_implementation(void);
int wf_vendor__crypto_onetimeauth_poly1305_pick_best_implementation(void);
int wf_vendor_crypto_aead_chacha20poly1305_ietf_encrypt_detached(
    void *c, unsigned char *tag, unsigned long long *tag_n, const void *m,
    unsigned long long n, const void *ad, unsigned long long ad_n,
    const void *none, const unsigned char *nonce, const unsigned char *key);
int wf_vendor_crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    void *m, void *none, const void *c, unsigned long long n,
    const unsigned char *tag, const void *ad, unsigned long long ad_n,
    const unsigned char *nonce, const unsigned char *key);
int wf_vendor_crypto_aead_aes256gcm_is_available(void);
size_t wf_vendor_crypto_aead_aes256gcm_statebytes(void);
int wf_vendor_crypto_aead_aes256gcm_beforenm(void *state,
                                             const unsigned char *key);
int wf_vendor_crypto_aead_aes256gcm_encrypt_detached_afternm(
    void *c, unsigned char *tag, unsigned long long *tag_n, const void *m,
    unsigned long long n, const void *ad, unsigned long long ad_n,
    const void *none, const unsigned char *nonce, const void *state);
int wf_vendor_crypto_aead_aes256gcm_decrypt_detached_afternm(
    void *m, void *none, const void *c, unsigned long long n,
    const unsigned char *tag, const void *ad, unsigned long long ad_n,
    const unsigned char *nonce, const void *state);

/* libsodium's own check of the processor, if vendor.sh had to include it. */
int wf_vendor__sodium_runtime_get_cpu_features(void) __attribute__((weak));
#pragma GCC visibility pop

#if defined(__x86_64__) || defined(__i386__)
#define HAS(what) (__builtin_cpu_supports(what) != 0)
#else
#define HAS(what) 0
#endif
#ifdef __ARM_NEON
#define HAS_NEON 1
#else
#define HAS_NEON 0
#endif

/* The members call these functions. */
#define WF_HAS(feature, answer)                                                \
    int wf_vendor_sodium_runtime_has_##feature(void);                          \
    int wf_vendor_sodium_runtime_has_##feature(void)                           \
    {                                                                          \
        return answer;                                                         \
    }

#pragma GCC visibility push(hidden)
WF_HAS(aesni, HAS("aes"))
WF_HAS(armcrypto, 0)
WF_HAS(avx, HAS("avx"))
WF_HAS(avx2, HAS("avx2"))
WF_HAS(avx512f, 0) /* vendor.sh takes nothing that is for it */
WF_HAS(neon, HAS_NEON)
WF_HAS(pclmul, HAS("pclmul"))
WF_HAS(rdrand, 0)
WF_HAS(sse2, HAS("sse2"))
WF_HAS(sse3, HAS("sse3"))
WF_HAS(sse41, HAS("sse4.1"))
WF_HAS(ssse3, HAS("ssse3"))
#pragma GCC visibility pop

struct wf_cipher_key {
    enum wf_cipher_kind kind;
    _Alignas(ALIGN) unsigned char state[]; /* AES: its state; else the key */
};

static void pick_implementations(void)
{
    if (wf_vendor__sodium_runtime_get_cpu_features)
        wf_vendor__sodium_runtime_get_cpu_features();
    wf_vendor__crypto_stream_chacha20_pick_best_implementation();
    wf_vendor__crypto_onetimeauth_poly1305_pick_best_implementation();
}

static void prepare_ciphers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, pick_implementations);
}

static bool has_aes(void)
{
    prepare_ciphers();
    return wf_vendor_crypto_aead_aes256gcm_is_available();
}

static size_t size_of_key(enum wf_cipher_kind kind)
{
    size_t n =
        sizeof(struct wf_cipher_key) +
        (kind == WF_CIPHER_AES256 ? wf_vendor_crypto_aead_aes256gcm_statebytes()
                                  : WF_CIPHER_KEY);

    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static struct wf_cipher_key *
create_key(enum wf_cipher_kind kind, const unsigned char bytes[WF_CIPHER_KEY])
{
    struct wf_cipher_key *k = wf_secret_alloc(size_of_key(kind));

    if (!k)
        return NULL;
    prepare_ciphers();
    k->kind = kind;
    if (kind == WF_CIPHER_AES256)
        wf_vendor_crypto_aead_aes256gcm_beforenm(k->state, bytes);
    else
        memcpy(k->state, bytes, WF_CIPHER_KEY);
    return k;
}

static void free_key(struct wf_cipher_key *k)
{
    wf_secret_free(k, k ? size_of_key(k->kind) : 0);
}

static void make_nonce(unsigned char nonce[NONCE], uint64_t counter)
{
    memset(nonce, 0, NONCE);
    for (int i = 0; i < 8; i++)
        nonce[NONCE - 8 + i] = (unsigned char)(counter >> 8 * i);
}

static void seal_text(const struct wf_cipher_key *k, uint64_t counter,
                      const struct wf_cipher_text *t,
                      unsigned char tag[WF_CIPHER_TAG])
{
    unsigned char nonce[NONCE];

    make_nonce(nonce, counter);
    if (k->kind == WF_CIPHER_AES256)
        wf_vendor_crypto_aead_aes256gcm_encrypt_detached_afternm(
            t->out, tag, NULL, t->in, t->n, t->ad, t->ad_n, NULL, nonce,
            k->state);
    else
        wf_vendor_crypto_aead_chacha20poly1305_ietf_encrypt_detached(
            t->out, tag, NULL, t->in, t->n, t->ad, t->ad_n, NULL, nonce,
            k->state);
}

static bool open_text(const struct wf_cipher_key *k, uint64_t counter,
                      const struct wf_cipher_text *t,
                      const unsigned char tag[WF_CIPHER_TAG])
{
    unsigned char nonce[NONCE];

    make_nonce(nonce, counter);
    if (k->kind == WF_CIPHER_AES256)
        return wf_vendor_crypto_aead_aes256gcm_decrypt_detached_afternm(
                   t->out, NULL, t->in, t->n, tag, t->ad, t->ad_n, nonce,
                   k->state) == 0;
    return wf_vendor_crypto_aead_chacha20poly1305_ietf_decrypt_detached(
               t->out, NULL, t->in, t->n, tag, t->ad, t->ad_n, nonce,
               k->state) == 0;
}

const struct wf_cipher weft_cipher = {has_aes, create_key, free_key, seal_text,
                                      open_text};

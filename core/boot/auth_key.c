/* Keys: how they are derived, and what is derived from them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/auth_key.h"

#include "boot/auth_inside.h"

#include <errno.h>
#include <sys/random.h>

#include "crypto/mac.h"
#include "crypto/vendor.h"
#include "os/secret.h"
#include "process/endpoint.h"
#include "process/rank.h"

enum { MAC = WF_AUTH_MAC, JOB_MAX = WF_AUTH_NAME_MAX };

int wf_auth_fill_random(void *buf, size_t n)
{
    unsigned char *at = buf;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno != EINTR)
            return WEFT_ESYS;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    return WEFT_OK;
}

int wf_auth_key_generate(unsigned char bytes[WF_AUTH_KEY_BYTES])
{
    return wf_auth_fill_random(bytes, WF_AUTH_KEY_BYTES);
}

static void derive_datagram_key(struct wf_auth_key *key)
{
    static const unsigned char purpose[] = "weft datagram key 1";
    unsigned char mac[MAC];

    wf_vendor_crypto_auth_hmacsha256(mac, purpose, sizeof purpose, key->secret);
    memcpy(key->datagram, mac, sizeof key->datagram);
    explicit_bzero(mac, sizeof mac);
}

/* Derive the public numbers of the key, which differ for other names. */
static void derive_ids(struct wf_auth_key *key)
{
    unsigned char text[16 + JOB_MAX] = "weft key id 1", mac[MAC];

    memcpy(text + 16, key->job, JOB_MAX);
    wf_vendor_crypto_auth_hmacsha256(mac, text, sizeof text, key->secret);
    key->id = wf_auth_get_u64(mac);
    key->tag = wf_auth_get_u32(mac + 8);
}

uint32_t wf_auth_tag(const struct wf_auth_key *key)
{
    return key->tag;
}

uint64_t wf_auth_key_id(const struct wf_auth_key *key)
{
    return key->id;
}

struct wf_auth_key *wf_auth_key_alloc(void)
{
    return wf_secret_alloc(sizeof(struct wf_auth_key));
}

int wf_auth_key_fill(struct wf_auth_key *key, const void *bytes, size_t n,
                     const char *job)
{
    static const unsigned char purpose[MAC] = "weft job key 1";

    if (n == 0)
        return WEFT_EINVAL;
    wf_vendor_crypto_auth_hmacsha256(key->secret, bytes, n, purpose);
    if (job)
        memcpy(key->job, job, strnlen(job, JOB_MAX));
    derive_datagram_key(key);
    derive_ids(key);
    wf_secret_wipe_stack();
    return WEFT_OK;
}

int wf_auth_key_create(const void *bytes, size_t n, const char *job,
                       struct wf_auth_key **out)
{
    struct wf_auth_key *key = wf_auth_key_alloc();
    int r = key ? wf_auth_key_fill(key, bytes, n, job) : WEFT_ENOMEM;

    if (r == WEFT_OK)
        *out = key;
    else
        wf_auth_key_free(key);
    return r;
}

void wf_auth_key_free(struct wf_auth_key *key)
{
    wf_secret_free(key, sizeof *key);
}

void wf_auth_key_put_before(struct wf_auth_key *key, struct wf_auth_key *rest)
{
    key->next = rest;
}

struct wf_auth_key *wf_auth_key_after(const struct wf_auth_key *key)
{
    return key->next;
}

/* Add the name of a transport, in which '-' and '_' are the same. */
static size_t put_transport_name(unsigned char *to, size_t room,
                                 const char *name)
{
    size_t n = 0;

    for (; name[n] && n < room; n++)
        to[n] = name[n] == '-' ? '_' : (unsigned char)name[n];
    return n;
}

void wf_auth_derive_seed(const struct wf_auth_key *key,
                         const struct wf_auth_endpoint *of,
                         unsigned char seed[WEFT_SEED])
{
    enum { HEAD_OF_SEED = 16 + JOB_MAX + 8, NAME_MAX_OF_SEED = 256 };
    unsigned char text[HEAD_OF_SEED + NAME_MAX_OF_SEED] = "weft seed 1";
    size_t n = HEAD_OF_SEED;

    _Static_assert(WEFT_SEED == MAC, "a seed is one MAC");
    memcpy(text + 16, key->job, JOB_MAX);
    wf_auth_put_u32(text + 16 + JOB_MAX, of->rank);
    wf_auth_put_u32(text + 20 + JOB_MAX, of->engine);
    n += put_transport_name(text + n, NAME_MAX_OF_SEED, of->transport);
    wf_vendor_crypto_auth_hmacsha256(seed, text, n, key->secret);
    wf_secret_wipe_stack();
}

uint64_t wf_auth_mac(const struct wf_auth_key *key, uint64_t nonce,
                     const struct iovec *v, int n)
{
    return wf_mac64(key->datagram, nonce, v, n);
}

uint64_t wf_auth_mac64(struct weft_core *core, uint64_t nonce,
                       const struct iovec *v, int n)
{
    return wf_auth_mac(core->wf->rank->job.key, nonce, v, n);
}

/* Keys, and what is derived from them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_AUTH_KEY_H
#define WF_BOOT_AUTH_KEY_H

#include "boot/auth.h"

/* Generate random key bytes for a new job. WEFT_ESYS: no randomness. */
int wf_auth_key_generate(unsigned char bytes[WF_AUTH_KEY_BYTES]);

/* Allocate memory for a key, kept out of core dumps as far as the system
 * allows, and cleared by wf_auth_key_free; NULL: out of memory. It has to be
 * filled before use. */
struct wf_auth_key *wf_auth_key_alloc(void);
/* Derive the key from secret bytes of any length >= 1 (WEFT_EINVAL when n is 0)
 * and the name of the job, which both sides must agree on. It allocates
 * nothing. */
int wf_auth_key_fill(struct wf_auth_key *, const void *bytes, size_t n,
                     const char *job);
/* Allocate and fill a key. */
int wf_auth_key_create(const void *bytes, size_t n, const char *job,
                       struct wf_auth_key **out);
void wf_auth_key_free(struct wf_auth_key *);
/* Returns the number by which a handshake names the key. */
uint64_t wf_auth_key_id(const struct wf_auth_key *);
/* The keys of another job are a list: process/job.h. */
void wf_auth_key_put_before(struct wf_auth_key *, struct wf_auth_key *rest);
struct wf_auth_key *wf_auth_key_after(const struct wf_auth_key *);

/* Returns the tag of the job that has this key and the name with which it was
 * derived: process/job.h. */
uint32_t wf_auth_tag(const struct wf_auth_key *);

/* The endpoint that a seed (weft_open.seed) belongs to. */
struct wf_auth_endpoint {
    const char *transport; /* its section of mpi.ini */
    uint32_t rank;
    unsigned engine;
};

/* Compute the seed of an endpoint: all processes of the job get the same, and
 * nobody without the key can tell it. */
void wf_auth_derive_seed(const struct wf_auth_key *,
                         const struct wf_auth_endpoint *,
                         unsigned char seed[WEFT_SEED]);
/* Compute a code that only the processes of the job can make; wf_auth_mac64
 * implements weft_host.mac64. The instance must have a key, which it has before
 * it meets a peer. */
uint64_t wf_auth_mac64(struct weft_core *core, uint64_t nonce,
                       const struct iovec *, int n);
uint64_t wf_auth_mac(const struct wf_auth_key *, uint64_t nonce,
                     const struct iovec *, int n);

#endif

/* Keys, and the handshake by which two processes that have the same one
 * recognise each other before any other byte between them is interpreted.
 *
 * The contract of the handshake is at weft_host.auth_step; the messages are
 * described in auth.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_AUTH_H
#define WF_AUTH_H

#include <sys/uio.h>

#include "base.h"

struct wf_auth_key;

enum { WF_AUTH_KEY_BYTES = 32 };

/* The secrets that only the two processes of a handshake have afterwards. */
struct wf_auth_session {
    unsigned char key[2][WF_AUTH_KEY_BYTES]; /* the dialler's, the listener's */
    uint64_t id;
    bool dialled; /* by this process; it is the listener otherwise */
    bool aes;     /* both have instructions for AES */
};

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

/* Implement weft_host.auth_step for the process that owns this endpoint. At the
 * end of a handshake wf_rank.on_authenticated receives the session. */
int wf_auth_step(struct weft_core *core, weft_auth **auth, const void *in,
                 size_t in_len, void *out, size_t *out_len, uint32_t *loc_id);

/* Advance a handshake that belongs to no endpoint, or one of a unit test: the
 * key of the own job and the own rank are arguments. */
int wf_auth_advance(struct wf_auth_key *, uint32_t self, weft_auth **,
                    const void *in, size_t in_len, void *out, size_t *out_len,
                    uint32_t *number);

/* Compute a code that only the processes of the job can make; wf_auth_mac64
 * implements weft_host.mac64. The instance must have a key, which it has before
 * it meets a peer. */
uint64_t wf_auth_mac64(struct weft_core *core, uint64_t nonce,
                       const struct iovec *, int n);
uint64_t wf_auth_mac(const struct wf_auth_key *, uint64_t nonce,
                     const struct iovec *, int n);

#endif

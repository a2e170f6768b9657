/* The job key, and the handshake by which two processes of a job recognise
 * each other before any other byte between them is interpreted.
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

/* What a handshake leaves to its two processes, and to nobody else. */
struct wf_auth_session {
    unsigned char key[2][WF_AUTH_KEY_BYTES]; /* the dialler's, the listener's */
    uint64_t id;
    bool dialled; /* by this process; it is the listener otherwise */
    bool aes;     /* both have instructions for AES */
};

/* Fresh random key bytes for a new job. WEFT_ESYS: no randomness. */
int wf_auth_key_generate(unsigned char bytes[WF_AUTH_KEY_BYTES]);

/* Memory for a key, kept out of core dumps as far as the system allows, and
 * cleared by free; NULL: no memory. It is no key before it is filled. */
struct wf_auth_key *wf_auth_key_alloc(void);
/* Make it the key of secret bytes of any length >= 1 (WEFT_EINVAL when n is 0)
 * and the name of the job, which both sides must agree on. Allocates nothing. */
int wf_auth_key_fill(struct wf_auth_key *, const void *bytes, size_t n,
                     const char *job);
/* Both. */
int wf_auth_key_create(const void *bytes, size_t n, const char *job,
                       struct wf_auth_key **out);
void wf_auth_key_free(struct wf_auth_key *);

/* weft_host.auth_step for the process that owns this endpoint; its instance
 * hears of the session that comes of it (wf_instance.met). */
int wf_auth_step(struct weft_core *core, weft_auth **auth, const void *in,
                 size_t in_len, void *out, size_t *out_len, uint32_t *loc_id);

/* The same for unit tests and for handshakes that belong to no endpoint:
 * explicit key and own rank. */
int wf_auth_advance(const struct wf_auth_key *, uint32_t self, weft_auth **,
                    const void *in, size_t in_len, void *out, size_t *out_len,
                    uint32_t *loc_id);

/* weft_host.mac64: a code that only the processes of the job can make. Both
 * need a key: no peer is met without one. */
uint64_t wf_auth_mac64(struct weft_core *core, uint64_t nonce,
                       const struct iovec *, int n);
uint64_t wf_auth_mac(const struct wf_auth_key *, uint64_t nonce,
                     const struct iovec *, int n);

#endif

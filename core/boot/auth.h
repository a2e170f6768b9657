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

/* Implement weft_host.auth_step for the process that owns this endpoint. At the
 * end of a handshake wf_rank.on_authenticated receives the session. */
int wf_auth_step(struct weft_core *core, weft_auth **auth, const void *in,
                 size_t in_len, void *out, size_t *out_len, uint32_t *loc_id);

/* Returns the key of a handshake under way; NULL: it is not known any more. */
const struct wf_auth_key *wf_auth_key_of(const struct weft_core *,
                                         const weft_auth *);

/* Advance a handshake that belongs to no endpoint, or one of a unit test: the
 * key of the own job and the own rank are arguments. */
int wf_auth_advance(struct wf_auth_key *, uint32_t self, weft_auth **,
                    const void *in, size_t in_len, void *out, size_t *out_len,
                    uint32_t *number);

#endif

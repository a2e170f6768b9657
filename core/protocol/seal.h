/* Sealed containers: what a route with security = encrypt lets onto a network.
 *
 *   off  0    1    2     4     8        16        24       32     48     56    60
 *       type ver flags plen  counter  session   zero     tag    zero  check  crc
 *   and as payload, encrypted: the container itself, 64 bytes of header and all
 *
 * type is WF_SEALED with WF_SEQUENCED. The first 24 bytes are authenticated with
 * the text. check and crc are a plain sum of this header, so that damage by the
 * way shows before a wrong length is believed.
 *
 * KEYS  Every handshake of a carrier makes a session: a key for each direction
 * and a number (boot/auth.c). A counter goes up with each container and is never
 * used twice with a key: what goes again is sealed anew. The last few sessions
 * are kept, for two may be made at once, or a new one while the old one is used.
 * A sender takes the newest that the peer certainly has: its answer proved that,
 * or something has come that was sealed with it.
 *
 * REPLAY  A container whose counter is not above the last one of its session is
 * dropped: carriers keep the order. What is thereby lost, if a carrier did not,
 * is what the order (order.h) is there to repair.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SEAL_H
#define WF_SEAL_H

#include "adi/endpoint.h"
#include "boot/auth.h"
#include "boot/cipher.h"
#include "os/crc32c.h"
#include "protocol/wire.h"

enum {
    WF_SESSIONS = 8,
    WF_SEAL_CHUNK = 64 << 10 /* one is opened while the next is sealed */
};
#define WF_SEAL_LIMIT ((uint64_t)1 << 48) /* containers of a session */

struct wf_session {
    uint64_t id;
    struct wf_cipher_key *mine, *theirs; /* what I seal with, what they do */
    uint64_t sent, seen;                 /* the last counters */
    bool known;                          /* the peer certainly has it */
};

/* Of one carrier. */
struct wf_seal {
    struct wf_session session[WF_SESSIONS]; /* newest first */
    int sessions;
    wf_crc32c_fn *sum;
};

struct wf_seal *wf_seal_new(void);
void wf_seal_free(struct wf_seal *);
/* WEFT_OK, or WEFT_ENOMEM. */
int wf_seal_session(struct wf_seal *, const struct wf_auth_session *);

/* Seal a container and hand it to the plugin; the payload (NULL: none) is
 * copied. WEFT_DONE; WEFT_EAGAIN, also while there is no session yet, and then
 * the plugin connects; or an error: WEFT_ELINK when the keys are used up. */
int wf_seal_send(struct wf_seal *, const struct weft_core *, weft_peer *,
                 const struct wf_wire *, weft_tx *payload);

/* Is this the undamaged header of a sealed container? */
bool wf_seal_header(const struct wf_seal *, const struct wf_wire *);
enum wf_opened { WF_OPENED, WF_STALE, WF_FORGED };
/* Open the plen bytes of `in` to `out`, which may be the same place; *by: who
 * has to hear of it when it is taken (wf_seal_taken). WF_STALE: it is old, and
 * was not opened. */
enum wf_opened wf_seal_open(struct wf_seal *, const struct wf_wire *outer,
                            const void *in, void *out, struct wf_session **by);
void wf_seal_taken(struct wf_session *, const struct wf_wire *outer);

#endif

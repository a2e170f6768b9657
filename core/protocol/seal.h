/* Sealed containers: the only ones that a route with security = encrypt sends
 * over a network.
 *
 *   off  0    1    2     4     8        16       24     32    48    56     60
 *       type ver flags plen  counter  session  zero   tag   zero  check  crc
 *   and as payload, encrypted: the container itself, 64 bytes of header and all
 *
 * type is WF_SEALED with WF_SEQUENCED. The first 24 bytes are authenticated
 * with the payload. check and crc are a plain checksum of this header, so that
 * damage on the network is found before a wrong length is used.
 *
 * KEYS    Every handshake of a carrier makes a session: a key for each
 * direction and a number (boot/auth.c). The counter is incremented for each
 * container and never used twice with a key: a container that is sent again is
 * sealed anew. The last few sessions are kept, for two may be made at once, or
 * a new one while the old one is used. A sender uses the newest session that
 * the peer certainly has: its answer proved that, or a container has come that
 * was sealed with it.
 *
 * REPLAY  A container whose counter is not above the last one of its session is
 * dropped: carriers keep the order. If a carrier does not, the container is
 * lost, and the retransmission of order.h repairs that.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SEAL_H
#define WF_SEAL_H

#include "boot/auth.h"
#include "crypto/cipher.h"
#include "os/crc32c.h"
#include "process/endpoint.h"
#include "protocol/wire.h"

enum { WF_SESSIONS = 8 };
#define WF_SEAL_LIMIT ((uint64_t)1 << 48) /* containers per session */

struct wf_session {
    uint64_t id;
    struct wf_cipher_key *mine, *theirs; /* to seal with, to open with */
    uint64_t sent, seen;                 /* the last counters */
    bool known; /* the peer certainly has the session */
};

/* The sessions of one carrier. */
struct wf_seal {
    struct wf_session session[WF_SESSIONS]; /* newest first */
    int sessions;
    wf_crc32c_fn *sum;
};

struct wf_seal *wf_seal_new(void);
void wf_seal_free(struct wf_seal *);
/* Add the session of a handshake. WEFT_OK, or WEFT_ENOMEM. */
int wf_seal_add_session(struct wf_seal *, const struct wf_auth_session *);

/* Seal a container and pass it to the plugin; the payload (NULL: none) is
 * copied. Returns WEFT_DONE; WEFT_EAGAIN, also while there is no session yet,
 * for which the plugin then connects; or an error: WEFT_ELINK when the keys are
 * used up. */
int wf_seal_send(struct wf_seal *, const struct weft_core *, weft_peer *,
                 const struct wf_wire *, weft_tx *payload);

/* True if this is the undamaged header of a sealed container. */
bool wf_seal_is_header(const struct wf_seal *, const struct wf_wire *);
enum wf_opened { WF_OPENED, WF_STALE, WF_FORGED };
/* Open the plen bytes of `in` to `out`, which may be the same place. *by: the
 * session, for wf_seal_accept when the container is accepted. WF_STALE: the
 * container is old, and was not opened. */
enum wf_opened wf_seal_open(struct wf_seal *, const struct wf_wire *outer,
                            const void *in, void *out, struct wf_session **by);
/* Record that a container was accepted: older ones are dropped from now on. */
void wf_seal_accept(struct wf_session *, const struct wf_wire *outer);

#endif

/* A sealed stream is a TCP connection between two launchers of one user, who
 * both hold a secret key (name_key.h). It carries lines of text.
 *
 *   caller                              listener
 *   "WFTN" version, nonce        -->
 *                                <--    "WFTN" version, nonce
 *                                <--    record 0: empty, the proof
 *   record 0                     -->
 *   record 1, 2, ...            <-->    record 1, 2, ...
 *
 *   record   length (4 bytes, authenticated) | ciphertext | tag (16)
 *
 * The key of each direction is HMAC-SHA-256 with the user's key over the name
 * of the direction and both nonces, so that a recorded connection opens
 * nothing, and the nonce of a record is its number (crypto/cipher.h).
 *
 * INVARIANTS  Until the other end has sent a record that opens, nothing that it
 * has sent is used, and nothing is sent to it but what is above. A function
 * that finds that the stream has ended says so in `over` and `why`: its owner
 * looks at them after each round of the loop.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_SEALED_STREAM_H
#define WF_MPIRUN_SEALED_STREAM_H

#include <stdint.h>

#include "channel.h"
#include "event_source.h"
#include "name_key.h"

enum { STREAM_NONCE = 32, STREAM_TEXT = 8192 /* bytes of a text at most */ };

struct sealed_stream {
    struct event_source source; /* first */
    bool calls;                 /* this end has dialled */
    bool open;                  /* both nonces are known */
    bool proved;                /* the other end holds the key */
    bool over;
    bool armed;    /* output waits */
    char why[160]; /* it has ended; "": the other end has closed it */
    unsigned char key[NAME_KEY];           /* until it is open */
    unsigned char nonces[2][STREAM_NONCE]; /* of the caller, of the listener */
    struct wf_cipher_key *out_key, *in_key;
    uint64_t out_count, in_count;
    struct bytes got, left;
    /* Handles a text, which has no newline. */
    void (*take)(struct job *, struct sealed_stream *, const char *text);
    /* Handles that the other end has proved itself; or NULL. */
    void (*on_proof)(struct job *, struct sealed_stream *);
};

/* Begin on a socket that does not block and is connected or about to be. The
 * stream owns it from now on. */
void wf_stream_begin(struct job *, struct sealed_stream *, int fd,
                     const unsigned char key[NAME_KEY]);
/* Send a text, once the other end has proved itself. */
void wf_stream_send(struct job *, struct sealed_stream *, const char *text);
void wf_stream_close(struct job *, struct sealed_stream *);

#endif

/* The handshake of the contract suite: the three messages that
 * weft_host.auth_step describes, with a checksum in the place of a proof.
 *
 * It keeps the rules of the real one, which a plugin must live with: a hello
 * with another key is refused at once, a refusal is an answer, and whoever is
 * not the process that was meant is told so.
 *
 *   0 "CNFA"  4 step  5 reason of a refusal  8 from  12 to  16 nonce  24 tag
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "conform.h"

enum { HELLO = 1, ANSWER, PROOF, REFUSED = 0xff };

struct weft_auth {
    uint8_t expects; /* 0 before the first message */
    uint32_t peer;
    uint64_t nonce[2]; /* the dialler's, the listener's */
};

struct text {
    char magic[4];
    uint8_t step, reason, unused[2];
    uint32_t from, to;
    uint64_t nonce, tag;
    uint8_t rest[32];
};
_Static_assert(sizeof(struct text) == WEFT_AUTH_MSG, "a message");

static uint64_t mix_in(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

uint64_t key_of(const char *secret)
{
    uint64_t h = 1;

    for (; *secret; secret++)
        h = mix_in(h, (uint8_t)*secret);
    return h;
}

static uint64_t tag_of(uint64_t key, const weft_auth *a, const struct text *t)
{
    uint64_t h = mix_in(mix_in(key, t->step), (uint64_t)t->from << 32 | t->to);

    for (int i = 0; i + 1 < t->step; i++)
        h = mix_in(h, a->nonce[i]);
    return mix_in(h, t->nonce);
}

static void write_text(uint64_t key, const weft_auth *a, int step, uint32_t me,
                       void *out, size_t *out_len)
{
    static uint64_t count;
    struct text t = {.magic = {'C', 'N', 'F', 'A'},
                     .step = (uint8_t)step,
                     .from = me,
                     .to = a->peer,
                     .nonce = mix_in(now_ns(), ++count)};

    t.tag = tag_of(key, a, &t);
    memcpy(out, &t, *out_len = sizeof t);
}

static int write_refusal(int why, void *out, size_t *out_len)
{
    struct text t = {.magic = {'C', 'N', 'F', 'A'},
                     .step = REFUSED,
                     .reason = (uint8_t)-why};

    memcpy(out, &t, *out_len = sizeof t);
    return why;
}

/* Check a message; what is wrong with it is answered. */
static int check_text(uint64_t key, uint32_t me, const weft_auth *a,
                      const struct text *t, void *out, size_t *out_len)
{
    if (memcmp(t->magic, "CNFA", 4) != 0)
        return WEFT_EPROTO;
    if (t->step == REFUSED)
        return t->reason == -WEFT_EAUTH      ? WEFT_EAUTH
               : t->reason == -WEFT_EUNREACH ? WEFT_EUNREACH
                                             : WEFT_EPROTO;
    if (t->step != a->expects)
        return write_refusal(WEFT_EPROTO, out, out_len);
    if (t->tag != tag_of(key, a, t))
        return write_refusal(WEFT_EAUTH, out, out_len);
    if (t->to != me || t->from == me ||
        (t->step != HELLO && t->from != a->peer))
        return write_refusal(WEFT_EUNREACH, out, out_len);
    return WEFT_OK;
}

static int take_text(uint64_t key, uint32_t me, weft_auth *a,
                     const struct text *t, void *out, size_t *out_len)
{
    int rc;

    a->expects = a->expects ? a->expects : HELLO;
    rc = check_text(key, me, a, t, out, out_len);
    if (rc < 0 || t->step == PROOF)
        return rc;
    a->peer = t->from;
    a->nonce[t->step - HELLO] = t->nonce;
    write_text(key, a, t->step + 1, me, out, out_len);
    if (t->step == ANSWER)
        return WEFT_OK;
    memcpy(&a->nonce[1], (char *)out + offsetof(struct text, nonce), 8);
    a->expects = PROOF;
    return WEFT_EAGAIN;
}

static int advance_handshake(uint64_t key, uint32_t me, weft_auth *a,
                             const void *in, size_t in_len, void *out,
                             size_t *out_len, uint32_t *id)
{
    struct text t;
    int rc;

    if (!in && !a->expects) {
        a->peer = *id;
        a->expects = ANSWER;
        write_text(key, a, HELLO, me, out, out_len);
        memcpy(&a->nonce[0], (char *)out + offsetof(struct text, nonce), 8);
        return WEFT_EAGAIN;
    }
    if (!in || in_len != sizeof t)
        return WEFT_EPROTO;
    memcpy(&t, in, sizeof t);
    rc = take_text(key, me, a, &t, out, out_len);
    if (rc == WEFT_OK)
        *id = a->peer;
    return rc;
}

int handshake_step(uint64_t key, uint32_t me, weft_auth **auth, const void *in,
                   size_t in_len, void *out, size_t *out_len, uint32_t *id)
{
    int rc = WEFT_ENOMEM;

    if (!out) { /* the connection died midway */
        free(*auth);
        *auth = NULL;
        return WEFT_OK;
    }
    *out_len = 0;
    if (*auth || (*auth = calloc(1, sizeof **auth)))
        rc = advance_handshake(key, me, *auth, in, in_len, out, out_len, id);
    if (rc != WEFT_EAGAIN) {
        free(*auth);
        *auth = NULL;
    }
    return rc;
}

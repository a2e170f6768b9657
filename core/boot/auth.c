/* The job key handshake: mutual challenge and response.
 *
 * DESIGN  There are three messages of 64 bytes: a head of 32 bytes, then an
 * HMAC-SHA-256 with the job key over the heads sent so far, the step, and the
 * job's name.
 *
 *   dialler                                         listener
 *   hello   head(nonce A), MAC(1 job hello)      -->
 *           <--  answer  head(nonce B), MAC(2 job hello answer)
 *   proof   head(zero),    MAC(3 job hello answer proof)  -->
 *
 *   head  0 "WFTA"  4 version  5 step  6 byte order
 *         7 word size, with bit 0x80: it has AES
 *         8 my loc_id  12 your loc_id  16 nonce (16 bytes)
 *
 * The MAC of the hello proves nothing about freshness (it can be replayed) but
 * lets the listener refuse a process without the key before it keeps any
 * state; the answer proves the listener, the proof the dialler. The step in
 * the MAC input keeps a message from being reflected. A listener never sends
 * more bytes than it received.
 *
 * A refusal is a head with step 0xff and a reason in byte 6, unauthenticated:
 * it can only shorten a wait and choose the text of an error.
 *
 * The keys of a session (security = encrypt) are HMACs over hello and answer,
 * with other steps. Both nonces are in them, so no two handshakes give the same
 * keys.
 *
 * Byte order and word size are carried for information; the wire is the same on
 * every machine, so they need not agree.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "crypto/cipher.h"
#include "crypto/mac.h"
#include "crypto/vendor.h"
#include "os/secret.h"
#include "process/endpoint.h"
#include "process/rank.h"

enum {
    AUTH_VERSION = 1,
    HEAD = 32,
    MAC = 32,
    NONCE = 16,
    JOB_MAX = 64,
    TRANSCRIPT_MAX = 8 + JOB_MAX + 3 * HEAD
};

enum auth_at {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_STEP = 5,
    AT_ORDER = 6,
    AT_REASON = 6,
    AT_WORD = 7,
    AES = 0x80, /* in AT_WORD: the machine has instructions for AES */
    AT_FROM = 8,
    AT_TO = 12,
    AT_NONCE = 16
};

enum auth_wire_step {
    STEP_HELLO = 1,
    STEP_ANSWER = 2,
    STEP_PROOF = 3,
    STEP_KEY = 0x10, /* never sent: session key of the dialler; listener: + 1 */
    STEP_ID = STEP_KEY + 2, /* never sent: number of the session */
    STEP_REFUSED = 0xff
};

struct wf_auth_key {
    unsigned char secret[WF_AUTH_KEY_BYTES];
    unsigned char job[JOB_MAX]; /* zero padded */
    uint64_t datagram[2];       /* key of mac64() */
};

struct weft_auth {
    uint8_t expects; /* STEP_ANSWER (dialler) or STEP_PROOF (listener) */
    uint32_t peer;
    unsigned char hello[HEAD], answer[HEAD];
};

static const unsigned char magic[4] = {'W', 'F', 'T', 'A'};

static int fill_random(void *buf, size_t n)
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
    return fill_random(bytes, WF_AUTH_KEY_BYTES);
}

static void derive_datagram_key(struct wf_auth_key *key)
{
    static const unsigned char purpose[] = "weft datagram key 1";
    unsigned char mac[MAC];

    wf_vendor_crypto_auth_hmacsha256(mac, purpose, sizeof purpose, key->secret);
    memcpy(key->datagram, mac, sizeof key->datagram);
    explicit_bzero(mac, sizeof mac);
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

static void put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static int put_head(unsigned char *head, uint8_t step, uint32_t from,
                    uint32_t to)
{
    static const uint16_t probe = 1;
    memset(head, 0, HEAD);
    memcpy(head, magic, sizeof magic);
    head[AT_VERSION] = AUTH_VERSION;
    head[AT_STEP] = step;
    head[AT_ORDER] = *(const unsigned char *)&probe ? 1 : 2;
    head[AT_WORD] = sizeof(void *);
    if (&weft_cipher && weft_cipher.has_aes())
        head[AT_WORD] |= AES;
    put_u32(head + AT_FROM, from);
    put_u32(head + AT_TO, to);
    if (step == STEP_PROOF)
        return WEFT_OK; /* both nonces are in the transcript already */
    return fill_random(head + AT_NONCE, NONCE);
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
    put_u32(text + 16 + JOB_MAX, of->rank);
    put_u32(text + 20 + JOB_MAX, of->engine);
    n += put_transport_name(text + n, NAME_MAX_OF_SEED, of->transport);
    wf_vendor_crypto_auth_hmacsha256(seed, text, n, key->secret);
    wf_secret_wipe_stack();
}

/* Compute the MAC over step, job and heads; unused heads are NULL. */
static void compute_mac(const struct wf_auth_key *key, uint8_t step,
                        const unsigned char *const heads[3],
                        unsigned char out[MAC])
{
    unsigned char text[TRANSCRIPT_MAX] = "weft";
    size_t n = 8;

    text[4] = AUTH_VERSION;
    text[5] = step;
    memcpy(text + n, key->job, JOB_MAX);
    n += JOB_MAX;
    for (int i = 0; i < 3 && heads[i]; i++, n += HEAD)
        memcpy(text + n, heads[i], HEAD);
    wf_vendor_crypto_auth_hmacsha256(out, text, n, key->secret);
    wf_secret_wipe_stack();
}

/* Complete a message: append the MAC to its head. */
static void append_mac(const struct wf_auth_key *key, const weft_auth *a,
                       unsigned char *msg, size_t *len)
{
    uint8_t step = msg[AT_STEP];
    const unsigned char *heads[3] = {a->hello, a->answer, NULL};

    heads[step - STEP_HELLO] = msg;
    for (int i = step; i < 3; i++)
        heads[i] = NULL;
    compute_mac(key, step, heads, msg + HEAD);
    *len = WEFT_AUTH_MSG;
}

static bool has_valid_mac(const struct wf_auth_key *key, const weft_auth *a,
                          const unsigned char *msg)
{
    unsigned char copy[WEFT_AUTH_MSG];
    size_t n;
    memcpy(copy, msg, HEAD);
    append_mac(key, a, copy, &n);
    return wf_vendor_crypto_verify_32(copy + HEAD, msg + HEAD) == 0;
}

static int write_refusal(int why, unsigned char *out, size_t *out_len)
{
    memset(out, 0, WEFT_AUTH_MSG);
    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = AUTH_VERSION;
    out[AT_STEP] = STEP_REFUSED;
    out[AT_REASON] = (unsigned char)-why;
    *out_len = WEFT_AUTH_MSG;
    return why;
}

/* Check the head of a message, before its MAC; refuse a wrong one. */
static int check_head(const unsigned char *in, uint8_t step, unsigned char *out,
                      size_t *out_len)
{
    if (memcmp(in, magic, sizeof magic) != 0)
        return WEFT_EPROTO; /* not Weft: no answer */
    if (in[AT_STEP] == STEP_REFUSED) {
        int why = -(int)in[AT_REASON];
        return why == WEFT_EAUTH || why == WEFT_EUNREACH ? why : WEFT_EPROTO;
    }
    if (in[AT_VERSION] != AUTH_VERSION || in[AT_STEP] != step ||
        in[AT_ORDER] < 1 || in[AT_ORDER] > 2)
        return write_refusal(WEFT_EPROTO, out, out_len);
    return WEFT_OK;
}

static int start_dial(const struct wf_auth_key *key, uint32_t self,
                      weft_auth *a, unsigned char *out, size_t *out_len)
{
    if (put_head(out, STEP_HELLO, self, a->peer) < 0)
        return WEFT_ESYS;
    memcpy(a->hello, out, HEAD);
    a->expects = STEP_ANSWER;
    append_mac(key, a, out, out_len);
    return WEFT_EAGAIN;
}

static int on_hello(const struct wf_auth_key *key, uint32_t self, weft_auth *a,
                    const unsigned char *in, unsigned char *out,
                    size_t *out_len)
{
    int rc = check_head(in, STEP_HELLO, out, out_len);
    if (rc < 0)
        return rc;
    if (!has_valid_mac(key, a, in))
        return write_refusal(WEFT_EAUTH, out, out_len);
    a->peer = get_u32(in + AT_FROM);
    if (get_u32(in + AT_TO) != self || a->peer == self)
        return write_refusal(WEFT_EUNREACH, out, out_len);
    memcpy(a->hello, in, HEAD);
    if (put_head(out, STEP_ANSWER, self, a->peer) < 0)
        return WEFT_ESYS;
    memcpy(a->answer, out, HEAD);
    a->expects = STEP_PROOF;
    append_mac(key, a, out, out_len);
    return WEFT_EAGAIN;
}

static int on_answer(const struct wf_auth_key *key, uint32_t self, weft_auth *a,
                     const unsigned char *in, unsigned char *out,
                     size_t *out_len)
{
    int rc = check_head(in, STEP_ANSWER, out, out_len);
    if (rc < 0)
        return rc;
    if (!has_valid_mac(key, a, in))
        return write_refusal(WEFT_EAUTH, out, out_len);
    if (get_u32(in + AT_FROM) != a->peer || get_u32(in + AT_TO) != self)
        return write_refusal(WEFT_EUNREACH, out, out_len);
    memcpy(a->answer, in, HEAD);
    put_head(out, STEP_PROOF, self, a->peer);
    append_mac(key, a, out, out_len);
    return WEFT_OK;
}

static int on_proof(const struct wf_auth_key *key, uint32_t self, weft_auth *a,
                    const unsigned char *in, unsigned char *out,
                    size_t *out_len)
{
    int rc = check_head(in, STEP_PROOF, out, out_len);
    if (rc < 0)
        return rc;
    if (!has_valid_mac(key, a, in) || get_u32(in + AT_FROM) != a->peer ||
        get_u32(in + AT_TO) != self)
        return write_refusal(WEFT_EAUTH, out, out_len);
    return WEFT_OK;
}

static void derive_session(const struct wf_auth_key *key, const weft_auth *a,
                           struct wf_auth_session *s)
{
    const unsigned char *const heads[3] = {a->hello, a->answer, NULL};
    unsigned char id[MAC];

    for (int from = 0; from < 2; from++)
        compute_mac(key, (uint8_t)(STEP_KEY + from), heads, s->key[from]);
    compute_mac(key, STEP_ID, heads, id);
    s->id = (uint64_t)get_u32(id) << 32 | get_u32(id + 4);
    s->dialled = a->expects == STEP_ANSWER;
    s->aes = a->hello[AT_WORD] & a->answer[AT_WORD] & AES;
}

static void free_auth(weft_auth **auth)
{
    if (*auth)
        explicit_bzero(*auth, sizeof **auth);
    free(*auth);
    *auth = NULL;
}

/* Do one step of the handshake; the caller frees *auth at its end. */
static int advance_handshake(const struct wf_auth_key *key, uint32_t self,
                             weft_auth **auth, const void *in, size_t in_len,
                             void *out, size_t *out_len, uint32_t *loc_id)
{
    weft_auth *a = *auth;
    int rc;

    if (!out) /* the connection died midway */
        return WEFT_ECANCEL;
    *out_len = 0;
    if (!a && !(a = *auth = calloc(1, sizeof *a)))
        return WEFT_ENOMEM;
    if (!key) {
        rc = WEFT_EAUTH;
    } else if (!in && a->expects == 0) {
        a->peer = *loc_id;
        rc = start_dial(key, self, a, out, out_len);
    } else if (!in || in_len != WEFT_AUTH_MSG) {
        rc = WEFT_EPROTO;
    } else if (a->expects == 0) {
        rc = on_hello(key, self, a, in, out, out_len);
    } else if (a->expects == STEP_ANSWER) {
        rc = on_answer(key, self, a, in, out, out_len);
    } else {
        rc = on_proof(key, self, a, in, out, out_len);
    }
    if (rc == WEFT_OK)
        *loc_id = a->peer;
    return rc;
}

int wf_auth_advance(const struct wf_auth_key *key, uint32_t self,
                    weft_auth **auth, const void *in, size_t in_len, void *out,
                    size_t *out_len, uint32_t *loc_id)
{
    int rc =
        advance_handshake(key, self, auth, in, in_len, out, out_len, loc_id);

    if (rc != WEFT_EAGAIN)
        free_auth(auth);
    return out ? rc : WEFT_OK;
}

int wf_auth_step(struct weft_core *core, weft_auth **auth, const void *in,
                 size_t in_len, void *out, size_t *out_len, uint32_t *loc_id)
{
    const struct wf_auth_key *key = core->wf->rank->job.key;
    int rc = advance_handshake(key, core->wf->rank->id, auth, in, in_len, out,
                               out_len, loc_id);

    if (rc == WEFT_OK && core->wf->rank->on_authenticated) {
        struct wf_auth_session s;
        derive_session(key, *auth, &s);
        core->wf->rank->on_authenticated(core, *loc_id, &s);
        explicit_bzero(&s, sizeof s);
    }
    if (rc != WEFT_EAGAIN)
        free_auth(auth);
    return out ? rc : WEFT_OK;
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

/* The handshake: mutual challenge and response with a key that both have.
 *
 * DESIGN  There are three messages of 64 bytes: a head of 48 bytes, then the
 * first 16 bytes of an HMAC-SHA-256 over the heads sent so far, the step, and
 * the name that belongs to the key.
 *
 *   dialler                                         listener
 *   hello   head(nonce A), MAC(1 name hello)      -->
 *           <--  answer  head(nonce B), MAC(2 name hello answer)
 *   proof   head(zero),    MAC(3 name hello answer proof)  -->
 *
 *   head  0 "WFTA"  4 version  5 step  6 byte order
 *         7 word size, with bit 0x80: it has AES
 *         8 key id (8)  16 my job tag, index  24 your job tag, index
 *         32 nonce (16)
 *
 * A process is named as all processes name it (process/job.h). The listener
 * finds the job of the caller by its tag, and looks there for the key.
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
#include "boot/auth_inside.h"

#include <stdlib.h>

#include "crypto/cipher.h"
#include "crypto/vendor.h"
#include "os/secret.h"
#include "process/endpoint.h"
#include "process/rank.h"

enum {
    AUTH_VERSION = 2,
    HEAD = 48,
    MAC = WF_AUTH_MAC,
    MAC_SENT = WEFT_AUTH_MSG - HEAD,
    NONCE = 16,
    JOB_MAX = WF_AUTH_NAME_MAX,
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
    AT_KEY = 8,
    AT_FROM = 16,
    AT_TO = 24,
    AT_NONCE = 32
};

enum auth_wire_step {
    STEP_HELLO = 1,
    STEP_ANSWER = 2,
    STEP_PROOF = 3,
    STEP_KEY = 0x10, /* never sent: session key of the dialler; listener: + 1 */
    STEP_ID = STEP_KEY + 2, /* never sent: number of the session */
    STEP_REFUSED = 0xff
};

struct weft_auth {
    uint8_t expects; /* STEP_ANSWER (dialler) or STEP_PROOF (listener) */
    uint32_t number; /* of the peer */
    uint64_t peer, key; /* its name, and the id of the key */
    unsigned char hello[HEAD], answer[HEAD];
};

/* The own process, as it takes part in handshakes. */
struct side {
    const struct wf_job *jobs; /* the own one first */
    uint64_t self;             /* its name */
};

static const unsigned char magic[4] = {'W', 'F', 'T', 'A'};

static int put_head(unsigned char *head, uint8_t step, uint64_t from,
                    const weft_auth *a)
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
    wf_auth_put_u64(head + AT_KEY, a->key);
    wf_auth_put_name(head + AT_FROM, from);
    wf_auth_put_name(head + AT_TO, a->peer);
    if (step == STEP_PROOF)
        return WEFT_OK; /* both nonces are in the transcript already */
    return wf_auth_fill_random(head + AT_NONCE, NONCE);
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
    unsigned char mac[MAC];

    heads[step - STEP_HELLO] = msg;
    for (int i = step; i < 3; i++)
        heads[i] = NULL;
    compute_mac(key, step, heads, mac);
    memcpy(msg + HEAD, mac, MAC_SENT);
    *len = WEFT_AUTH_MSG;
}

static bool has_valid_mac(const struct wf_auth_key *key, const weft_auth *a,
                          const unsigned char *msg)
{
    unsigned char copy[WEFT_AUTH_MSG], ours[MAC] = {0}, theirs[MAC] = {0};
    size_t n;
    memcpy(copy, msg, HEAD);
    append_mac(key, a, copy, &n);
    memcpy(ours, copy + HEAD, MAC_SENT);
    memcpy(theirs, msg + HEAD, MAC_SENT);
    return wf_vendor_crypto_verify_32(ours, theirs) == 0;
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

/* Find the key of the handshake, by the job of the peer and its id. NULL: this
 * process does not have it, or no longer. */
static const struct wf_auth_key *find_key(const struct wf_job *jobs,
                                          const weft_auth *a)
{
    uint32_t tag = (uint32_t)(a->peer >> 32), index = (uint32_t)a->peer;
    const struct wf_auth_key *key;

    while (jobs && jobs->tag != tag)
        jobs = jobs->next;
    if (!jobs || (jobs->keys && (index >= jobs->size || !jobs->keys[index])))
        return NULL;
    for (key = jobs->key; key && key->id != a->key;)
        key = key->next;
    return key;
}

static int start_dial(const struct side *side, weft_auth *a, unsigned char *out,
                      size_t *out_len)
{
    const struct wf_auth_key *key = wf_job_key(side->jobs, a->number);

    if (!key)
        return WEFT_EAUTH;
    a->peer = wf_job_name(side->jobs, a->number);
    a->key = key->id;
    if (put_head(out, STEP_HELLO, side->self, a) < 0)
        return WEFT_ESYS;
    memcpy(a->hello, out, HEAD);
    a->expects = STEP_ANSWER;
    append_mac(key, a, out, out_len);
    return WEFT_EAGAIN;
}

static int on_hello(const struct side *side, weft_auth *a,
                    const unsigned char *in, unsigned char *out,
                    size_t *out_len)
{
    const struct wf_auth_key *key;
    int rc = check_head(in, STEP_HELLO, out, out_len);
    if (rc < 0)
        return rc;
    a->peer = wf_auth_get_name(in + AT_FROM);
    a->key = wf_auth_get_u64(in + AT_KEY);
    key = find_key(side->jobs, a);
    if (!key || !has_valid_mac(key, a, in))
        return write_refusal(WEFT_EAUTH, out, out_len);
    if (wf_auth_get_name(in + AT_TO) != side->self || a->peer == side->self ||
        !wf_job_find(side->jobs, a->peer, &a->number))
        return write_refusal(WEFT_EUNREACH, out, out_len);
    memcpy(a->hello, in, HEAD);
    if (put_head(out, STEP_ANSWER, side->self, a) < 0)
        return WEFT_ESYS;
    memcpy(a->answer, out, HEAD);
    a->expects = STEP_PROOF;
    append_mac(key, a, out, out_len);
    return WEFT_EAGAIN;
}

/* Whether the message is between these two processes, with this key. */
static bool is_of_handshake(const struct side *side, const weft_auth *a,
                            const unsigned char *in)
{
    return wf_auth_get_u64(in + AT_KEY) == a->key &&
           wf_auth_get_name(in + AT_FROM) == a->peer &&
           wf_auth_get_name(in + AT_TO) == side->self;
}

static int on_answer(const struct side *side, weft_auth *a,
                     const unsigned char *in, unsigned char *out,
                     size_t *out_len)
{
    const struct wf_auth_key *key = find_key(side->jobs, a);
    int rc = check_head(in, STEP_ANSWER, out, out_len);
    if (rc < 0)
        return rc;
    if (!key || !has_valid_mac(key, a, in))
        return write_refusal(WEFT_EAUTH, out, out_len);
    if (!is_of_handshake(side, a, in))
        return write_refusal(WEFT_EUNREACH, out, out_len);
    memcpy(a->answer, in, HEAD);
    put_head(out, STEP_PROOF, side->self, a);
    append_mac(key, a, out, out_len);
    return WEFT_OK;
}

static int on_proof(const struct side *side, weft_auth *a,
                    const unsigned char *in, unsigned char *out,
                    size_t *out_len)
{
    const struct wf_auth_key *key = find_key(side->jobs, a);
    int rc = check_head(in, STEP_PROOF, out, out_len);
    if (rc < 0)
        return rc;
    if (!key || !has_valid_mac(key, a, in) || !is_of_handshake(side, a, in))
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
    s->id = (uint64_t)wf_auth_get_u32(id) << 32 | wf_auth_get_u32(id + 4);
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
static int advance_handshake(const struct side *side, weft_auth **auth,
                             const void *in, size_t in_len, void *out,
                             size_t *out_len, uint32_t *number)
{
    weft_auth *a = *auth;
    int rc;

    if (!out) /* the connection died midway */
        return WEFT_ECANCEL;
    *out_len = 0;
    if (!a && !(a = *auth = calloc(1, sizeof *a)))
        return WEFT_ENOMEM;
    if (!side->jobs->key) {
        rc = WEFT_EAUTH;
    } else if (!in && a->expects == 0) {
        a->number = *number;
        rc = start_dial(side, a, out, out_len);
    } else if (!in || in_len != WEFT_AUTH_MSG) {
        rc = WEFT_EPROTO;
    } else if (a->expects == 0) {
        rc = on_hello(side, a, in, out, out_len);
    } else if (a->expects == STEP_ANSWER) {
        rc = on_answer(side, a, in, out, out_len);
    } else {
        rc = on_proof(side, a, in, out, out_len);
    }
    if (rc == WEFT_OK)
        *number = a->number;
    return rc;
}

int wf_auth_advance(struct wf_auth_key *key, uint32_t self, weft_auth **auth,
                    const void *in, size_t in_len, void *out, size_t *out_len,
                    uint32_t *number)
{
    struct wf_job job = {.size = UINT32_MAX, .key = key, .tag = key->tag};
    struct side side = {&job, wf_job_name(&job, self)};
    int rc = advance_handshake(&side, auth, in, in_len, out, out_len, number);

    if (rc != WEFT_EAGAIN)
        free_auth(auth);
    return out ? rc : WEFT_OK;
}

const struct wf_auth_key *wf_auth_key_of(const struct weft_core *core,
                                         const weft_auth *a)
{
    const struct wf_job *own = &core->wf->rank->job;

    if (core->wf->number > 0 || a->peer >> 32 == own->tag)
        return own->key;
    return find_key(own, a);
}

int wf_auth_step(struct weft_core *core, weft_auth **auth, const void *in,
                 size_t in_len, void *out, size_t *out_len, uint32_t *loc_id)
{
    const struct wf_rank *rank = core->wf->rank;
    struct wf_job own = {
        .size = rank->job.size, .tag = rank->job.tag, .key = rank->job.key};
    /* other jobs are met by the first engine only */
    struct side side = {core->wf->number == 0 ? &rank->job : &own,
                        (uint64_t)rank->job.tag << 32 | rank->id};
    int rc = advance_handshake(&side, auth, in, in_len, out, out_len, loc_id);

    if (rc == WEFT_OK && rank->on_authenticated) {
        struct wf_auth_session s;
        derive_session(find_key(side.jobs, *auth), *auth, &s);
        rank->on_authenticated(core, *loc_id, &s);
        explicit_bzero(&s, sizeof s);
    }
    if (rc != WEFT_EAGAIN)
        free_auth(auth);
    return out ? rc : WEFT_OK;
}

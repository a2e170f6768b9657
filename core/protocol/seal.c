/* Sealing and opening of containers: see seal.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/seal.h"

#include <stdlib.h>

#include "process/instance.h"
#include "protocol/message.h"
#include "protocol/queues.h"

enum {
    AUTHENTICATED = 24, /* bytes of the header */
    ON_STACK_MAX = 1024 /* a container up to this size is sealed on the stack */
};

/* The header of a sealed container; struct wf_wire with its own names. */
struct outer {
    uint8_t type, ver;
    uint16_t flags;
    uint32_t plen;
    uint64_t counter, session, zero;
    unsigned char tag[WF_CIPHER_TAG];
    uint64_t zeros;
    uint16_t check, zero16;
    uint32_t crc;
};
_Static_assert(sizeof(struct outer) == WEFT_HDR, "header is 64 bytes");
_Static_assert(offsetof(struct outer, zero) == AUTHENTICATED,
               "the first 24 bytes are authenticated");
_Static_assert(offsetof(struct outer, check) == 56,
               "check where wire.h has it");

struct wf_seal *wf_seal_new(void)
{
    struct wf_seal *s = calloc(1, sizeof *s);

    if (s)
        s->sum = wf_crc32c_choose();
    return s;
}

static void free_keys(struct wf_session *e)
{
    weft_cipher.free(e->mine);
    weft_cipher.free(e->theirs);
}

void wf_seal_free(struct wf_seal *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->sessions; i++)
        free_keys(&s->session[i]);
    free(s);
}

int wf_seal_add_session(struct wf_seal *s, const struct wf_auth_session *made)
{
    enum wf_cipher_kind kind =
        made->aes ? WF_CIPHER_AES256 : WF_CIPHER_CHACHA20;
    struct wf_session e = {
        .id = made->id,
        .mine = weft_cipher.key(kind, made->key[!made->dialled]),
        .theirs = weft_cipher.key(kind, made->key[made->dialled]),
        .known = !made->dialled,
    };

    if (!e.mine || !e.theirs) {
        free_keys(&e);
        return WEFT_ENOMEM;
    }
    if (s->sessions == WF_SESSIONS)
        free_keys(&s->session[--s->sessions]);
    memmove(s->session + 1, s->session,
            (size_t)s->sessions++ * sizeof *s->session);
    s->session[0] = e;
    return WEFT_OK;
}

/* ---- sealing ------------------------------------------------------------- */

/* The newest session that the peer certainly has, else the newest that is not
 * used up; NULL: none. */
static struct wf_session *find_sending_session(struct wf_seal *s)
{
    struct wf_session *newest = NULL;

    for (int i = 0; i < s->sessions; i++) {
        struct wf_session *e = &s->session[i];
        if (e->sent >= WF_SEAL_LIMIT)
            continue;
        if (e->known)
            return e;
        if (!newest)
            newest = e;
    }
    return newest;
}

static uint32_t sum_of(const struct wf_seal *s, const struct outer *o)
{
    struct outer bare = *o;

    bare.check = 0;
    bare.crc = 0;
    return s->sum(0, &bare, sizeof bare);
}

/* Seal a container: text holds it, and its sealed form afterwards. Fills in
 * o. */
static void seal_text(struct wf_seal *s, struct wf_session *e, struct outer *o,
                      uint8_t *text, uint32_t n)
{
    struct wf_cipher_text t = {
        .ad = o, .ad_n = AUTHENTICATED, .in = text, .out = text, .n = n};
    uint32_t sum;

    *o = (struct outer){.type = WF_SEALED | WF_SEQUENCED,
                        .ver = WF_WIRE_VERSION,
                        .plen = wf_le32(n),
                        .counter = wf_le64(++e->sent),
                        .session = wf_le64(e->id)};
    weft_cipher.seal(e->mine, e->sent, &t, o->tag);
    sum = sum_of(s, o);
    o->check = wf_le16((uint16_t)(sum ^ sum >> 16));
    o->crc = wf_le32(sum);
}

/* Copy a container into one piece: its header and its payload. */
static void gather_container(uint8_t *to, const struct wf_wire *hdr,
                             weft_tx *tx)
{
    memcpy(to, hdr, WEFT_HDR);
    if (tx)
        wf_message_gather(tx, to + WEFT_HDR);
}

static int send_large(struct wf_seal *s, struct wf_session *e,
                      const struct weft_core *core, weft_peer *peer,
                      const struct wf_wire *hdr, weft_tx *payload)
{
    uint32_t n = WEFT_HDR + (uint32_t)payload->len;
    struct wf_tx *t = wf_message_alloc(n);
    int rc;

    if (!t)
        return WEFT_ENOMEM;
    t->tx.flags = payload->flags;
    gather_container(t->tx.one.iov_base, hdr, payload);
    seal_text(s, e, (struct outer *)&t->hdr, t->tx.one.iov_base, n);
    rc = core->ops->send(peer, &t->tx);
    if (rc != WEFT_OK)
        t->done(t, WEFT_OK);
    return rc < 0 ? rc : WEFT_DONE;
}

int wf_seal_send(struct wf_seal *s, const struct weft_core *core,
                 weft_peer *peer, const struct wf_wire *hdr, weft_tx *payload)
{
    uint32_t n = WEFT_HDR + (payload ? (uint32_t)payload->len : 0);
    struct wf_session *e = find_sending_session(s);
    struct outer o;
    uint8_t text[ON_STACK_MAX];

    if (!e && s->sessions)
        return WEFT_ELINK;
    if (!e)
        return WEFT_HAS(core->ops, weft_ops, connect) &&
                       core->ops->connect(peer) >= 0
                   ? WEFT_EAGAIN
                   : WEFT_ELINK;
    if (n > ON_STACK_MAX || n > core->attr.max_short)
        return send_large(s, e, core, peer, hdr, payload);
    gather_container(text, hdr, payload);
    seal_text(s, e, &o, text, n);
    return core->ops->send_short(peer, (const weft_hdr *)&o, text, n, 0);
}

/* ---- opening ------------------------------------------------------------- */

bool wf_seal_is_header(const struct wf_seal *s, const struct wf_wire *w)
{
    const struct outer *o = (const struct outer *)w;
    uint32_t sum;

    if (o->type != (WF_SEALED | WF_SEQUENCED) || o->ver != WF_WIRE_VERSION ||
        o->flags || wf_le32(o->plen) < WEFT_HDR)
        return false;
    sum = sum_of(s, o);
    return o->crc == wf_le32(sum) &&
           o->check == wf_le16((uint16_t)(sum ^ sum >> 16));
}

enum wf_opened wf_seal_open(struct wf_seal *s, const struct wf_wire *outer,
                            const void *in, void *out, struct wf_session **by)
{
    const struct outer *o = (const struct outer *)outer;
    struct wf_cipher_text t = {.ad = o,
                               .ad_n = AUTHENTICATED,
                               .in = in,
                               .out = out,
                               .n = wf_le32(o->plen)};
    struct wf_session *e = s->session, *end = e + s->sessions;

    while (e < end && e->id != wf_le64(o->session))
        e++;
    if (e == end)
        return WF_FORGED;
    if (wf_le64(o->counter) <= e->seen)
        return WF_STALE;
    if (!weft_cipher.open(e->theirs, wf_le64(o->counter), &t, o->tag))
        return WF_FORGED;
    *by = e;
    return WF_OPENED;
}

void wf_seal_accept(struct wf_session *e, const struct wf_wire *outer)
{
    e->seen = wf_le64(((const struct outer *)outer)->counter);
    e->known = true;
}

/* Tokens by which an association of the kernel proves to which link it belongs,
 * and that its other end has the job key.
 *
 *   0 magic   4 to   8 from: link ids   12 number   16 code
 *
 * All little-endian. The code is made with the job key from the rest, the kind
 * of the token, and what both sides said in the handshake of this link.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "sctp.h"

enum { MAGIC = 0x314b5357 };

/* The numbers in a token. */
struct token {
    uint32_t magic, to, from, number;
};

static void write_token(uint8_t out[SCTP_TOKEN], const struct token *is,
                        uint64_t code)
{
    const uint32_t all[] = {is->magic,  is->to,         is->from,
                            is->number, (uint32_t)code, (uint32_t)(code >> 32)};

    for (int i = 0; i < SCTP_TOKEN; i++)
        out[i] = (uint8_t)(all[i / 4] >> 8 * (i % 4));
}

uint32_t wf_sctp_token_word(const uint8_t *bytes, int i)
{
    const uint8_t *p = bytes + 4 * i;

    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* Makes the token that the side with the link id `from` sends to the side with
 * `to`. */
static void make_token(const weft_peer *p, uint32_t to, uint32_t from,
                       uint32_t kind, uint32_t number, uint8_t out[SCTP_TOKEN])
{
    static const char label[] = "association of the kernel";
    const weft_host *host = p->ep->ip.host;
    struct token is = {MAGIC, to, from, number};
    struct iovec v[2] = {{(void *)(uintptr_t)label, sizeof label},
                         {out, SCTP_TOKEN}};
    uint64_t code = 0;

    write_token(out, &is, kind);
    if (WEFT_HAS(host, weft_host, mac64))
        code = wf_ip_mac64(
            (struct wf_ip_key){host, p->ep->ip.core, p->ip.loc, NULL}, p->salt,
            v, 2);
    write_token(out, &is, code);
}

bool wf_sctp_token_is_valid(const weft_peer *p, uint32_t kind, uint32_t number,
                            const uint8_t *data, size_t n)
{
    uint8_t right[SCTP_TOKEN], differ = 0;

    if (n != SCTP_TOKEN)
        return false;
    make_token(p, p->link, p->remote_link, kind, number, right);
    for (int i = 0; i < SCTP_TOKEN; i++)
        differ |= (uint8_t)(right[i] ^ data[i]);
    return differ == 0;
}

/* The token stays owed if the kernel has no memory for it. A failure for good
 * comes as an event: the association is gone. */
void wf_sctp_send_token(struct wf_sctp_assoc *s, uint32_t kind)
{
    weft_peer *p = s->peer;
    struct wf_sctp_message m = {
        .stream = STREAM_ORDER, .kind = kind, .n = SCTP_TOKEN};
    uint8_t token[SCTP_TOKEN];

    make_token(p, p->remote_link, p->link, kind, s->number, token);
    s->owed_token =
        wf_sctp_kernel_send(s->sock, &m, token, false) == WEFT_EAGAIN ? kind
                                                                      : 0;
    p->owes_tokens = p->owes_tokens || s->owed_token;
}

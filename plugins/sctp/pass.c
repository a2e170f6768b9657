/* Passes: by what an association of the kernel proves to which link it belongs,
 * and who has it.
 *
 *   0 magic   4 to   8 from: link ids   12 number   16 code
 *
 * All little-endian. The code is made with the job key, out of the rest, what kind
 * of a pass it is, and what both said in the handshake of this link.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "sctp.h"

enum { MAGIC = 0x314b5357 };

struct pass { /* as it travels: everybody's numbers little-endian */
    uint32_t magic, to, from, number;
};

static void put_all(uint8_t out[SCTP_PASS], const struct pass *is,
                    uint64_t code)
{
    const uint32_t all[] = {is->magic,  is->to,         is->from,
                            is->number, (uint32_t)code, (uint32_t)(code >> 32)};

    for (int i = 0; i < SCTP_PASS; i++)
        out[i] = (uint8_t)(all[i / 4] >> 8 * (i % 4));
}

uint32_t wf_sctp_pass_word(const uint8_t *bytes, int i)
{
    const uint8_t *p = bytes + 4 * i;

    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* What the one who has the link id `from` shows to the one who has `to`. */
static void make_pass(const weft_peer *p, uint32_t to, uint32_t from,
                      uint32_t kind, uint32_t number, uint8_t out[SCTP_PASS])
{
    static const char label[] = "association of the kernel";
    const weft_host *host = p->ep->host;
    struct pass is = {MAGIC, to, from, number};
    struct iovec v[2] = {{(void *)(uintptr_t)label, sizeof label},
                         {out, SCTP_PASS}};
    uint64_t code = 0;

    put_all(out, &is, kind);
    if (WEFT_HAS(host, weft_host, mac64))
        code = host->mac64(p->ep->core, p->salt, v, 2);
    put_all(out, &is, code);
}

bool wf_sctp_is_pass(const weft_peer *p, uint32_t kind, uint32_t number,
                     const uint8_t *data, size_t n)
{
    uint8_t right[SCTP_PASS], differ = 0;

    if (n != SCTP_PASS)
        return false;
    make_pass(p, p->link, p->remote_link, kind, number, right);
    for (int i = 0; i < SCTP_PASS; i++)
        differ |= (uint8_t)(right[i] ^ data[i]);
    return differ == 0;
}

/* What the kernel has no memory for is owed. What fails for good is told as an
 * event: the association is gone. */
void wf_sctp_show(struct wf_sctp_strand *s, uint32_t kind)
{
    weft_peer *p = s->peer;
    struct wf_sctp_message m = {
        .stream = STREAM_ORDER, .kind = kind, .n = SCTP_PASS};
    uint8_t pass[SCTP_PASS];

    make_pass(p, p->remote_link, p->link, kind, s->number, pass);
    s->owes = wf_sctp_kernel_send(s->sock, &m, pass, false) == WEFT_EAGAIN
                  ? kind
                  : 0;
    p->owing = p->owing || s->owes;
}

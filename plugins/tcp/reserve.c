/* Reserving room for messages on their way: see weft_ops.reserve.
 *
 * A message is on its way while it is in the buffer of one of the two sockets.
 * The kernel counts memory there, of which a short message that is alone in its
 * packet takes several times its bytes. So all must fit in half of the sending
 * buffer.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "tcp.h"

bool wf_tcp_make_stage(weft_peer *p)
{
    WEFT_ASSERT(!p->stage);
    p->stage = malloc(TCP_PACKED + TCP_FRAME);
    return p->stage != NULL;
}

static uint64_t sending_buffer(const weft_peer *p)
{
    int n = 0;
    socklen_t len = sizeof n;

    if (getsockopt(p->conn->fd, SOL_SOCKET, SO_SNDBUF, &n, &len) < 0 || n < 0)
        return 0;
    return (uint64_t)n;
}

/* Enlarges the sending buffer to `wanted` bytes, if the kernel allows that.
 * Returns what it has then. */
static uint64_t enlarge_buffer(const weft_peer *p, uint64_t wanted)
{
    int n = wanted / 2 < INT32_MAX ? (int)(wanted / 2) : INT32_MAX;

    if (sending_buffer(p) < wanted) /* the kernel doubles it */
        setsockopt(p->conn->fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
    return sending_buffer(p);
}

int wf_tcp_reserve(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    weft_ep *ep = p->ep;
    uint64_t needed = 2 * (uint64_t)messages * (bytes + WEFT_HDR), has;

    if (p->ip.state == PEER_IDLE)
        wf_tcp_dial(p);
    if (p->ip.state == PEER_BROKEN || p->ip.state == PEER_LEFT)
        return WEFT_ELINK;
    if (p->ip.state != PEER_OPEN)
        return WEFT_EAGAIN;
    if (!p->stage && !wf_tcp_make_stage(p))
        return WEFT_ENOMEM;
    has = enlarge_buffer(p, needed);
    if (has >= needed)
        return WEFT_OK;
    ep->ip.host->log(ep->ip.core, 3,
                     "%u messages of %llu bytes need a sending buffer of %llu "
                     "bytes and the kernel gives %llu: raise "
                     "net.core.wmem_max, or sndbuf",
                     messages, (unsigned long long)bytes,
                     (unsigned long long)needed, (unsigned long long)has);
    return WEFT_ENOTSUP;
}

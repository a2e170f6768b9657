/* Reading another process' memory with process_vm_readv (CMA), and when.
 *
 * One copy by the kernel against two through the ring: where two cores share a
 * cache the ring wins by two to three times, elsewhere it may not. So the
 * first large messages are a race: RACES of them go each way, the best time of
 * each counts, and CMA stays only where it was clearly faster. Where the
 * kernel forbids it (ptrace rules, seccomp) the ring carries on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    RACES = 4,
    READ_MOST = 4 << 20 /* bytes before progress looks at others */
};

/* What a race over `bytes` has shown. */
static void note(struct shm_pace *pace, uint64_t bytes, uint64_t ns)
{
    uint64_t mbs = bytes * 1000 / (ns ? ns : 1);
    pace->races++;
    if (mbs > pace->mbs)
        pace->mbs = mbs;
}

static bool decided(const weft_ep *ep)
{
    return ep->ring_pace.races >= RACES && ep->cma_pace.races >= RACES;
}

static bool won(const weft_ep *ep)
{
    return ep->cma_pace.mbs > ep->ring_pace.mbs + ep->ring_pace.mbs / 8;
}

/* Should a message be offered to be read by CMA? */
bool wf_shm_cma_offer(const weft_ep *ep, uint64_t len)
{
    if (len < SHM_CMA_FROM || ep->config.cma == SHM_CMA_NO)
        return false;
    return ep->config.cma == SHM_CMA_YES || !decided(ep) || won(ep);
}

/* Should this one be? The two ways take turns until it is decided. */
static bool wanted(const weft_ep *ep)
{
    if (ep->config.cma == SHM_CMA_AUTO)
        return decided(ep) ? won(ep)
                           : ep->cma_pace.races < ep->ring_pace.races;
    return ep->config.cma == SHM_CMA_YES;
}

/* The key of a peer's whole memory, or NULL: push. */
weft_rkey *wf_shm_cma_key(weft_peer *p)
{
    if (p->cma_refused || p->state != SHM_UP || !wanted(p->ep))
        return NULL;
    if (!p->pid) {
        /* Its number in my namespace, from the kernel. */
        struct ucred peer;
        socklen_t n = sizeof peer;
        if (getsockopt(p->watch.fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0)
            p->pid = peer.pid;
        p->cma_refused = p->pid <= 0;
    }
    return p->cma_refused ? NULL : &p->cma;
}

/* Is a message of len bytes that comes through the ring a race? */
bool wf_shm_ring_races(const weft_peer *p, uint64_t len)
{
    const weft_ep *ep = p->ep;
    return len >= SHM_CMA_FROM && ep->config.cma == SHM_CMA_AUTO &&
           !p->cma_refused && ep->ring_pace.races < RACES;
}

/* It has come, in ns. */
void wf_shm_ring_paced(weft_peer *p, uint64_t len, uint64_t ns)
{
    if (wf_shm_ring_races(p, len))
        note(&p->ep->ring_pace, len, ns);
}

/* Read some of the message. WEFT_DONE, WEFT_EAGAIN for more, or an error. */
int wf_shm_cma_step(weft_peer *p, const weft_rma *rma, uint64_t *done)
{
    weft_ep *ep = p->ep;
    uint64_t left = rma->len - *done;
    uint64_t now = left < READ_MOST ? left : READ_MOST;
    struct iovec to = {(char *)rma->one.iov_base + *done, now};
    struct iovec from = {(void *)(uintptr_t)(rma->raddr + *done), now};
    uint64_t start = decided(ep) ? 0 : ep->host->now_ns(ep->core);
    ssize_t n = process_vm_readv(p->pid, &to, 1, &from, 1, 0);
    if (n <= 0) {
        p->cma_refused = true;
        return errno == ESRCH ? WEFT_EPEER : WEFT_ENOTSUP;
    }
    if (start && *done == 0)
        note(&ep->cma_pace, (uint64_t)n,
             ep->host->now_ns(ep->core) - start);
    p->cma_works = true;
    *done += (uint64_t)n;
    return *done == rma->len ? WEFT_DONE : WEFT_EAGAIN;
}

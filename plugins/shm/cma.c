/* Access to another process' memory with process_vm_readv and _writev (CMA),
 * and the decision when to use it.
 *
 * DESIGN  The kernel copies once, the ring twice. Where two cores share a cache
 * the ring wins by two to three times, elsewhere it may not. So the first large
 * messages are a race: SHM_CMA_RACES of them go each way, the best time of each
 * counts, and the receiver reads all alone only where that was clearly faster.
 * Elsewhere CMA is for transfers of which only one side is in MPI: fetch.c.
 *
 * Where more than four ranks share a CPU the two sides seldom run at the same
 * time, and each filling of the ring waits for the other side to be scheduled.
 * There the receiver reads all messages that are announced.
 *
 * Where the kernel forbids CMA (ptrace rules, seccomp) the ring carries all.
 * The usual rule of Yama can be satisfied: wf_shm_cma_admit_peers.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Records the time of one message of a race. */
static void record_pace(struct shm_pace *pace, uint64_t bytes, uint64_t ns)
{
    uint64_t mbs = bytes * 1000 / (ns ? ns : 1);
    pace->races++;
    if (mbs > pace->mbs)
        pace->mbs = mbs;
}

static bool is_race_decided(const weft_ep *ep)
{
    return ep->ring_pace.races >= SHM_CMA_RACES &&
           ep->cma_pace.races >= SHM_CMA_RACES;
}

static bool has_cma_won(const weft_ep *ep)
{
    return ep->cma_pace.mbs > ep->ring_pace.mbs + ep->ring_pace.mbs / 8;
}

static bool is_always_read_by_receiver(const weft_ep *ep)
{
    return ep->config.cma == SHM_CMA_AUTO && ep->heavily_oversubscribed;
}

/* Says whether a message should be offered. */
bool wf_shm_cma_should_offer(const weft_ep *ep, uint64_t len)
{
    if (is_always_read_by_receiver(ep))
        return true;
    if (len < SHM_CMA_MIN || ep->config.cma == SHM_CMA_NO)
        return false;
    return len >= SHM_EITHER_SIDE_MIN || ep->config.cma == SHM_CMA_YES ||
           !is_race_decided(ep) || has_cma_won(ep);
}

/* Says whether the receiver is to read this message alone. The two ways
 * alternate until the race is decided. */
bool wf_shm_cma_reads_alone(const weft_ep *ep)
{
    if (ep->config.cma != SHM_CMA_AUTO || ep->heavily_oversubscribed)
        return ep->config.cma != SHM_CMA_NO;
    return is_race_decided(ep) ? has_cma_won(ep)
                               : ep->cma_pace.races < ep->ring_pace.races;
}

/* Reads Yama's rule. 0: any process of the user may access another; 1: only its
 * ancestors, and one process that it names, with all that this one has started;
 * 2, 3: none. */
static char read_yama_scope(void)
{
    char c = '0';
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return c;
    (void)!read(fd, &c, 1);
    close(fd);
    return c;
}

/* Lets the peers access this process' memory under Yama's rule 1, before one is
 * told of such memory. The launcher is the one ancestor that all processes of
 * the job have on this node: naming it admits them, and no foreign process. */
void wf_shm_cma_admit_peers(weft_ep *ep)
{
    unsigned long who = ep->config.ptracer == SHM_PTRACER_ANY
                            ? PR_SET_PTRACER_ANY
                            : ep->launcher;
    if (ep->peers_admitted)
        return;
    ep->peers_admitted = true;
    if (who && ep->config.ptracer != SHM_PTRACER_NO && read_yama_scope() == '1')
        (void)prctl(PR_SET_PTRACER, who, 0, 0, 0);
}

/* Logs, for weft-info, which processes can use CMA here. */
void wf_shm_cma_log_use(const weft_open *o, const struct shm_config *c)
{
    static const char *const who[] = {"processes of one launcher",
                                      "processes of the user", "nobody"};
    char byte = 0, s = read_yama_scope();
    struct iovec one = {&byte, 1};
    bool works = process_vm_readv(getpid(), &one, 1, &one, 1, 0) == 1;
    if (works && s <= '1')
        o->host->log(o->core, 2, "cma: for %s (kernel.yama.ptrace_scope %c)",
                     who[s == '1' ? c->ptracer : SHM_PTRACER_ANY], s);
    else
        o->host->log(o->core, 2, "cma: refused by the kernel%s",
                     works ? " (kernel.yama.ptrace_scope)" : "");
}

/* Asks the kernel for the peer's number in this namespace. */
static bool find_pid(weft_peer *p)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    if (p->pid <= 0 &&
        getsockopt(p->watch.fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0)
        p->pid = peer.pid;
    return p->pid > 0;
}

/* Makes the key of an offer. NULL: the sender has to push. */
weft_rkey *wf_shm_cma_open_key(weft_peer *p, uint64_t id)
{
    if (p->cma_refused || p->state != SHM_UP)
        return NULL;
    weft_rkey *k = calloc(1, sizeof *k);
    if (k)
        k->id = id;
    return k;
}

/* Says whether this process may read the peer's memory. */
bool wf_shm_cma_probe(weft_peer *p, uint64_t at)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)at, 1};
    if (p->cma_works || p->cma_refused)
        return p->cma_works;
    wf_shm_cma_admit_peers(p->ep); /* it may write */
    p->cma_works =
        find_pid(p) && process_vm_readv(p->pid, &to, 1, &from, 1, 0) == 1;
    p->cma_refused = !p->cma_works;
    return p->cma_works;
}

/* Reads n bytes of the peer's memory. Returns false if it could not read
 * all. */
bool wf_shm_cma_read(weft_peer *p, void *to, uint64_t at, uint64_t n)
{
    p->ep->stats.read_bytes += n;
    while (n > 0) {
        struct iovec mine = {to, n}, its = {(void *)(uintptr_t)at, n};
        ssize_t got = process_vm_readv(p->pid, &mine, 1, &its, 1, 0);
        if (got <= 0)
            return false;
        to = (char *)to + got;
        at += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return true;
}

/* Says whether the peer still has its process number. The number of a process
 * that has ended may be another's, and writing there would be worse than
 * reading. A process closes its socket before its number is free. */
static bool is_peer_alive(const weft_peer *p)
{
    char byte;
    return recv(p->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

/* Writes into the peer's memory. Returns the number of bytes; after less than n
 * it is not tried again. */
uint64_t wf_shm_cma_write(weft_peer *p, const void *from, uint64_t at,
                          uint64_t n)
{
    struct iovec mine = {(void *)(uintptr_t)from, n},
                 its = {(void *)(uintptr_t)at, n};
    ssize_t put = -1;
    if (find_pid(p) && is_peer_alive(p))
        put = process_vm_writev(p->pid, &mine, 1, &its, 1, 0);
    p->write_refused = put != (ssize_t)n;
    p->ep->stats.written_bytes += put > 0 ? (uint64_t)put : 0;
    return put > 0 ? (uint64_t)put : 0;
}

/* Says whether a message of len bytes that comes through the ring is a race. */
bool wf_shm_is_ring_race(const weft_peer *p, uint64_t len)
{
    const weft_ep *ep = p->ep;
    return len >= SHM_CMA_MIN && ep->config.cma == SHM_CMA_AUTO &&
           !p->cma_refused && ep->ring_pace.races < SHM_CMA_RACES;
}

/* Records that a message of len bytes has come through the ring, in ns. */
void wf_shm_record_ring_race(weft_peer *p, uint64_t len, uint64_t ns)
{
    if (wf_shm_is_ring_race(p, len))
        record_pace(&p->ep->ring_pace, len, ns);
}

/* Reads some of the message. WEFT_DONE, WEFT_EAGAIN for more, or an error. */
int wf_shm_cma_step(weft_peer *p, const weft_get *rma, uint64_t *done)
{
    weft_ep *ep = p->ep;
    uint64_t left = rma->one.iov_len - *done;
    uint64_t now = left < SHM_CMA_READ_MAX ? left : SHM_CMA_READ_MAX;
    struct iovec to = {(char *)rma->one.iov_base + *done, now};
    struct iovec from = {(void *)(uintptr_t)(rma->raddr + *done), now};
    uint64_t start = is_race_decided(ep) ? 0 : ep->host->now_ns(ep->core);
    ssize_t n = process_vm_readv(p->pid, &to, 1, &from, 1, 0);
    if (n <= 0) {
        p->cma_refused = true;
        return errno == ESRCH ? WEFT_EPEER : WEFT_ENOTSUP;
    }
    if (start && *done == 0)
        record_pace(&ep->cma_pace, (uint64_t)n,
                    ep->host->now_ns(ep->core) - start);
    ep->stats.read_bytes += (uint64_t)n;
    *done += (uint64_t)n;
    return *done == rma->one.iov_len ? WEFT_DONE : WEFT_EAGAIN;
}

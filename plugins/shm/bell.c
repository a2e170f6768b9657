/* The bell: sleeping without missing an event, and waking without waste.
 *
 *   sleeper (wf_shm_arm)                sender (shm_publish_slot, return_room)
 *   mode = ASLEEP | count of sleeps     slot word, or room count
 *   full barrier                        fence
 *   poll every ring and awaited room    load mode
 *   nothing: sleep on the epoll fd      ASLEEP: write the eventfd, once a sleep
 *
 * DESIGN  The sender's fence would cost a cache miss per message, because it
 * waits until the slot has left the store buffer. So the sleeper pays for both
 * with membarrier(2), which makes every running thread of the job pass a full
 * barrier; senders then need a compiler barrier only. Where membarrier is
 * missing, or where ranks outnumber the CPUs so that sleeping must be cheap,
 * callers are told to fence (SETUP and READY carry the choice).
 *
 * The eventfd is edge triggered and never read: one epoll_wait consumes it.
 *
 * With more than SHM_FEW_PEERS peers the endpoint does not poll every ring in
 * every progress call: SHM_MANY asks senders to set their byte of the page as
 * well.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "ring.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { /* linux/membarrier.h, which old systems lack */
       BARRIER_EXPEDITED = 1 << 1,
       BARRIER_REGISTER = 1 << 2
};

static long membarrier(int command)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, command, 0, 0);
#else
    (void)command;
    return -1;
#endif
}

/* Registers for membarrier, once per endpoint. oversubscribed: more ranks than
 * CPUs. */
void wf_shm_bell_register(weft_ep *ep, bool oversubscribed)
{
    ep->registered = membarrier(BARRIER_REGISTER) == 0;
    ep->barrier = ep->registered && !oversubscribed;
}

static void full_barrier(weft_ep *ep)
{
    shm_fence();
    if (ep->barrier && membarrier(BARRIER_EXPEDITED) != 0) {
        /* Cannot happen after a successful registration. If it does, this
         * endpoint polls and never sleeps. */
        ep->sweep = true;
    }
}

static void set_mode(weft_ep *ep, uint32_t mode)
{
    WEFT_ASSERT(ep->page);
    ep->mode = mode;
    atomic_store_explicit(&ep->page->mode, mode, memory_order_release);
}

/* The slow part of shm_wake_peer, for a peer that sleeps or has many peers. */
void wf_shm_ring_bell(weft_peer *p, uint32_t mode)
{
    if (mode & SHM_MANY && p->my_byte < SHM_BELL_BYTES)
        atomic_store_explicit(&p->page->rang[p->my_byte], 1,
                              memory_order_release);
    /* relaxed: whoever stores it has yet to ring, or has rung */
    if (!(mode & SHM_ASLEEP) ||
        atomic_load_explicit(&p->rung, memory_order_relaxed) == mode)
        return;
    atomic_store_explicit(&p->rung, mode, memory_order_relaxed);
    uint64_t one = 1;
    /* EAGAIN: the counter is full, so the bell is ringing already. */
    ssize_t n = write(p->bell, &one, sizeof one);
    (void)n;
    atomic_store_explicit(
        &p->ep->stats.rings,
        atomic_load_explicit(&p->ep->stats.rings, memory_order_relaxed) + 1,
        memory_order_relaxed); /* two at once may count as one */
}

/* Asks callers to set their byte from now on. Messages that came before are
 * found by polling every ring once. */
void wf_shm_require_bytes(weft_ep *ep)
{
    if (ep->mode & SHM_MANY)
        return;
    set_mode(ep, ep->mode | SHM_MANY);
    full_barrier(ep);
    ep->sweep = true;
}

/* Says whether the peer has published a slot that may be taken now. */
bool wf_shm_has_arrived(const weft_peer *p)
{
    const struct shm_in *in = &p->in;
    if (in->paused || p->fault)
        return false;
    uint64_t word = atomic_load_explicit(&in->next->word, memory_order_acquire);
    return (word >> 61) == in->wrap;
}

int wf_shm_event(weft_ep *ep, int *fd)
{
    *fd = ep->epoll;
    return WEFT_OK;
}

/* Tells receivers that this side waits for space. */
static void announce_waiting(weft_ep *ep)
{
    for (uint32_t i = 0; i < ep->busy_n; i++) {
        struct shm_out *out = &ep->busy[i]->out;
        if (ep->busy[i]->state != SHM_UP || out->waiting_for_space)
            continue;
        out->waiting_for_space = true;
        atomic_store_explicit(&out->line->waiting_for_space, 1,
                              memory_order_relaxed);
    }
}

/* Says whether progress can do something for a busy peer. */
static bool busy_can_move(weft_peer *p)
{
    shm_close_out(p);
    if (p->fault)
        return true;
    if (p->state != SHM_UP)
        return false;
    if (p->in.eof)
        return !p->in.paused;
    if (wf_shm_direct_can_move(p))
        return true;
    return p->out.tx ? wf_shm_can_push(p) : p->out.want && wf_shm_has_room(p);
}

static bool has_work(weft_ep *ep)
{
    if (ep->sweep)
        return true;
    for (uint32_t i = 0; i < ep->live_n; i++)
        if (wf_shm_has_arrived(ep->live[i]))
            return true;
    for (uint32_t i = 0; i < ep->busy_n; i++)
        if (busy_can_move(ep->busy[i]))
            return true;
    return false;
}

static void lower_deadline(uint64_t *deadline, uint64_t at)
{
    if (deadline && (*deadline == 0 || at < *deadline))
        *deadline = at;
}

static void collect_deadlines(weft_ep *ep, uint64_t *deadline)
{
    if (ep->accept_at)
        lower_deadline(deadline, ep->accept_at);
    for (uint32_t i = 0; i < ep->busy_n; i++)
        if (ep->busy[i]->state == SHM_WAITING)
            lower_deadline(deadline, ep->busy[i]->retry_at);
}

/* Prepares for sleep. After WEFT_OK every event makes the epoll descriptor
 * readable. WEFT_EAGAIN: there is something to do. */
int wf_shm_arm(weft_ep *ep, uint64_t *deadline_ns)
{
    if (!ep->armed) {
        announce_waiting(ep);
        uint32_t who =
            shm_is_helper(ep) ? SHM_ASLEEP | SHM_HELPER_THREAD : SHM_ASLEEP;
        set_mode(ep, (ep->mode | who) + SHM_SLEEP_COUNT);
        full_barrier(ep);
        ep->armed = true;
    }
    if (has_work(ep)) {
        ep->armed = false;
        ep->sweep = true; /* the next call finds it, whichever peer it is of */
        set_mode(ep, ep->mode & ~(SHM_ASLEEP | SHM_HELPER_THREAD));
        return WEFT_EAGAIN;
    }
    collect_deadlines(ep, deadline_ns);
    ep->stats.sleeps++;
    return WEFT_OK;
}

/* Ends a sleep: the bell is not rung any more, and the sockets are polled next,
 * which also consumes the bell. */
void wf_shm_disarm(weft_ep *ep)
{
    ep->armed = false;
    set_mode(ep, ep->mode & ~(SHM_ASLEEP | SHM_HELPER_THREAD));
    ep->attend = true;
}

/* Progress: arrivals first, then unfinished transfers, then sockets.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

/* Puts a peer on the list of those that progress has something to do for. */
void wf_shm_mark_busy(weft_peer *p)
{
    if (p->busy)
        return;
    WEFT_ASSERT(p->ep->busy_n < p->ep->peers_cap);
    p->busy = true;
    p->ep->busy[p->ep->busy_n++] = p;
}

static void clear_busy(weft_ep *ep, uint32_t i)
{
    WEFT_ASSERT(i < ep->busy_n && ep->busy[i]->busy);
    ep->busy[i]->busy = false;
    ep->busy[i] = ep->busy[--ep->busy_n];
}

static void remember_recent(weft_ep *ep, weft_peer *p)
{
    for (int i = 0; i < SHM_RECENT; i++)
        if (ep->recent[i] == p)
            return;
    for (int i = SHM_RECENT - 1; i > 0; i--)
        ep->recent[i] = ep->recent[i - 1];
    ep->recent[0] = p;
}

/* Polls the rings of `rings` peers, starting after those polled last. */
static int receive_some(weft_ep *ep, uint32_t rings, int budget)
{
    int n = 0;
    uint32_t i = ep->next_live < ep->live_n ? ep->next_live : 0;
    for (uint32_t k = 0; k < rings && n < budget; k++) {
        int most = budget - n < SHM_PEER_BUDGET ? budget - n : SHM_PEER_BUDGET;
        int got = wf_shm_receive(ep->live[i], most);
        if (got > 0 && rings < ep->live_n)
            remember_recent(ep, ep->live[i]);
        n += got;
        if (++i >= ep->live_n)
            i = 0;
    }
    ep->next_live = i;
    return n;
}

static int receive_all(weft_ep *ep, int budget)
{
    return receive_some(ep, ep->live_n, budget);
}

static int receive_recent(weft_ep *ep)
{
    int n = 0;
    for (int i = 0; i < SHM_RECENT; i++)
        if (ep->recent[i])
            n += wf_shm_receive(ep->recent[i], SHM_PEER_BUDGET);
    return n;
}

/* Polls the peers that sent last, and some of the others in round-robin order,
 * so that the cost of a call does not grow with the number of peers. All are
 * polled if the caller wants more than one peer's budget. */
static int receive_polled(weft_ep *ep, int budget)
{
    if (shm_likely(ep->live_n <= SHM_RINGS_PER_POLL) || ep->sweep ||
        budget > SHM_PEER_BUDGET) {
        ep->sweep = false;
        return receive_all(ep, budget);
    }
    return receive_recent(ep) + receive_some(ep, SHM_RINGS_PER_POLL, budget);
}

/* Receives from a caller whose byte is set. The byte is cleared before the ring
 * is polled. */
static int receive_byte(weft_ep *ep, uint32_t i)
{
    /* acquire: pairs with the release in wf_shm_ring_bell */
    atomic_exchange_explicit(&ep->page->rang[i], 0, memory_order_acq_rel);
    weft_peer *p = ep->byte_owner[i];
    if (!p || p->state != SHM_UP)
        return 0;
    int n = wf_shm_receive(p, SHM_PEER_BUDGET);
    if (n == SHM_PEER_BUDGET) /* there may be more: poll again without a bell */
        atomic_store_explicit(&ep->page->rang[i], 1, memory_order_relaxed);
    if (n > 0)
        remember_recent(ep, p);
    return n;
}

static bool is_any_byte_set(const _Atomic uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load_explicit(&bytes[i], memory_order_relaxed))
            return true;
    return false;
}

/* Polls the recent peers directly, and the others by their bytes. */
static int receive_by_bytes(weft_ep *ep, int budget)
{
    int n = receive_recent(ep);
    uint32_t top = ep->byte_top;
    for (uint32_t i = 0; i < top && n < budget; i += 64) {
        uint32_t some = top - i < 64 ? top - i : 64;
        if (!is_any_byte_set(&ep->page->rang[i], some))
            continue;
        for (uint32_t k = i; k < i + some; k++)
            if (atomic_load_explicit(&ep->page->rang[k], memory_order_relaxed))
                n += receive_byte(ep, k);
    }
    return n;
}

static int receive_arrivals(weft_ep *ep, int budget)
{
    if (shm_likely(!(ep->mode & SHM_MANY) || ep->byteless > 0))
        return receive_polled(ep, budget);
    if (shm_unlikely(ep->sweep)) {
        int n = receive_all(ep, 1 << 30);
        ep->sweep = n >= SHM_PEER_BUDGET; /* a ring may hold more */
        return n;
    }
    return receive_by_bytes(ep, budget);
}

static void clear_waiting(weft_peer *p)
{
    if (!p->out.waiting_for_space)
        return;
    p->out.waiting_for_space = false;
    atomic_store_explicit(&p->out.line->waiting_for_space, 0,
                          memory_order_relaxed);
}

/* Moves the transfers of a peer, and tells the core when there is room
 * again. */
static int attend_up(weft_ep *ep, weft_peer *p)
{
    WEFT_ASSERT(p->state == SHM_UP && p->base);
    struct shm_out *out = &p->out;
    int n = 0;
    if (out->tx) {
        uint64_t before = out->off;
        if (wf_shm_push(p)) {
            weft_tx *tx = out->tx;
            out->tx = NULL;
            n++;
            ep->host->tx_done(ep->core, tx, WEFT_OK);
            shm_close_out(p);
        } else if (out->off != before) {
            n++;
        }
    }
    if (wf_shm_has_direct(p))
        n += wf_shm_direct_move(p);
    if (!out->tx && out->want && !p->fault && wf_shm_has_room(p)) {
        out->want = false;
        n++;
        ep->host->tx_ready(ep->core, p->loc);
    }
    return n;
}

static int attend_peer(weft_ep *ep, weft_peer *p)
{
    shm_close_out(p);
    if (p->fault) {
        wf_shm_report_down(p);
        return 1;
    }
    if (p->state == SHM_WAITING) {
        if (ep->host->now_ns(ep->core) >= p->retry_at)
            wf_shm_dial(p);
        return 0;
    }
    if (p->state != SHM_UP)
        return 0;
    if (p->in.eof) {
        int n = wf_shm_receive(p, SHM_PEER_BUDGET);
        if (n > 0 || p->in.paused || p->fault)
            return n;
        wf_shm_peer_gone(p);
        return 1;
    }
    return attend_up(ep, p);
}

static bool needs_attention(const weft_peer *p)
{
    if (p->fault || p->state == SHM_WAITING)
        return true;
    return p->state == SHM_UP &&
           (p->out.tx || p->out.want || p->in.eof || wf_shm_has_direct(p));
}

static int attend_busy(weft_ep *ep)
{
    int n = 0;
    for (uint32_t i = 0; i < ep->busy_n;) {
        weft_peer *p = ep->busy[i];
        n += attend_peer(ep, p);
        if (needs_attention(p)) {
            i++;
            continue;
        }
        if (p->state == SHM_UP)
            clear_waiting(p);
        clear_busy(ep, i);
    }
    return n;
}

/* Says whether the sockets should be polled again, by the clock. A call of the
 * kernel takes as long as polling a hundred rings, so the pause doubles each
 * time that there was nothing. */
static bool is_socket_pause_over(weft_ep *ep)
{
    uint64_t now = ep->host->now_ns(ep->core);
    if (now - ep->sockets_polled_at < ep->sockets_pause)
        return false;
    ep->sockets_polled_at = now;
    ep->sockets_pause = 2 * ep->sockets_pause + 1000;
    if (ep->sockets_pause > SHM_SOCKETS_APART)
        ep->sockets_pause = SHM_SOCKETS_APART;
    return true;
}

static bool is_socket_poll_due(weft_ep *ep)
{
    ep->ticks++;
    if (ep->attend || (ep->conns_made && (ep->ticks & SHM_SOCKETS_BUSY) == 0))
        return true;
    return (ep->ticks & SHM_SOCKETS_IDLE) == 0 && is_socket_pause_over(ep);
}

static int poll_sockets(weft_ep *ep)
{
    int n = wf_shm_poll_sockets(ep);
    if (n > 0)
        ep->sockets_pause = 0;
    return n;
}

static int progress_fully(weft_ep *ep, int budget)
{
    if (ep->armed)
        wf_shm_disarm(ep);
    int n = receive_arrivals(ep, budget);
    if (ep->busy_n > 0)
        n += attend_busy(ep);
    if (is_socket_poll_due(ep))
        n += poll_sockets(ep);
    return n;
}

/* Makes progress. The fast path is for a single peer with nothing else to
 * do. */
int wf_shm_progress(weft_ep *ep, int budget)
{
    bool more = ep->armed | ep->sweep | ep->attend;
    if (shm_unlikely(more || ep->live_n != 1 || ep->busy_n | ep->conns_made ||
                     budget > SHM_PEER_BUDGET ||
                     (ep->ticks & SHM_SOCKETS_IDLE) == SHM_SOCKETS_IDLE))
        return progress_fully(ep, budget);
    ep->ticks++;
    return wf_shm_receive(ep->live[0], budget);
}

static bool is_drained(weft_peer *p)
{
    if (p->state != SHM_UP || p->fault || p->in.eof || p->out.bye)
        return true;
    return !p->out.tx && wf_shm_send_bye(p);
}

/* Returns WEFT_OK once everything accepted is in the rings and SHM_BYE was sent
 * to all peers. */
int wf_shm_drain(weft_ep *ep)
{
    int rc = WEFT_OK;
    attend_busy(ep);
    for (uint32_t i = 0; i < ep->table_n; i++) {
        weft_peer *p = ep->table[i];
        if (p && p->state == SHM_CALLED && !p->out.bye)
            wf_shm_send_bye(p);
        else if (p && !is_drained(p))
            rc = WEFT_EAGAIN;
    }
    return rc;
}

/* Peers: each is one remote process, from peer_add to peer_del.
 *
 *          first send                    rings exist
 *   IDLE ------------> DIALLED ---------------------------> UP
 *    |  ^                 | full backlog, crossed calls      |
 *    |  |                 v                                  |
 *    |  |              WAITING ---- retry ---> DIALLED       |
 *    |  | its call                                           |
 *    |  +-----------> CALLED ------------------------------> UP
 *    |                                                       |
 *    +<------------------------ goodbye, then end of socket -+
 *          any ---------- fault, found anywhere -----------> DOWN
 *
 * A fault is only noted where it is found (wf_shm_fault); progress reports it
 * (wf_shm_report_down): all that the core has lent is returned first, then
 * host->peer_down is called.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

weft_peer *wf_shm_peer_find(weft_ep *ep, uint32_t loc_id)
{
    return loc_id < ep->table_n ? ep->table[loc_id] : NULL;
}

static bool grow_array(void *array, uint32_t n, size_t element)
{
    void **at = array;
    void *more = realloc(*at, n * element);
    if (more)
        *at = more;
    return more != NULL;
}

/* Makes space for one more peer in every list, so that adding to a list never
 * fails. */
static bool grow_lists(weft_ep *ep)
{
    if (ep->peers_n < ep->peers_cap)
        return true;
    uint32_t cap = ep->peers_cap ? 2 * ep->peers_cap : 16;
    if (!grow_array(&ep->live, cap, sizeof *ep->live) ||
        !grow_array(&ep->busy, cap, sizeof *ep->busy))
        return false;
    ep->peers_cap = cap;
    return true;
}

static bool grow_table(weft_ep *ep, uint32_t loc_id)
{
    if (loc_id < ep->table_n)
        return true;
    uint32_t n = ep->table_n ? ep->table_n : 16;
    while (n <= loc_id)
        n = n > UINT32_MAX / 2 ? UINT32_MAX : 2 * n;
    if (!grow_array(&ep->table, n, sizeof *ep->table))
        return false;
    memset(ep->table + ep->table_n, 0, (n - ep->table_n) * sizeof *ep->table);
    ep->table_n = n;
    return true;
}

int wf_shm_peer_add(weft_ep *ep, weft_loc *loc, uint32_t loc_id,
                    const void *addr, size_t len, weft_peer **out)
{
    if (len != sizeof(struct shm_address) || wf_shm_peer_find(ep, loc_id) ||
        loc_id == UINT32_MAX)
        return WEFT_EINVAL;
    if (!grow_lists(ep) || !grow_table(ep, loc_id))
        return WEFT_ENOMEM;
    weft_peer *p = NULL;
    if (posix_memalign((void **)&p, SHM_LINE, sizeof *p) != 0)
        return WEFT_ENOMEM;
    memset(p, 0, sizeof *p);
    p->ep = ep;
    p->loc = loc;
    p->loc_id = loc_id;
    p->watch = (struct shm_watch){SHM_PEER, -1};
    p->memory = p->bell = -1;
    p->its_byte = SHM_BELL_BYTES;
    memcpy(&p->address, addr, sizeof p->address);
    WEFT_ASSERT(loc_id < ep->table_n && !ep->table[loc_id]);
    ep->table[loc_id] = p;
    ep->peers_n++;
    *out = p;
    return WEFT_OK;
}

static void remove_from_list(weft_peer **list, uint32_t *n, const weft_peer *p)
{
    for (uint32_t i = 0; i < *n; i++)
        if (list[i] == p) {
            list[i] = list[--*n];
            return;
        }
}

/* Brings the link up: the rings exist on both sides. */
void wf_shm_link_up(weft_peer *p, int fd)
{
    weft_ep *ep = p->ep;
    p->watch.fd = fd;
    p->state = SHM_UP;
    p->was_up = true;
    p->retry_after = p->shortage_since = 0;
    WEFT_ASSERT(p->base && !p->fault && ep->live_n < ep->peers_cap);
    ep->live[ep->live_n++] = p;
    if (p->its_byte == SHM_BELL_BYTES)
        ep->byteless++;
    ep->stats.connects++;
    if (ep->live_n > SHM_FEW_PEERS)
        wf_shm_require_bytes(ep);
    ep->sweep = true; /* it may have sent before its byte counted */
    if (p->out.want)
        wf_shm_mark_busy(p);
    ep->host->peer_up(ep->core, p->loc);
}

/* Takes the peer off the lists of peers with rings. */
static void leave_lists(weft_peer *p)
{
    weft_ep *ep = p->ep;
    uint32_t before = ep->live_n;
    remove_from_list(ep->live, &ep->live_n, p);
    if (ep->live_n != before && p->its_byte == SHM_BELL_BYTES)
        ep->byteless--;
    if (p->its_byte < SHM_BELL_BYTES)
        ep->byte_owner[p->its_byte] = NULL;
    p->its_byte = SHM_BELL_BYTES;
    for (int i = 0; i < SHM_RECENT; i++)
        if (ep->recent[i] == p)
            ep->recent[i] = NULL;
}

/* Ends the connection and returns what the core has lent. The caller has set
 * the new state, so that calls from these callbacks find it. */
void wf_shm_end_connection(weft_peer *p, int status)
{
    weft_ep *ep = p->ep;
    weft_tx *tx = p->out.tx;
    weft_sink *sink = p->in.sink;
    weft_rkey *areas = p->mapped_areas; /* the core still closes their keys */
    WEFT_ASSERT(p->state != SHM_UP);
    p->mapped_areas = NULL;
    p->out.tx = NULL;
    p->in.sink = NULL;
    wf_shm_fetch_close(p);
    if (p->conn)
        wf_shm_hang_up(p->conn);
    leave_lists(p);
    wf_shm_detach(p);
    wf_shm_leave_fast_path(p);
    p->out.bye = p->out.waiting_for_space = false;
    p->in = (struct shm_in){0};
    wf_shm_direct_end(p, status);
    if (sink)
        ep->host->rx_done(ep->core, sink, status);
    if (tx)
        ep->host->tx_done(ep->core, tx, status);
    wf_shm_unmap_areas(areas);
}

/* Notes why the link must go down. The first reason counts. */
void wf_shm_fault(weft_peer *p, int status, const char *fmt, ...)
{
    if (p->fault || p->state == SHM_DOWN)
        return;
    shm_close_out(p);
    WEFT_ASSERT(status < 0);
    p->fault = status;
    wf_shm_leave_fast_path(p);
    int n = snprintf(p->why, sizeof p->why, "%s: ", p->ep->instance);
    va_list args;
    va_start(args, fmt);
    vsnprintf(p->why + n, sizeof p->why - (size_t)n, fmt, args);
    va_end(args);
    wf_shm_mark_busy(p);
}

/* Reports the fault to the core. */
void wf_shm_report_down(weft_peer *p)
{
    WEFT_ASSERT(p->fault < 0);
    shm_close_out(p);
    int status = p->fault;
    p->fault = 0;
    p->state = SHM_DOWN;
    p->out.want = false;
    wf_shm_end_connection(p, status);
    p->ep->host->peer_down(p->ep->core, p->loc, status, p->why);
}

/* Handles the end of a peer whose socket has closed and whose ring is empty. */
void wf_shm_peer_gone(weft_peer *p)
{
    shm_close_out(p);
    if (!p->in.bye) {
        wf_shm_fault(p, WEFT_EPEER,
                     "process %u (pid %u) ended without a goodbye", p->loc_id,
                     p->address.pid);
        return;
    }
    if (p->out.tx || p->out.want || p->in.sink || p->get.head ||
        wf_shm_has_fetches(p)) {
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u (pid %u) closed its endpoint while messages "
                     "to it were waiting",
                     p->loc_id, p->address.pid);
        return;
    }
    p->state = SHM_IDLE;
    wf_shm_end_connection(p, WEFT_ELINK);
}

void wf_shm_peer_free(weft_peer *p)
{
    weft_ep *ep = p->ep;
    p->state = SHM_DOWN;
    wf_shm_end_connection(p, WEFT_ECANCEL);
    WEFT_ASSERT(ep->table[p->loc_id] == p && ep->peers_n > 0);
    remove_from_list(ep->busy, &ep->busy_n, p);
    ep->table[p->loc_id] = NULL;
    ep->peers_n--;
    wf_shm_free_dead_conns(ep);
    free(p);
}

int wf_shm_peer_del(weft_peer *p, int abrupt)
{
    bool talks = p->state == SHM_UP && !p->fault && !p->in.eof;
    if (!abrupt && talks && (p->out.tx || (!p->out.bye && !wf_shm_send_bye(p))))
        return WEFT_EAGAIN;
    if (!abrupt && p->state == SHM_CALLED && !p->out.bye)
        wf_shm_send_bye(p);
    wf_shm_peer_free(p);
    return WEFT_OK;
}

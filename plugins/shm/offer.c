/* Transfers from any memory, moved by whichever side is in MPI: the sender.
 *
 * The memory of a large message is offered: it has an id, which the receiver
 * shows when it asks for the bytes. No other memory of this process is ever
 * read because a peer asks for it.
 *
 * The sender claims the pieces of what was asked for from the front (claims.h)
 * and pushes them through the ring, as long as the receiver takes pieces out of
 * it. It gets at most SHM_OFFER_FIRST ahead before the receiver has been seen
 * doing that. When the ring does not move for SHM_OFFER_STALL_NS, or the
 * receiver has set `away`, the sender writes the pieces into the receiver's
 * memory. The core's helper thread begins pieces only if the receiver sleeps
 * and the machine has a CPU to spare.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "claims.h"
#include "ring.h"

#include <stdlib.h>

enum { PIECES_PER_CALL = 32 }; /* pieces that one progress call moves, about */

/* ---- offers ------------------------------------------------------------- */

static bool grow_offers(struct shm_offers *o)
{
    uint32_t cap = o->cap ? 2 * o->cap : 16;
    weft_mr **at = realloc(o->at, cap * sizeof *at);
    if (!at)
        return false;
    o->at = at;
    o->cap = cap;
    return true;
}

/* Finds a place for one more offer, preferably that of one that has ended. */
static bool find_free_place(struct shm_offers *o, uint32_t *place)
{
    for (uint32_t i = 0; i < 8 && i < o->n; i++) {
        *place = (o->serial + i) % o->n;
        if (!o->at[*place])
            return true;
    }
    if (o->n == o->cap && !grow_offers(o))
        return false;
    *place = o->n++;
    return true;
}

weft_mr *wf_shm_offer(weft_ep *ep, void *base, uint64_t len)
{
    struct shm_offers *o = &ep->offers;
    uint32_t place;
    weft_mr *m = calloc(1, sizeof *m);
    wf_shm_cma_admit_peers(ep);
    if (!m || !find_free_place(o, &place)) {
        free(m);
        return NULL;
    }
    *m = (weft_mr){.base = base,
                   .bytes = len,
                   .fd = -1,
                   .id = SHM_OFFERED |
                         (uint64_t)(++o->serial & 0x7fffffff) << 32 | place};
    WEFT_ASSERT(place < o->n);
    o->at[place] = m;
    return m;
}

void wf_shm_offer_end(weft_ep *ep, weft_mr *m)
{
    struct shm_offers *o = &ep->offers;
    struct shm_pushes *q = m->asked ? &m->asked->pushes : NULL;
    for (uint32_t i = 0; q && i < SHM_FETCHES; i++)
        if (q->at[i].mr == m)
            q->at[i].mr = NULL;
    WEFT_ASSERT((uint32_t)m->id < o->n && o->at[(uint32_t)m->id] == m);
    o->at[(uint32_t)m->id] = NULL;
    while (o->n > 0 && !o->at[o->n - 1])
        o->n--;
    free(m);
}

void wf_shm_offers_free(weft_ep *ep)
{
    for (uint32_t i = 0; i < ep->offers.n; i++)
        free(ep->offers.at[i]);
    free(ep->offers.at);
}

static weft_mr *find_offer(const weft_ep *ep, uint64_t id)
{
    const struct shm_offers *o = &ep->offers;
    weft_mr *m = (uint32_t)id < o->n ? o->at[(uint32_t)id] : NULL;
    return m && m->id == id ? m : NULL;
}

/* ---- requests ----------------------------------------------------------- */

static struct shm_push *first_push(weft_peer *p)
{
    return &p->pushes.at[p->pushes.first % SHM_FETCHES];
}

static _Atomic uint64_t *claims_of(weft_peer *p, const struct shm_push *h)
{
    return &p->in.share->claims[h->op % SHM_FETCHES];
}

static uint32_t count_unclaimed(weft_peer *p, const struct shm_push *h)
{
    return shm_unclaimed(
        atomic_load_explicit(claims_of(p, h), memory_order_relaxed), h->op,
        h->all);
}

/* Says whether this side has nothing left to do for a request. */
static bool is_push_done(weft_peer *p, const struct shm_push *h)
{
    return !h->mr || (h->at == h->end && count_unclaimed(p, h) == 0);
}

static void pop_push(weft_peer *p)
{
    WEFT_ASSERT(p->pushes.n > 0 && p->pushes.n <= SHM_FETCHES);
    struct shm_push *h = first_push(p);
    if (h->mr)
        h->mr->asked = NULL;
    h->mr = NULL;
    p->pushes.first++;
    p->pushes.n--;
}

/* Takes the request of an ASK slot. If it is not valid, the receiver has to
 * read the memory itself. */
void wf_shm_take_ask(weft_peer *p, const struct shm_slot *s, uint32_t op)
{
    struct shm_pushes *q = &p->pushes;
    struct shm_ask_body ask;
    memcpy(&ask, s->body, sizeof ask);
    weft_mr *m = find_offer(p->ep, ask.id);
    uint64_t at = m ? ask.from - (uintptr_t)m->base : 0;
    uint64_t chunk = p->geometry.chunk;
    while (q->n > 0 && is_push_done(p, first_push(p)))
        pop_push(p); /* the receiver has seen its end before this side */
    if (!m || m->asked || q->n == SHM_FETCHES || at > m->bytes ||
        ask.len > m->bytes - at || ask.len / chunk >= SHM_PIECES_MOST)
        return;
    if (q->n == 0) {
        q->ring_moves = false;
        q->run = 0;
        q->tail = p->out.bulk.tail;
        q->since = 0;
    }
    m->asked = p;
    q->at[(q->first + q->n++) % SHM_FETCHES] =
        (struct shm_push){.mr = m,
                          .from = m->base + at,
                          .len = ask.len,
                          .to = ask.to,
                          .op = op,
                          .all = (uint32_t)((ask.len + chunk - 1) / chunk)};
    wf_shm_mark_busy(p);
}

/* Drops all requests because the pair ends. */
void wf_shm_end_asks(weft_peer *p)
{
    while (p->pushes.n > 0)
        pop_push(p);
}

/* The number of bytes in the n pieces from the next one on. */
static uint64_t bytes_of_pieces(weft_peer *p, const struct shm_push *h,
                                uint32_t n)
{
    uint64_t at = (uint64_t)h->at * p->geometry.chunk;
    uint64_t all = (uint64_t)n * p->geometry.chunk;
    WEFT_ASSERT(at <= h->len && h->at <= h->end);
    return all < h->len - at ? all : h->len - at;
}

static bool claim_pieces(weft_peer *p, struct shm_push *h, uint32_t most)
{
    uint32_t n =
        shm_claim(claims_of(p, h), h->op, h->all, most, SHM_FRONT, &h->at);
    if (n > 0)
        h->end = h->at + n;
    return n > 0;
}

/* ---- pushing ------------------------------------------------------------ */

/* The chunks, up to `most`, that fit in `limit` bytes of the bulk ring now. */
static uint32_t count_free_chunks(weft_peer *p, uint32_t limit, uint32_t most)
{
    struct shm_out *out = &p->out;
    uint32_t chunk = p->geometry.chunk, n = 0;
    uint32_t slots = out->mask + 1 - shm_used(out);
    WEFT_ASSERT(shm_used(out) <= out->mask + 1 && limit <= out->bulk.size);
    uint32_t end = shm_place(out->bulk.at, chunk, out->bulk.size) + chunk;
    while (n < most && n < slots && end - out->bulk.tail <= limit) {
        end = shm_place(end, chunk, out->bulk.size) + chunk;
        n++;
    }
    return n;
}

/* The number of pieces, up to `most`, for which the ring has room now. */
static uint32_t count_free_pieces(weft_peer *p, uint32_t most)
{
    struct shm_pushes *q = &p->pushes;
    struct shm_bytes *b = &p->out.bulk;
    uint32_t start = 2 * p->geometry.chunk > SHM_OFFER_FIRST
                         ? 2 * p->geometry.chunk
                         : SHM_OFFER_FIRST;
    uint32_t limit = q->ring_moves || start > b->size ? b->size : start;
    uint32_t n = count_free_chunks(p, limit, most);
    if (n > 0)
        return n;
    if (!shm_slot_free(p) || !wf_shm_refresh_room(p))
        return 0;
    if (b->tail != q->tail) {
        q->tail = b->tail;
        q->ring_moves = true;
        q->since = 0;
    }
    return count_free_chunks(p, q->ring_moves ? b->size : limit, most);
}

/* Pushes some pieces through the ring. Returns their number. */
static uint32_t push_pieces(weft_peer *p, struct shm_push *h)
{
    uint32_t n = count_free_pieces(p, SHM_PIECES_PER_PUSH), now, before;
    if (n == 0 || (h->at == h->end && !claim_pieces(p, h, n)))
        return 0;
    before = h->at;
    for (; n > 0 && h->at < h->end; n -= now, h->at += now) {
        const unsigned char *from =
            h->from + (uint64_t)h->at * p->geometry.chunk;
        uint32_t some = h->end - h->at < n ? h->end - h->at : n;
        now = wf_shm_push_pieces(p, from, bytes_of_pieces(p, h, some), h->op,
                                 h->at);
        if (now == 0)
            break;
    }
    p->pushes.since = 0;
    p->pushes.run = 0;
    return h->at - before;
}

/* ---- writing ------------------------------------------------------------ */

/* Says in the segment that this side writes. While that is set the receiver
 * does not release its buffer. */
static void set_writing(weft_peer *p, bool on)
{
    atomic_store_explicit(&p->in.share->writing, on, memory_order_release);
    if (on)
        shm_fence(); /* pairs with the one in wf_shm_fetch_close */
}

static bool is_closed(weft_peer *p, const struct shm_push *h)
{
    return atomic_load_explicit(claims_of(p, h), memory_order_relaxed) ==
           SHM_CLAIMS_CLOSED;
}

static uint32_t record_written(weft_peer *p, struct shm_push *h, uint64_t n)
{
    uint32_t done = (uint32_t)(n / p->geometry.chunk);
    if (n == bytes_of_pieces(p, h, h->end - h->at))
        done = h->end - h->at;
    WEFT_ASSERT(done <= h->end - h->at);
    h->at += done;
    h->written += done;
    atomic_store_explicit(&p->in.share->dones[h->op % SHM_FETCHES],
                          shm_claims(h->op) | h->written, memory_order_release);
    return done;
}

/* Writes some pieces into the receiver's memory. Returns their number. */
static uint32_t write_block(weft_peer *p, struct shm_push *h)
{
    struct shm_pushes *q = &p->pushes;
    uint32_t most =
        shm_block_pieces(p->geometry.chunk, q->run, count_unclaimed(p, h));
    if (p->write_refused || (h->at == h->end && !claim_pieces(p, h, most)))
        return 0;
    uint64_t at = (uint64_t)h->at * p->geometry.chunk, n = 0;
    set_writing(p, true);
    if (!is_closed(p, h))
        n = wf_shm_cma_write(p, h->from + at, h->to + at,
                             bytes_of_pieces(p, h, h->end - h->at));
    uint32_t done = record_written(p, h, n);
    q->run += done;
    set_writing(p, false);
    if (h->at == h->end && count_unclaimed(p, h) == 0)
        shm_wake_peer(p); /* the transfer is complete */
    return done;
}

/* ---- progress ----------------------------------------------------------- */

/* Says whether only the receiver's helper thread is active, if anything is. */
static bool is_receiver_away(weft_peer *p)
{
    return atomic_load_explicit(&p->in.share->away, memory_order_relaxed) ||
           atomic_load_explicit(&p->out.page->mode, memory_order_relaxed) &
               SHM_HELPER_THREAD;
}

static bool is_receiver_asleep(weft_peer *p)
{
    return atomic_load_explicit(&p->out.page->mode, memory_order_relaxed) &
           SHM_ASLEEP;
}

/* Says whether the ring has not moved for SHM_OFFER_STALL_NS. */
static bool is_ring_stalled(weft_peer *p)
{
    struct shm_pushes *q = &p->pushes;
    uint64_t now = p->ep->host->now_ns(p->ep->core);
    if (!q->since)
        q->since = now;
    return now - q->since >= SHM_OFFER_STALL_NS;
}

/* Says whether a helper thread leaves the next pieces to the receiver. Pieces
 * that are claimed already must be moved by this side. */
static bool defers_to_peer(weft_peer *p, const struct shm_push *h)
{
    return h->at == h->end && shm_is_helper(p->ep) &&
           (!is_receiver_asleep(p) || shm_helper_must_not_copy(p->ep));
}

static uint32_t move_pieces(weft_peer *p, struct shm_push *h)
{
    if (defers_to_peer(p, h))
        return 0;
    bool away = !p->write_refused && is_receiver_away(p);
    uint32_t n = away ? 0 : push_pieces(p, h);
    return n == 0 && (away || is_ring_stalled(p)) ? write_block(p, h) : n;
}

/* Pushes or writes some of the pieces asked for. Returns the number of
 * events. */
int wf_shm_move_pushes(weft_peer *p)
{
    uint32_t n = 0;
    while (p->pushes.n > 0 && n < PIECES_PER_CALL && !p->fault) {
        uint32_t now = 1;
        if (is_push_done(p, first_push(p)))
            pop_push(p);
        else
            now = move_pieces(p, first_push(p));
        if (now == 0)
            break;
        n += now;
    }
    return (int)n;
}

/* Says whether a thread that is about to sleep could move pieces instead. */
bool wf_shm_offer_can_move(weft_peer *p)
{
    struct shm_push *h = first_push(p);
    if (p->pushes.n == 0)
        return false;
    if (h->mr && defers_to_peer(p, h))
        return false;
    return !h->mr || !p->write_refused || count_free_pieces(p, 1) > 0;
}

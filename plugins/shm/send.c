/* Sending: a container goes into the slot ring, its payload beside it.
 *
 *   payload               where
 *   0, or <= 40 short     in the slot
 *   <= cell / 4           the cell ring, one piece
 *   larger                the bulk ring, chunk by chunk: HEAD with the first
 *                         chunk, DATA for each further one
 *
 * One container per peer may be under way (out.tx); wf_shm_push continues it
 * from progress. The copy into the ring and the receiver's copy out of it
 * overlap, and the ring stays in the second-level cache.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

/* Reads how far the receiver is. Returns false if its counts are impossible. */
bool wf_shm_refresh_room(weft_peer *p)
{
    struct shm_out *out = &p->out;
    struct shm_line *l = out->line;
    WEFT_ASSERT(p->base && out->slots &&
                out->mask + 1 == out->end - out->slots);
    uint32_t slots = atomic_load_explicit(&l->slots, memory_order_acquire);
    uint32_t cells = atomic_load_explicit(&l->cells, memory_order_acquire);
    uint32_t bulk = atomic_load_explicit(&l->bulk, memory_order_acquire);
    uint32_t way = atomic_load_explicit(&l->way, memory_order_relaxed);
    out->way = way % SHM_WAYS;
    out->timed = way & SHM_TIMED;
    if (shm_accept_count(&out->tail, shm_head(out), slots) &&
        shm_accept_count(&out->cells.tail, out->cells.at, cells) &&
        shm_accept_count(&out->bulk.tail, out->bulk.at, bulk))
        return true;
    wf_shm_fault(p, WEFT_ELINK, "process %u returned room that it never had",
                 p->loc_id);
    return false;
}

/* Looks for a free slot in the counts; if there is none, announces the large
 * ring. Returns whether a slot is free. */
bool wf_shm_find_free_slot(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (!wf_shm_refresh_room(p))
        return false;
    if (shm_used(out) <= out->mask)
        return true;
    wf_shm_announce_large_ring(p);
    return false;
}

/* Says whether the large bulk ring is worth its pages. Where ranks share
 * processors, a sender that has filled the first ring waits for the receiver in
 * any case; the large one only gives more room. A wait that it would spare
 * takes about as long as getting a few of its pages. So it needs a container
 * that is longer, or many waits. */
static bool is_large_bulk_worth(const weft_peer *p, uint64_t len)
{
    const struct shm_out *out = &p->out;
    return !p->ep->oversubscribed || len > out->bulk.size ||
           out->waits >
               SHM_FULL_PER_PAGE * shm_bulk_bytes(&p->geometry) / SHM_PAGE;
}

/* Counts a full bulk ring, and grows it if it stays full: the receiver is not
 * there, so there is time for it. */
static bool grow_full_bulk(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (out->full_at != out->bulk.at) {
        out->waits++;
        out->full_polls = 0;
    }
    out->full_at = out->bulk.at;
    return ++out->full_polls > SHM_FULL_POLLS &&
           is_large_bulk_worth(p, out->tx->len) &&
           wf_shm_grow_bulk(p, SHM_GROW_FULL);
}

/* Gets pages of the bulk rings after n bytes of a transfer of `len`, which are
 * on their way meanwhile: those of the next chunk of the first ring, then, in
 * small steps, those of the large one, a part of the bytes that were sent. */
static SHM_COLD void prepare_bulk(weft_peer *p, uint64_t n, uint64_t len)
{
    const struct shm_out *out = &p->out;
    uint64_t step = (n / SHM_GROW_PART + SHM_PAGE - 1) & ~(SHM_PAGE - 1ull);
    if (out->bulk.at < out->bulk.size)
        wf_shm_reserve_bulk(p, p->geometry.chunk);
    else if (out->bulk.at / SHM_GROW_PART >= out->ahead + SHM_PAGE &&
             is_large_bulk_worth(p, len))
        wf_shm_grow_bulk(p, step);
}

static bool has_room(weft_peer *p, struct shm_bytes *b, uint32_t n)
{
    if (!shm_slot_free(p))
        return false;
    if (shm_bytes_fit(b, n) || (wf_shm_refresh_room(p) && shm_bytes_fit(b, n)))
        return true;
    return b == &p->out.bulk && !p->fault && grow_full_bulk(p) &&
           shm_bytes_fit(b, n);
}

/* Copies payload bytes [off, off + n) to memory. Returns false if the core's
 * segments ended early. */
static bool gather_payload(const weft_peer *p, weft_tx *tx, uint64_t off,
                           unsigned char *to, uint64_t n, enum shm_way way)
{
    if (tx->one.iov_base) {
        shm_copy_in(way, to, (const char *)tx->one.iov_base + off, n);
        return true;
    }
    if (tx->copy) {
        tx->copy(tx, off, to, n);
        return true;
    }
    while (n > 0) {
        struct iovec v[16];
        int got = tx->seg(tx, off, v, 16);
        uint64_t before = n;
        for (int i = 0; i < got && n > 0; i++) {
            uint64_t now = v[i].iov_len < n ? v[i].iov_len : n;
            shm_copy_in(way, to, v[i].iov_base, now);
            to += now;
            off += now;
            n -= now;
        }
        if (n == before)
            return false;
    }
    return true;
}

static bool is_small(const weft_peer *p, uint64_t len)
{
    return len <= shm_cell_max(&p->geometry);
}

/* The ring for the next step of the container under way, and its bytes in
 * *n. */
static struct shm_bytes *next_step(weft_peer *p, uint32_t *n)
{
    struct shm_out *out = &p->out;
    WEFT_ASSERT(out->tx && out->off <= out->tx->len);
    uint64_t left = out->tx->len - out->off;
    *n = (uint32_t)left;
    if (!out->begun && is_small(p, out->tx->len))
        return &out->cells;
    if (left > p->geometry.chunk)
        *n = p->geometry.chunk;
    return &out->bulk;
}

/* Says whether the peer sends, too: a slot has arrived that is not taken yet. A
 * slot that is being taken does not count. */
static bool is_peer_sending(const weft_peer *p)
{
    const struct shm_in *in = &p->in;
    const struct shm_slot *s = in->next;
    if (in->taking_slot && ++s == in->end)
        return false;
    /* relaxed: nothing of it is read */
    return atomic_load_explicit(&s->word, memory_order_relaxed) >> 61 ==
           in->wrap;
}

static uint32_t smaller_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The number of chunks of the rest to copy in one piece; there is room for one.
 * A receiver that waits wants the first one soon. A receiver that is sending,
 * too, does not poll, and one long copy takes less time than several: memcpy
 * ends with a wait until the other processor has given up all lines that were
 * written. */
static uint32_t chunks_to_copy(const weft_peer *p, uint64_t left)
{
    const struct shm_out *out = &p->out;
    const struct shm_bytes *b = &out->bulk;
    uint32_t chunk = p->geometry.chunk;
    if (left < 2 * chunk || out->timed || !is_peer_sending(p))
        return 1;
    uint32_t at = shm_place(b->at, chunk, b->size);
    uint32_t n =
        smaller_of(left < SHM_TOGETHER_MAX ? (uint32_t)left : SHM_TOGETHER_MAX,
                   b->size - (at & (b->size - 1)));
    n = smaller_of(n, b->tail + b->size - at) / chunk;
    WEFT_ASSERT(shm_used(out) <= out->mask + 1);
    n = smaller_of(n, out->mask + 1 - shm_used(out));
    return n ? n : 1;
}

/* Says whether the container under way could move now. */
bool wf_shm_can_push(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (!out->begun && shm_is_inline(out->tx->hdr, out->tx->len))
        return shm_slot_free(p);
    uint32_t n, ahead = out->ahead;
    struct shm_bytes *b = next_step(p, &n);
    out->full_polls = SHM_FULL_POLLS; /* else this side would sleep now */
    return has_room(p, b, n) || p->fault || out->ahead != ahead;
}

static void push_inline(weft_peer *p)
{
    weft_tx *tx = p->out.tx;
    struct shm_slot *s = shm_slot_next(&p->out);
    WEFT_ASSERT(!p->out.begun && tx->len <= SHM_INLINE);
    shm_put_head(s, tx->hdr);
    if (tx->len > 0 &&
        !gather_payload(p, tx, 0, s->body + 16, tx->len, SHM_BY_LOOP))
        memset(s->body + 16, 0, tx->len);
    p->out.off = tx->len;
    p->out.begun = true;
    shm_publish_slot(p, shm_first_bytes(tx->hdr), (uint32_t)tx->len, SHM_HEAD);
}

/* Publishes the slots of a payload of n bytes that lies in the bulk ring. */
static void publish_chunks(weft_peer *p, uint32_t n, uint32_t how)
{
    uint32_t chunk = p->geometry.chunk;
    for (uint32_t now; n > 0; n -= now) {
        now = n < chunk ? n : chunk;
        shm_publish_slot(p, how, now, SHM_DATA);
    }
}

static bool push_step(weft_peer *p)
{
    struct shm_out *out = &p->out;
    weft_tx *tx = out->tx;
    uint32_t n;
    struct shm_bytes *b = next_step(p, &n);
    if (!has_room(p, b, n))
        return false;
    bool first = !out->begun;
    WEFT_ASSERT(first == (out->off == 0) && n <= tx->len - out->off);
    if (!first)
        n *= n == p->geometry.chunk ? chunks_to_copy(p, tx->len - out->off) : 1;
    if (b == &out->bulk && !wf_shm_reserve_bulk(p, n))
        return false;
    if (b->at == 0 && b == &out->cells)
        wf_shm_populate_cells(out);
    struct shm_slot *s = shm_slot_next(out);
    enum shm_way way = b == &out->bulk ? out->way : SHM_BY_LOOP;
    uint64_t start = shm_clock_if(p, out->timed && !first);
    if (!gather_payload(p, tx, out->off, shm_bytes_take(b, n), n, way)) {
        wf_shm_fault(p, WEFT_ELINK, "payload of %llu bytes ended early",
                     (unsigned long long)tx->len);
        return false;
    }
    if (first)
        shm_put_head(s, tx->hdr);
    WEFT_ASSERT(n <= tx->len - out->off);
    out->off += n;
    out->begun = true;
    if (first)
        shm_publish_slot(p, shm_first_bytes(tx->hdr), (uint32_t)tx->len,
                         SHM_HEAD);
    else
        publish_chunks(p, n, shm_describe_copy(p, way, start));
    return true;
}

/* Pushes some of the n bytes that the peer has asked for, from piece `index`
 * on. There is room for one piece. Returns the number of pieces. */
uint32_t wf_shm_push_pieces(weft_peer *p, const unsigned char *from, uint64_t n,
                            uint32_t op, uint32_t index)
{
    struct shm_out *out = &p->out;
    uint32_t chunk = p->geometry.chunk, now, i = 0;
    uint32_t all = n < chunk ? (uint32_t)n : chunk * chunks_to_copy(p, n);
    WEFT_ASSERT(n > 0 && all <= n);
    if (!wf_shm_reserve_bulk(p, all))
        return 0;
    uint64_t start = shm_clock_if(p, out->timed);
    shm_copy_in(out->way, shm_bytes_take(&out->bulk, all), from, all);
    uint32_t how = shm_describe_copy(p, out->way, start);
    for (; all > 0; all -= now, i++) {
        uint32_t what[2] = {op, index + i};
        now = all < chunk ? all : chunk;
        memcpy(shm_slot_next(out)->body, what, sizeof what);
        shm_publish_slot(p, how, now, SHM_PIECE);
    }
    if (shm_unlikely(p->memory >= 0))
        prepare_bulk(p, (uint64_t)i * chunk, UINT64_MAX);
    return i;
}

/* Moves as much of the container under way as there is room for. Returns true
 * when all of it is in the ring. */
bool wf_shm_push(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (!out->begun && shm_is_inline(out->tx->hdr, out->tx->len)) {
        if (!shm_slot_free(p))
            return false;
        push_inline(p);
        return true;
    }
    WEFT_ASSERT(out->tx && out->off <= out->tx->len);
    while (out->off < out->tx->len)
        if (!push_step(p))
            return false;
    if (shm_unlikely(p->memory >= 0) && !is_small(p, out->tx->len))
        prepare_bulk(p, out->tx->len, out->tx->len);
    return true;
}

static int wait_for_ready(weft_peer *p)
{
    p->out.want = true;
    p->ep->stats.tx_again++;
    if (p->state == SHM_UP)
        wf_shm_mark_busy(p);
    else if (p->state == SHM_IDLE && !p->fault)
        wf_shm_dial(p);
    return WEFT_EAGAIN; /* tx_ready follows, or peer_down, which says why */
}

/* The answer to a send while the peer is not up, or after a fault. */
static int refuse_or_wait(weft_peer *p)
{
    return p->state == SHM_DOWN ? WEFT_ELINK : wait_for_ready(p);
}

static int copy_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len)
{
    struct shm_out *out = &p->out;
    struct shm_slot *s;
    if (shm_is_inline(hdr, len)) {
        if (!shm_slot_free(p))
            return wait_for_ready(p);
        s = shm_slot_next(out);
        if (len > 0)
            memcpy(s->body + 16, data, len);
    } else {
        if (!is_small(p, len))
            return WEFT_EINVAL;
        if (!has_room(p, &out->cells, (uint32_t)len))
            return wait_for_ready(p);
        s = shm_slot_next(out);
        if (shm_unlikely(out->cells.at == 0))
            wf_shm_populate_cells(out);
        memcpy(shm_bytes_take(&out->cells, (uint32_t)len), data, len);
    }
    shm_put_head(s, hdr);
    shm_publish_slot(p, shm_first_bytes(hdr), (uint32_t)len, SHM_HEAD);
    return WEFT_DONE;
}

int wf_shm_send_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    (void)flags; /* nothing is gained by holding it back */
    if (shm_unlikely(p->state != SHM_UP || p->fault || p->out.bye))
        return p->out.bye ? WEFT_ELINK : refuse_or_wait(p);
    if (shm_unlikely(p->out.tx != NULL))
        return wait_for_ready(p);
    return copy_short(p, hdr, data, len);
}

/* Makes the next wf_shm_send_words check everything. */
void wf_shm_leave_fast_path(weft_peer *p)
{
    p->out.fast_end = NULL;
}

/* Waits a short time for a free slot. A receiver that is at work soon makes
 * room, and to queue a message costs more than the wait. While a message is
 * queued the following ones do not wait. */
static void wait_for_room(weft_peer *p)
{
    enum { POLLS = 100 }; /* some microseconds */
    if (p->state != SHM_UP || p->fault || p->out.tx || p->out.want)
        return;
    for (int i = 0; i < POLLS && !shm_slot_free(p); i++)
        shm_relax();
}

/* The slow path of wf_shm_send_words, for all cases that `fast_end`
 * excludes. */
static SHM_COLD int send_words_slowly(const void *data, uint64_t h0,
                                      weft_peer *p, uint64_t h1, uint64_t h2)
{
    struct shm_out *out = &p->out;
    weft_hdr hdr = {{shm_le64(h0), shm_le64(h1), shm_le64(h2)}};
    wait_for_room(p);
    int rc = wf_shm_send_short(p, &hdr, data, (size_t)(h0 >> 32), 0);
    if (rc != WEFT_DONE)
        return p->ep->host->tx_words(p->ep->core, p->loc, h0, h1, h2, data);
    WEFT_ASSERT(!out->tx && shm_used(out) <= out->mask + 1);
    out->fast_end = shm_free_end(out);
    return WEFT_OK;
}

static SHM_COLD int ring_and_return(weft_peer *p, uint32_t mode)
{
    wf_shm_ring_bell(p, mode);
    return WEFT_OK;
}

static SHM_COLD int wrap_and_wake(weft_peer *p)
{
    wf_shm_wrap_out(p);
    shm_wake_peer(p);
    return WEFT_OK;
}

/* The fast path: the state of the peer is in `fast_end`, the header in
 * registers, and the payload in the slot. */
int wf_shm_send_words(const void *data, uint64_t h0, weft_peer *p, uint64_t h1,
                      uint64_t h2)
{
    struct shm_out *out = &p->out;
    uint32_t n = (uint32_t)(h0 >> 32);
    if (shm_unlikely(out->next >= out->fast_end || !shm_little()))
        return send_words_slowly(data, h0, p, h1, h2);
    struct shm_slot *s = shm_slot_next(out);
    if (shm_unlikely(!shm_copy_inline(s->body + 16, data, n)))
        return send_words_slowly(data, h0, p, h1, h2);
    s->env[0] = shm_le64(h1);
    s->env[1] = shm_le64(h2);
    shm_prefetch_for_write(s + SHM_AHEAD_OUT);
    shm_store_word(out, s, h0, SHM_HEAD);
    if (shm_unlikely(out->next == out->end))
        return wrap_and_wake(p);
    uint32_t mode = shm_peer_mode(p);
    if (shm_unlikely(mode & (SHM_ASLEEP | SHM_MANY)))
        return ring_and_return(p, mode);
    return WEFT_OK;
}

/* Sends a control message while a container is under way. No other kind of
 * container may overtake it. */
static int send_urgent(weft_peer *p, weft_tx *tx)
{
    struct shm_out *out = &p->out;
    if (!(tx->flags & WEFT_TX_URGENT) || !out->begun ||
        !shm_is_inline(tx->hdr, tx->len) || !shm_slot_free(p))
        return wait_for_ready(p);
    unsigned char data[SHM_INLINE];
    if (tx->len > 0 && !gather_payload(p, tx, 0, data, tx->len, SHM_BY_LOOP))
        return WEFT_EINVAL;
    return copy_short(p, tx->hdr, data, tx->len);
}

int wf_shm_send(weft_peer *p, weft_tx *tx)
{
    struct shm_out *out = &p->out;
    if (p->state != SHM_UP || p->fault || out->bye)
        return out->bye ? WEFT_ELINK : refuse_or_wait(p);
    if (tx->len > SHM_LEN_MAX)
        return WEFT_EINVAL;
    if (out->tx)
        return send_urgent(p, tx);
    WEFT_ASSERT(!out->tx && p->base);
    out->tx = tx;
    out->off = 0;
    out->begun = false;
    wf_shm_leave_fast_path(p);
    if (wf_shm_push(p)) {
        out->tx = NULL;
        return WEFT_DONE;
    }
    wf_shm_mark_busy(p);
    return WEFT_OK;
}

/* Sends the last slot of this direction. Returns false if it has no room
 * yet. */
bool wf_shm_send_bye(weft_peer *p)
{
    shm_close_out(p);
    if (!shm_slot_free(p))
        return false;
    WEFT_ASSERT(!p->out.bye && !p->out.tx);
    p->out.bye = true;
    wf_shm_leave_fast_path(p);
    shm_publish_unwoken(p, 0, 0, SHM_BYE);
    if (p->out.page) /* else the dialler has not answered: it polls later */
        shm_wake_peer(p);
    return true;
}

/* Says whether there is enough room to tell the core: a quarter of the ring,
 * and a whole small payload. So tx_ready is not called for every slot. */
bool wf_shm_has_room(weft_peer *p)
{
    struct shm_out *out = &p->out;
    uint32_t most = out->mask - out->mask / 4;
    if (shm_used(out) > most &&
        (!wf_shm_refresh_room(p) || shm_used(out) > most))
        return false;
    return has_room(p, &out->cells, shm_cell_max(&p->geometry));
}

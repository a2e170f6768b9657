/* Receiving: slots become containers, and chunks go where the core says.
 *
 * Every word of shared memory is read once and checked before use. A peer that
 * writes nonsense takes its own link down and nothing else.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

/* Copies n bytes at offset `off` of a container to where its sink says. Bytes
 * beyond sink->len are dropped. Returns false if the sink ended early. */
static bool scatter_payload(const weft_peer *p, weft_sink *sink, uint64_t off,
                            const unsigned char *from, uint64_t n)
{
    if (off >= sink->len)
        return true;
    if (n > sink->len - off)
        n = sink->len - off;
    if (sink->one.iov_base && sink->one.iov_len >= sink->len) {
        wf_shm_copy_plain((char *)sink->one.iov_base + off, from, n);
        return true;
    }
    if (sink->fill) {
        sink->fill(sink, off, from, n);
        return true;
    }
    while (n > 0) {
        struct iovec v[16];
        int got = sink->seg(sink, off, v, 16);
        uint64_t before = n;
        for (int i = 0; i < got && n > 0; i++) {
            uint64_t now = v[i].iov_len < n ? v[i].iov_len : n;
            wf_shm_copy_plain(v[i].iov_base, from, now);
            from += now;
            off += now;
            n -= now;
        }
        if (n == before)
            return false;
    }
    return true;
}

/* Returns room to the sender, in quarters of a ring (bulk: in chunks), so that
 * the line with the counts seldom moves. */
static void return_room(weft_peer *p)
{
    struct shm_in *in = &p->in;
    bool given = false;
    if (in->bulk.at - in->bulk.tail >= p->geometry.chunk) {
        in->bulk.tail = in->bulk.at;
        atomic_store_explicit(&in->line->bulk, in->bulk.at,
                              memory_order_release);
        given = true;
    }
    if (in->cells.at - in->cells.tail >= in->cells.size / 4) {
        in->cells.tail = in->cells.at;
        atomic_store_explicit(&in->line->cells, in->cells.at,
                              memory_order_release);
        given = true;
    }
    if (in->head - in->returned > in->mask / 4) {
        in->returned = in->head;
        atomic_store_explicit(&in->line->slots, in->head, memory_order_release);
        given = true;
    }
    if (!given)
        return;
    if (p->out.fence)
        shm_fence();
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&in->line->waiting_for_space,
                             memory_order_relaxed))
        shm_wake_peer(p);
}

int wf_shm_report_broken_ring(weft_peer *p, const char *what)
{
    wf_shm_fault(p, WEFT_ELINK, "process %u wrote a broken ring: %s", p->loc_id,
                 what);
    return WEFT_EPROTO;
}

/* Gives the sink back to the core, with all its bytes or with an error. */
static void finish_sink(weft_peer *p, int status)
{
    weft_sink *sink = p->in.sink;
    p->in.sink = NULL;
    if (sink)
        p->ep->host->rx_done(p->ep->core, sink, status);
}

/* Rebuilds the header and finds the first chunk of the payload. */
static const unsigned char *unpack_head(weft_peer *p, struct shm_slot *s,
                                        uint64_t word, weft_hdr *hdr,
                                        uint32_t *have)
{
    uint32_t first = shm_word_first(word), len = shm_word_len(word);
    unsigned char *h = (unsigned char *)hdr;
    memcpy(h, &first, 4);
    for (int i = 0; i < 4; i++)
        h[4 + i] = (unsigned char)(len >> (8 * i));
    memcpy(h + 8, s->body, 16);
    if (weft_hdr_len(hdr) != WEFT_HDR_MIN)
        memcpy(h + 24, s->body + 16, 40);
    *have = len;
    if (shm_is_inline(hdr, len))
        return s->body + 16;
    if (len <= shm_cell_max(&p->geometry))
        return shm_bytes_take(&p->in.cells, len);
    if (len > p->geometry.chunk)
        *have = p->geometry.chunk;
    return wf_shm_take_bulk(p, *have);
}

/* Notes the sink for a container of which the core has taken `shown` bytes; the
 * rest follows. */
static void accept_sink(weft_peer *p, weft_sink *sink, uint32_t shown,
                        uint32_t len)
{
    struct shm_in *in = &p->in;
    if (in->off < in->len) { /* another one is under way: this is complete */
        if (sink)
            p->ep->host->rx_done(p->ep->core, sink, WEFT_OK);
        return;
    }
    WEFT_ASSERT(!in->sink && shown <= len);
    in->sink = sink;
    in->off = shown;
    in->len = len;
    if (sink && (shown == len || shown >= sink->len))
        finish_sink(p, WEFT_OK);
}

static SHM_COLD void record_ring_time(weft_peer *p)
{
    uint64_t now = p->ep->host->now_ns(p->ep->core);
    wf_shm_record_ring_race(p, p->in.len, now - p->in.since);
}

/* Delivers the next n bytes of the container under way. copy_info: the way and
 * the time of the sender's copy (way.c). */
static void deliver_bytes(weft_peer *p, const unsigned char *data, uint32_t n,
                          uint32_t copy_info)
{
    struct shm_in *in = &p->in;
    uint64_t start = shm_clock_if(p, shm_is_copy_timed(copy_info));
    if (in->sink && !scatter_payload(p, in->sink, in->off, data, n))
        finish_sink(p, WEFT_EINVAL);
    if (start)
        wf_shm_way_add_time(in, copy_info, n, shm_clock_if(p, true) - start);
    WEFT_ASSERT(n <= in->len - in->off);
    in->off += n;
    if (shm_unlikely(in->since && in->off == in->len))
        record_ring_time(p);
    if (in->sink && (in->off == in->len || in->off >= in->sink->len))
        finish_sink(p, WEFT_OK);
}

/* Handles an answer of the core other than that it took the whole message. */
static int handle_answer(weft_peer *p, int rc, weft_sink *sink, uint32_t shown,
                         uint32_t len)
{
    if (rc == WEFT_EAGAIN) {
        p->in.paused = true;
        return WEFT_EAGAIN;
    }
    if (rc == WEFT_DONE && shown == len)
        return 0;
    if (rc < 0) {
        wf_shm_fault(p, WEFT_ELINK,
                     "a message from process %u was refused (%d)", p->loc_id,
                     rc);
        return WEFT_EPROTO;
    }
    accept_sink(p, rc == WEFT_OK ? sink : NULL, shown, len);
    return 0;
}

/* Takes a message with short header and payload in the slot, as most are. */
static inline int take_short(weft_peer *p, struct shm_slot *s, uint64_t word)
{
    weft_ep *ep = p->ep;
    uint32_t len = shm_word_len(word);
    int rc = ep->rx_words(ep->core, p->loc, word & SHM_WORD_HEADER, s->env[0],
                          s->env[1], s->body + 16);
    if (shm_unlikely(rc != WEFT_DONE))
        return handle_answer(p, rc, NULL, len, len);
    return 0;
}

/* Takes the head of a container. The core is shown a payload of one chunk. Of a
 * longer one it is shown the header only, and the first chunk is delivered like
 * the others: by wf_shm_copy_plain. */
static int take_head(weft_peer *p, struct shm_slot *s, uint64_t word)
{
    struct shm_in *in = &p->in;
    alignas(64) weft_hdr hdr;
    uint32_t cells = in->cells.at, bulk = in->bulk.at;
    uint32_t have, len = shm_word_len(word);
    const unsigned char *data = unpack_head(p, s, word, &hdr, &have);
    uint32_t shown = have == len ? len : 0;
    if (shm_unlikely(in->off < in->len && have != len))
        return wf_shm_report_broken_ring(p, "a large message inside another");
    weft_sink *sink = NULL;
    int rc = p->ep->host->rx(p->ep->core, p->loc, &hdr, shown ? data : NULL,
                             shown, &sink);
    rc = handle_answer(p, rc, sink, shown, len);
    if (rc == WEFT_EAGAIN) {
        in->cells.at = cells;
        in->bulk.at = bulk;
    }
    if (rc == 0 && shown < have) {
        wf_shm_way_count_message(in, len);
        in->since = shm_clock_if(p, wf_shm_is_ring_race(p, len));
        deliver_bytes(p, data, have, SHM_BY_MEMCPY);
    }
    return rc;
}

static int take_data(weft_peer *p, uint64_t word)
{
    struct shm_in *in = &p->in;
    uint32_t n = shm_word_len(word);
    if (n == 0 || n > p->geometry.chunk || n > in->len - in->off)
        return wf_shm_report_broken_ring(p,
                                         "a chunk that belongs to no message");
    deliver_bytes(p, wf_shm_take_bulk(p, n), n, shm_word_first(word));
    return 0;
}

static int take_kind(weft_peer *p, struct shm_slot *s, uint64_t word)
{
    switch (shm_word_kind(word)) {
    case SHM_HEAD:
        return take_head(p, s, word);
    case SHM_DATA:
        return take_data(p, word);
    case SHM_BYE:
        p->in.bye = true;
        return 0;
    case SHM_HELP:
        wf_shm_take_help(p, s, shm_word_first(word));
        return 0;
    case SHM_ASK:
        wf_shm_take_ask(p, s, shm_word_first(word));
        return 0;
    case SHM_PIECE:
        return wf_shm_take_piece(p, s, word);
    default:
        return wf_shm_report_broken_ring(p, "a slot of unknown kind");
    }
}

static int take_slot(weft_peer *p, struct shm_slot *s, uint64_t word)
{
    WEFT_ASSERT(!p->in.taking_slot);
    p->in.taking_slot = true;
    int rc = take_kind(p, s, word);
    p->in.taking_slot = false;
    return rc;
}

static inline void advance_slot(weft_peer *p)
{
    struct shm_in *in = &p->in;
    WEFT_ASSERT(in->next >= in->slots && in->next < in->end);
    in->head++;
    if (shm_unlikely(++in->next == in->end))
        wf_shm_wrap_in(p);
}

/* Says whether the peer sends one short message after the other, without
 * waiting for any. Then its lines must not be fetched before it has written
 * them. */
static inline bool is_stream(const struct shm_in *in)
{
    return in->short_run >= SHM_ROW;
}

static inline void end_row_if_sent(weft_peer *p)
{
    struct shm_in *in = &p->in;
    const struct shm_slot *next = shm_read_next(&p->out);
    if (in->silent_at == next)
        return;
    in->silent_at = next;
    in->short_run = 0;
}

/* Writes to a slot that has been taken, so that this processor owns its line.
 * The slot is the receiver's to write until it is returned. The sender
 * prefetches the line for writing (shm_prefetch_for_write), which gets it in
 * advance only from a processor that owns it. A line that both have read it
 * gets only when its store is due, and all its other stores wait behind that
 * one. bench/notebook/shared-memory.md */
static inline void own_slot_line(struct shm_slot *s)
{
    *(volatile unsigned char *)&s->body[sizeof s->body - 1] = 0;
}

/* Lets the sender get ahead. Otherwise each of its lines is requested while it
 * writes it. */
static void pause_polling(void)
{
    for (int i = 0; i < SHM_ROW_PAUSES; i++)
        shm_relax();
}

/* Takes the slot that has arrived, and others behind it. Returns their
 * number. */
int wf_shm_receive_slots(weft_peer *p, int budget)
{
    struct shm_in *in = &p->in;
    int n = 0;
    end_row_if_sent(p);
    while (n < budget) {
        struct shm_slot *s = in->next;
        if (budget > 1 && !is_stream(in)) /* others are expected, too */
            __builtin_prefetch(s + SHM_AHEAD);
        uint64_t word = atomic_load_explicit(&s->word, memory_order_acquire);
        if ((word >> 61) != in->wrap) {
            if (is_stream(in))
                pause_polling();
            break;
        }
        if (shm_unlikely(in->paused || p->fault))
            break;
        bool is_short = shm_word_is_short(word) && p->ep->rx_words;
        if (shm_unlikely((is_short ? take_short(p, s, word)
                                   : take_slot(p, s, word)) != 0))
            break;
        if (is_short && is_stream(in))
            own_slot_line(s);
        in->short_run = is_short ? in->short_run + 1 : 0;
        advance_slot(p);
        n++;
        if (shm_unlikely(!is_short || in->head - in->returned > in->mask / 4))
            return_room(p);
    }
    return n;
}

/* Says whether a slot that has arrived holds the wanted message. differs: the
 * bits in which its word differs from that of a wanted one. */
static inline bool is_wanted(const struct shm_slot *s, uint64_t differs,
                             const weft_want *w)
{
    return ((differs & ~SHM_WORD_LEN) | (s->env[0] ^ w->h1) |
            ((s->env[1] ^ w->h2) & w->mask)) == 0;
}

static inline int take_wanted(weft_peer *p, const struct shm_slot *s,
                              uint32_t len, weft_want *w)
{
    struct shm_in *in = &p->in;
    if (shm_unlikely(len > w->room ||
                     !shm_copy_inline(w->buf, s->body + 16, len)))
        return WEFT_EAGAIN;
    w->h2 = s->env[1];
    w->room = len;
    advance_slot(p);
    if (shm_unlikely(in->head - in->returned > in->mask / 4))
        return_room(p);
    return WEFT_DONE;
}

static inline uint64_t load_slot_word(const weft_peer *p)
{
    /* acquire: pairs with the release in shm_store_word */
    return atomic_load_explicit(&p->in.next->word, memory_order_acquire);
}

static inline bool is_new_slot(uint64_t word, const weft_peer *p)
{
    return word >> 61 == p->in.wrap;
}

/* Polls for the first time after this side has sent. It pauses before that,
 * because polling too early takes the slot's line from the sender, which has
 * prefetched it (shm_prefetch_for_write). A poll that finds nothing makes the
 * next pause longer; SHM_ANSWERS_PROMPT in a row that find the answer make it
 * shorter, to test whether that is enough. bench/notebook/shared-memory.md */
static inline uint64_t poll_for_answer(weft_peer *p)
{
    struct shm_in *in = &p->in;
    uint64_t word;
    in->asked_at = shm_read_next(&p->out);
    for (unsigned i = in->pre_poll_pauses; i > 0; i--)
        shm_relax();
    word = load_slot_word(p);
    if (!is_new_slot(word, p)) {
        in->prompt_answers = 0;
        in->pre_poll_pauses += in->pre_poll_pauses < SHM_ANSWER_PAUSES;
    } else if (++in->prompt_answers == SHM_ANSWERS_PROMPT) {
        in->prompt_answers = 0;
        in->pre_poll_pauses -= in->pre_poll_pauses > 0;
    }
    return word;
}

/* Polls for one message of this peer: its slot and nothing else. Between two
 * polls the line is left to the sender, which has to write it:
 * bench/notebook/shared-memory.md. */
int wf_shm_recv_words(weft_peer *p, weft_want *w)
{
    const weft_ep *ep = p->ep;
    const struct shm_slot *s = p->in.next;
    uint64_t key = shm_word(w->h0, 0, SHM_HEAD, p->in.wrap), word;
    if (shm_unlikely(p->state != SHM_UP || p->fault || p->in.paused ||
                     ep->armed || ep->busy_n > 0 || !shm_little()))
        return WEFT_EAGAIN;
    word = p->in.asked_at != shm_read_next(&p->out) ? poll_for_answer(p)
                                                    : load_slot_word(p);
    for (int i = 1; !is_new_slot(word, p) && i < SHM_RECEIVE_LOOKS; i++) {
        shm_relax();
        word = load_slot_word(p);
    }
    if (!is_new_slot(word, p))
        return WEFT_OK;
    if (shm_unlikely(!is_wanted(s, word ^ key, w)))
        return WEFT_EAGAIN;
    return take_wanted(p, s, shm_word_len(word), w);
}

/* Goes on with a peer whose messages the core takes again. */
void wf_shm_rx_resume(weft_peer *p)
{
    WEFT_ASSERT(p->ep->table[p->loc_id] == p);
    p->in.paused = false;
    p->ep->sweep = true;
}

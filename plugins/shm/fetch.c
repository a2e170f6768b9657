/* Transfers from any memory, moved by whichever side is in MPI: the receiver.
 *
 * Through the ring both sides copy, two to three times as fast as the kernel
 * copies from one process to another. But the program on one side may compute
 * meanwhile, and then the other side moves the whole transfer alone (cma.c):
 *
 *   sender            receiver          who moves, and how
 *   in MPI            in MPI            both, piece by piece through the ring
 *   computes          in MPI            the receiver reads
 *   in MPI            computes          the sender writes
 *   computes          computes          the receiver's helper thread reads, if
 *                                       there is a CPU to spare
 *
 *   receiver                                sender
 *   get: claims = op                        offered the memory (NOTIFY)
 *        ASK op, address, length, into  --> pushes or writes pieces from the
 *   reads pieces from the back when     <-- front: PIECE op, index (offer.c),
 *   the sender has done nothing for         or dones = op, written
 *   SHM_FETCH_STALL_NS
 *   complete: read + landed + written = all
 *
 * Neither side knows whether the other one is in MPI. It infers that from the
 * claims: they advance, or they do not. A wrong guess is harmless, since every
 * piece is claimed once (claims.h), and it ends with the piece under way.
 *
 * The core's helper thread (host->helping), which runs while the program
 * computes, sets `away`: the sender then writes instead of pushing into a ring
 * that only the helper thread would empty. It sleeps as soon as the sender is
 * at work. A sender whose helper thread sleeps is not woken
 * (SHM_HELPER_THREAD). Where both programs compute, the receiver's helper
 * thread does the work, unless the programs have all CPUs: then it would take
 * from one program what it spares the other, three times as slowly as both
 * sides do once they are in MPI.
 *
 * Up to SHM_FETCHES transfers are asked for at a time, so that the sender can
 * go from one to the next.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "claims.h"
#include "ring.h"

enum { CLOSE_WAIT_NS = 10000000 }; /* for a write that is still under way */

static struct shm_fetch *fetch_of(weft_peer *p, uint32_t op)
{
    return &p->fetches.at[op % SHM_FETCHES];
}

static _Atomic uint64_t *claims_of(weft_peer *p, uint32_t op)
{
    return &p->out.share->claims[op % SHM_FETCHES];
}

static uint64_t load_claims(weft_peer *p, uint32_t op)
{
    return atomic_load_explicit(claims_of(p, op), memory_order_relaxed);
}

static bool has_fetches(const struct shm_fetches *fs)
{
    return fs->first != fs->next;
}

bool wf_shm_has_fetches(const weft_peer *p)
{
    return has_fetches(&p->fetches) || p->fetches.head;
}

/* ---- asking ------------------------------------------------------------- */

/* Publishes an ASK slot. A helper thread of the sender that sleeps is not
 * woken, because it could not help. */
static void publish_ask(weft_peer *p, uint32_t op)
{
    shm_publish_unwoken(p, op, 0, SHM_ASK);
    uint32_t mode = shm_peer_mode(p);
    if (mode & SHM_HELPER_THREAD)
        mode &= ~SHM_ASLEEP;
    if (mode & (SHM_ASLEEP | SHM_MANY))
        wf_shm_ring_bell(p, mode);
}

static void send_ask(weft_peer *p, weft_get *rma)
{
    struct shm_fetches *fs = &p->fetches;
    uint32_t op = fs->next++, chunk = p->geometry.chunk;
    struct shm_ask_body ask = {rma->raddr, rma->one.iov_len, rma->rkey->id,
                           (uintptr_t)rma->one.iov_base};
    WEFT_ASSERT(!fetch_of(p, op)->rma);
    *fetch_of(p, op) = (struct shm_fetch){
        .rma = rma, .all = (uint32_t)((rma->one.iov_len + chunk - 1) / chunk)};
    atomic_store_explicit(claims_of(p, op), shm_claims(op),
                          memory_order_relaxed);
    memcpy(shm_slot_next(&p->out)->body, &ask, sizeof ask);
    publish_ask(p, op);
}

/* Tells the sender whether the program here computes. */
static void set_away(weft_peer *p, bool away)
{
    struct shm_fetches *fs = &p->fetches;
    if (fs->away == away)
        return;
    fs->away = away;
    /* relaxed: a hint */
    atomic_store_explicit(&p->out.share->away, away, memory_order_relaxed);
}

static weft_get **next_field_of(weft_get *rma)
{
    return (weft_get **)(void *)&rma->priv[0];
}

static int ask_some(weft_peer *p)
{
    struct shm_fetches *fs = &p->fetches;
    int n = 0;
    while (fs->head && fs->next - fs->first < SHM_FETCHES && !p->fault &&
           shm_slot_free(p)) {
        weft_get *rma = fs->head;
        fs->head = *next_field_of(rma);
        if (!has_fetches(fs))
            fs->seen_at = 0;
        send_ask(p, rma);
        n++;
    }
    return n;
}

/* Queues a get from an offer. The caller has checked its range. */
int wf_shm_fetch(weft_peer *p, weft_get *rma)
{
    struct shm_fetches *fs = &p->fetches;
    if (rma->one.iov_len / p->geometry.chunk >= SHM_PIECES_MOST)
        return WEFT_ENOTSUP;
    if (fs->head)
        *next_field_of(fs->last) = rma;
    else
        fs->head = rma;
    fs->last = rma;
    set_away(p, shm_is_helper(p->ep));
    ask_some(p);
    wf_shm_mark_busy(p);
    return WEFT_OK;
}

/* ---- pieces from the ring ----------------------------------------------- */

static void begin_ring_timing(weft_peer *p, struct shm_fetch *f)
{
    wf_shm_way_count_message(&p->in, f->rma->one.iov_len);
    f->since = shm_clock_if(p, wf_shm_is_ring_race(p, f->rma->one.iov_len));
}

static void copy_out(weft_peer *p, unsigned char *to, const unsigned char *from,
                     uint32_t n, uint32_t copy_info)
{
    uint64_t start = shm_clock_if(p, shm_is_copy_timed(copy_info));
    wf_shm_copy_plain(to, from, n);
    if (start)
        wf_shm_way_add_time(&p->in, copy_info, n,
                            shm_clock_if(p, true) - start);
}

int wf_shm_take_piece(weft_peer *p, const struct shm_slot *s, uint64_t word)
{
    struct shm_fetches *fs = &p->fetches;
    uint32_t what[2], chunk = p->geometry.chunk, n = shm_word_len(word);
    memcpy(what, s->body, sizeof what);
    if (n == 0 || n > chunk)
        return wf_shm_report_broken_ring(p, "a piece of a wrong size");
    const unsigned char *from = wf_shm_take_bulk(p, n);
    struct shm_fetch *f = fetch_of(p, what[0]);
    if (what[0] - fs->first >= fs->next - fs->first || !f->rma)
        return 0; /* the transfer has ended */
    uint64_t at = (uint64_t)what[1] * chunk;
    if (what[1] >= f->all || f->landed >= f->all ||
        n > f->rma->one.iov_len - at)
        return wf_shm_report_broken_ring(p, "a piece beyond the end");
    if (f->landed++ == 0)
        begin_ring_timing(p, f);
    fs->landed++;
    copy_out(p, (unsigned char *)f->rma->one.iov_base + at, from, n,
             shm_word_first(word));
    return 0;
}

/* ---- the end ------------------------------------------------------------ */

static bool is_complete(weft_peer *p, uint32_t op)
{
    const struct shm_fetch *f = fetch_of(p, op);
    /* acquire: pairs with the release in offer.c */
    uint64_t word = atomic_load_explicit(&p->out.share->dones[op % SHM_FETCHES],
                                         memory_order_acquire);
    uint32_t written =
        word >> 48 == (op & 0xffff) ? (uint32_t)word & SHM_PIECES_MOST : 0;
    return f->mine + f->landed + written >= f->all;
}

static void finish_fetch(weft_peer *p, struct shm_fetch *f)
{
    struct shm_fetches *fs = &p->fetches;
    weft_ep *ep = p->ep;
    weft_get *rma = f->rma;
    if (f->since && f->landed == f->all) {
        uint64_t now = ep->host->now_ns(ep->core);
        wf_shm_record_ring_race(p, rma->one.iov_len, now - f->since);
    }
    WEFT_ASSERT(rma);
    f->rma = NULL;
    while (has_fetches(fs) && !fetch_of(p, fs->first)->rma)
        fs->first++;
    ep->host->get_done(ep->core, rma, f->status);
}

static int finish_some(weft_peer *p)
{
    struct shm_fetches *fs = &p->fetches;
    int n = 0;
    for (uint32_t op = fs->first; op != fs->next; op++)
        if (fetch_of(p, op)->rma && is_complete(p, op)) {
            finish_fetch(p, fetch_of(p, op));
            n++;
        }
    return n;
}

/* ---- reading ------------------------------------------------------------ */

/* Finds the first transfer that has unclaimed pieces. */
static bool find_unclaimed(weft_peer *p, uint32_t *op)
{
    struct shm_fetches *fs = &p->fetches;
    for (*op = fs->first; *op != fs->next; ++*op)
        if (fetch_of(p, *op)->rma &&
            shm_unclaimed(load_claims(p, *op), *op, fetch_of(p, *op)->all) > 0)
            return true;
    return false;
}

/* Says whether the sender's program sleeps in MPI. A helper thread leaves the
 * work to it, because copying here would disturb the program. */
static bool is_sender_asleep(weft_peer *p)
{
    uint32_t mode =
        atomic_load_explicit(&p->out.page->mode, memory_order_relaxed);
    return (mode & (SHM_ASLEEP | SHM_HELPER_THREAD)) == SHM_ASLEEP;
}

static uint64_t stall_timeout_ns(weft_peer *p)
{
    if (!shm_is_helper(p->ep))
        return SHM_FETCH_STALL_NS;
    return is_sender_asleep(p) ? SHM_WAKE_STALL_NS : SHM_HELPER_STALL_NS;
}

/* Says whether the sender has claimed nothing of this transfer for a while. */
static bool is_sender_stalled(weft_peer *p, uint32_t op)
{
    struct shm_fetches *fs = &p->fetches;
    uint32_t front = shm_claimed(load_claims(p, op), SHM_FRONT);
    uint64_t seen = (uint64_t)op << 32 | front;
    uint64_t now = p->ep->host->now_ns(p->ep->core);
    if ((seen != fs->seen && (front || !fs->reading)) || !fs->seen_at)
        fs->seen_at = now;
    fs->seen = seen;
    return now - fs->seen_at >= stall_timeout_ns(p);
}

/* Ends a transfer that cannot be read: the pieces that the sender has not
 * claimed will not come. */
static void give_up_rest(weft_peer *p, uint32_t op)
{
    struct shm_fetch *f = fetch_of(p, op);
    uint32_t first;
    f->status = WEFT_EPEER;
    f->mine +=
        shm_claim(claims_of(p, op), op, f->all, f->all, SHM_BACK, &first);
}

static void read_block(weft_peer *p, uint32_t op)
{
    struct shm_fetch *f = fetch_of(p, op);
    const weft_get *rma = f->rma;
    struct shm_fetches *fs = &p->fetches;
    uint32_t first, left = shm_unclaimed(load_claims(p, op), op, f->all);
    uint32_t n = shm_block_pieces(p->geometry.chunk, fs->run, left);
    n = shm_claim(claims_of(p, op), op, f->all, n, SHM_BACK, &first);
    if (n == 0)
        return;
    uint64_t at = (uint64_t)first * p->geometry.chunk;
    uint64_t bytes = (uint64_t)n * p->geometry.chunk;
    WEFT_ASSERT(at < rma->one.iov_len);
    if (bytes > rma->one.iov_len - at)
        bytes = rma->one.iov_len - at;
    f->mine += n;
    fs->run += n;
    if (!wf_shm_cma_read(p, (char *)rma->one.iov_base + at, rma->raddr + at,
                         bytes))
        give_up_rest(p, op);
}

static bool is_sender_working(weft_peer *p, uint32_t op);

/* Says whether it cannot be told yet if the sender will work on the transfer.
 * Until then the helper thread must not sleep. */
static bool is_undecided(weft_peer *p, uint32_t op)
{
    return shm_is_helper(p->ep) && !shm_helper_must_not_copy(p->ep) &&
           !is_sender_asleep(p) &&
           shm_claimed(load_claims(p, op), SHM_FRONT) == 0 &&
           is_sender_working(p, op);
}

static int read_some(weft_peer *p)
{
    struct shm_fetches *fs = &p->fetches;
    uint32_t op;
    if (fs->landed != fs->before) {
        fs->before = fs->landed;
        fs->idle = 0;
        fs->reading = false;
        fs->run = 0;
        return 0;
    }
    if (shm_helper_must_not_copy(p->ep))
        return fs->reading = false;
    if (!fs->reading && ++fs->idle % SHM_POLLS_BEFORE_CLAIMS != 0 &&
        !shm_is_helper(p->ep))
        return 0;
    fs->reading = find_unclaimed(p, &op) && is_sender_stalled(p, op);
    if (fs->reading)
        read_block(p, op);
    else
        fs->run = 0;
    return fs->reading || (find_unclaimed(p, &op) && is_undecided(p, op));
}

/* ---- progress ----------------------------------------------------------- */

int wf_shm_move_fetches(weft_peer *p)
{
    set_away(p, shm_is_helper(p->ep));
    int n = finish_some(p) + ask_some(p);
    return n || !has_fetches(&p->fetches) || p->fault ? n : read_some(p);
}

/* Says whether the sender works on the transfer, or may be about to. */
static bool is_sender_working(weft_peer *p, uint32_t op)
{
    return atomic_load_explicit(&p->out.share->writing, memory_order_relaxed) ||
           !is_sender_stalled(p, op);
}

/* Says whether this side could move something now. A program that waits moves
 * what the sender leaves. A helper thread leaves all of it to a sender that is
 * at work, and, if it must not copy, to the first program that enters MPI. */
bool wf_shm_fetch_can_move(weft_peer *p)
{
    struct shm_fetches *fs = &p->fetches;
    uint32_t op;
    for (op = fs->first; op != fs->next; op++)
        if (fetch_of(p, op)->rma && is_complete(p, op))
            return true;
    if (fs->head && fs->next - fs->first < SHM_FETCHES)
        return shm_slot_free(p);
    return !shm_helper_must_not_copy(p->ep) && find_unclaimed(p, &op) &&
           (!shm_is_helper(p->ep) || is_undecided(p, op) ||
            !is_sender_working(p, op));
}

/* Closes the claims of all transfers, because the pair ends. The sender does
 * not write into the buffers after this. */
void wf_shm_fetch_close(weft_peer *p)
{
    struct shm_fetches *fs = &p->fetches;
    weft_ep *ep = p->ep;
    if (!has_fetches(fs))
        return;
    for (uint32_t op = fs->first; op != fs->next; op++)
        atomic_store_explicit(claims_of(p, op), SHM_CLAIMS_CLOSED,
                              memory_order_relaxed);
    shm_fence(); /* pairs with the one in offer.c */
    uint64_t start = ep->host->now_ns(ep->core);
    while (atomic_load_explicit(&p->out.share->writing, memory_order_acquire) &&
           !p->in.eof && ep->host->now_ns(ep->core) - start < CLOSE_WAIT_NS)
        shm_relax();
}

void wf_shm_fetch_end(weft_peer *p, int status)
{
    struct shm_fetches *fs = &p->fetches;
    struct shm_fetches old = *fs;
    *fs = (struct shm_fetches){.first = old.next, .next = old.next};
    for (uint32_t op = old.first; op != old.next; op++)
        if (old.at[op % SHM_FETCHES].rma)
            p->ep->host->get_done(p->ep->core, old.at[op % SHM_FETCHES].rma,
                                  status);
    while (old.head) {
        weft_get *rma = old.head;
        old.head = *next_field_of(rma);
        p->ep->host->get_done(p->ep->core, rma, status);
    }
}

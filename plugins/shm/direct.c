/* Transfers with one copy: the receiver of a large message fetches it from the
 * sender's memory.
 *
 *   the sender's memory is    it is read by
 *   an area of mem_alloc      a copy through this process' own mapping
 *   anything else             process_vm_readv, where that is faster (cma.c);
 *                             else by whichever side is in MPI (fetch.c)
 *
 * When the destination lies in an area too, the owner of the source helps: both
 * claim pieces from a word in the segment of the pair and copy them.
 *
 *   receiver                               sender
 *   claim = op | 0;  HELP slot         --> maps the destination, if it has not
 *   claims pieces from claim               claims pieces from claim
 *   until none is left                     done = op | its pieces
 *   complete: mine + done == all
 *
 * INVARIANT  A claimed index is compared with the private number of pieces
 * before it is used as a position. The operation's number in each word keeps a
 * late helper of one operation out of the next.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

enum { PIECES_PER_CALL = 64 }; /* pieces that one progress call copies */

static uint32_t count_pieces(uint64_t len)
{
    return (uint32_t)((len + SHM_HELP_PIECE - 1) / SHM_HELP_PIECE);
}

/* Claims the next piece of operation op. Returns false if none is left. */
static bool claim_piece(_Atomic uint64_t *word, uint32_t op, uint32_t all,
                        uint32_t *index)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    for (;;) {
        if ((uint32_t)(seen >> 32) != op || (uint32_t)seen >= all)
            return false;
        *index = (uint32_t)seen;
        if (atomic_compare_exchange_weak_explicit(word, &seen, seen + 1,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
}

static void copy_piece(unsigned char *to, const unsigned char *from,
                       uint64_t len, uint32_t index)
{
    WEFT_ASSERT((uint64_t)index * SHM_HELP_PIECE < len);
    uint64_t at = (uint64_t)index * SHM_HELP_PIECE;
    wf_shm_copy(to + at, from + at,
                len - at < SHM_HELP_PIECE ? len - at : SHM_HELP_PIECE);
}

/* ---- fetching ---------------------------------------------------------- */

/* Asks the owner of the source to help, if it can and there is room. */
static void ask_for_help(weft_peer *p, const weft_get *rma)
{
    struct shm_get *g = &p->get;
    weft_mr *into = wf_shm_area_of(p->ep, rma->one.iov_base, rma->one.iov_len);
    if (!into || rma->one.iov_len < SHM_HELP_MIN || !shm_slot_free(p))
        return;
    struct shm_help_body help = {
        rma->raddr, rma->one.iov_len, into->id,
        (uint64_t)((unsigned char *)rma->one.iov_base - into->base)};
    g->shared = true;
    g->op++;
    atomic_store_explicit(&p->out.share->claim, (uint64_t)g->op << 32,
                          memory_order_relaxed);
    memcpy(shm_slot_next(&p->out)->body, &help, sizeof help);
    shm_publish_slot(p, g->op, 0, SHM_HELP);
}

static void begin_get(weft_peer *p)
{
    WEFT_ASSERT(p->get.head && p->get.head->rkey);
    struct shm_get *g = &p->get;
    g->done = 0;
    g->shared = false;
    if (g->head->rkey->base)
        ask_for_help(p, g->head);
}

/* The number of pieces of the operation that the helper has copied. */
static uint32_t count_helped(weft_peer *p)
{
    uint64_t word =
        atomic_load_explicit(&p->out.share->done, memory_order_acquire);
    return (uint32_t)(word >> 32) == p->get.op ? (uint32_t)word : 0;
}

/* Copies some pieces. WEFT_DONE, WEFT_EAGAIN for more, or an error. */
static int copy_some(weft_peer *p)
{
    struct shm_get *g = &p->get;
    weft_get *rma = g->head;
    unsigned char *to = rma->one.iov_base;
    if (!rma->rkey->base)
        return wf_shm_cma_step(p, rma, &g->done);
    const unsigned char *from = rma->rkey->base + (rma->raddr - rma->rkey->at);
    uint32_t all = count_pieces(rma->one.iov_len), index;
    for (int i = 0; i < PIECES_PER_CALL && g->done < all; i++) {
        index = (uint32_t)g->done;
        if (g->shared && !claim_piece(&p->out.share->claim, g->op, all, &index))
            break;
        copy_piece(to, from, rma->one.iov_len, index);
        g->done++;
    }
    uint64_t have = g->done + (g->shared ? count_helped(p) : 0);
    return have >= all ? WEFT_DONE : WEFT_EAGAIN;
}

static weft_get **next_field_of(weft_get *rma)
{
    return (weft_get **)(void *)&rma->priv[0];
}

static void pop_get(struct shm_get *g)
{
    WEFT_ASSERT(g->head && g->last);
    g->head = *next_field_of(g->head);
    if (!g->head)
        g->last = NULL;
}

int wf_shm_get(weft_peer *p, weft_get *rma)
{
    struct shm_get *g = &p->get;
    weft_rkey *k = rma->rkey;
    uint64_t at = rma->raddr - k->at;
    if (p->state != SHM_UP || p->fault ||
        (k->base && (rma->raddr < k->at || at > k->bytes ||
                     rma->one.iov_len > k->bytes - at)))
        return WEFT_EINVAL;
    shm_close_out(p);
    *next_field_of(rma) = NULL;
    if (!k->base && !wf_shm_cma_probe(p, rma->raddr))
        return WEFT_ENOTSUP;
    if (!k->base && !wf_shm_cma_reads_alone(p->ep))
        return wf_shm_fetch(p, rma);
    if (g->head) {
        *next_field_of(g->last) = rma;
        g->last = rma;
        return WEFT_OK;
    }
    g->head = g->last = rma;
    begin_get(p);
    int rc = copy_some(p);
    if (rc != WEFT_EAGAIN) {
        pop_get(g);
        return rc;
    }
    wf_shm_mark_busy(p);
    return WEFT_OK;
}

/* ---- helping ----------------------------------------------------------- */

/* Takes a HELP slot. From here on progress copies pieces, until none is
 * left. */
void wf_shm_take_help(weft_peer *p, const struct shm_slot *s, uint32_t op)
{
    struct shm_help_body ask;
    memcpy(&ask, s->body, sizeof ask);
    void *from = (void *)(uintptr_t)ask.from;
    weft_rkey *into = wf_shm_mapped_area(p, ask.id);
    if (!into || ask.at > into->bytes || ask.len > into->bytes - ask.at ||
        !wf_shm_area_of(p->ep, from, ask.len))
        return; /* the receiver copies alone */
    wf_shm_close_area(into);
    p->help = (struct shm_help){
        .to = into->base + ask.at, .from = from, .len = ask.len, .op = op};
    wf_shm_mark_busy(p);
}

static int help_some(weft_peer *p)
{
    struct shm_help *h = &p->help;
    struct shm_share *share = p->in.share;
    uint32_t index, all = count_pieces(h->len);
    int n = 0;
    WEFT_ASSERT(h->to);
    while (n < PIECES_PER_CALL &&
           claim_piece(&share->claim, h->op, all, &index)) {
        copy_piece(h->to, h->from, h->len, index);
        h->done++;
        n++;
        atomic_store_explicit(&share->done, (uint64_t)h->op << 32 | h->done,
                              memory_order_release);
    }
    if (n < PIECES_PER_CALL)
        h->to = NULL;
    return n;
}

/* ---- progress ---------------------------------------------------------- */

bool wf_shm_has_direct(const weft_peer *p)
{
    return p->get.head || p->help.to || p->pushes.n > 0 ||
           wf_shm_has_fetches(p);
}

/* Says whether a thread that is about to sleep could move a transfer
 * instead. */
bool wf_shm_direct_can_move(weft_peer *p)
{
    return p->get.head || p->help.to || wf_shm_offer_can_move(p) ||
           wf_shm_fetch_can_move(p);
}

/* Moves the transfers under way. Returns the number of events. */
int wf_shm_direct_move(weft_peer *p)
{
    int n = p->help.to ? help_some(p) : 0;
    if (p->pushes.n > 0)
        n += wf_shm_move_pushes(p);
    if (wf_shm_has_fetches(p))
        n += wf_shm_move_fetches(p);
    if (!p->get.head)
        return n;
    uint64_t before = p->get.done;
    int rc = copy_some(p);
    if (rc == WEFT_EAGAIN)
        return n + (p->get.done != before);
    weft_get *rma = p->get.head;
    pop_get(&p->get);
    if (p->get.head)
        begin_get(p);
    p->ep->host->get_done(p->ep->core, rma, rc == WEFT_DONE ? WEFT_OK : rc);
    return n + 1;
}

/* Ends all transfers with `status` because the pair has ended. */
void wf_shm_direct_end(weft_peer *p, int status)
{
    weft_get *rma = p->get.head;
    uint32_t op = p->get.op;
    p->get = (struct shm_get){.op = op};
    p->help = (struct shm_help){0};
    wf_shm_end_asks(p);
    wf_shm_fetch_end(p, status);
    while (rma) {
        weft_get *next = *next_field_of(rma);
        p->ep->host->get_done(p->ep->core, rma, status);
        rma = next;
    }
}

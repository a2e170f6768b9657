/* Fetches a message by one copy from the sender's memory; both sides copy a
 * part.
 *
 *   receiver                                   sender, waiting in MPI_Send
 *   get(): describes the copy in its mailbox's job, its first piece claimed
 *          MAIL_ASSIST, claim  ------------>   claims pieces too, copies them
 *          copies, claims, copies              done = number copied
 *          none is left; all copied?
 *            yes                     finished
 *            not yet                 finished at the next progress
 *
 *   memory   | receiver --> | not yet | <-- sender |
 *
 * The receiver copies from the front and the sender from the end, so each goes
 * through memory in one direction, and they meet where both are done. The
 * receiver's first piece is longer by WF_ASSIST_LEAD, because it begins
 * earlier.
 *
 * A side claims a piece by adding 1 to a word that also holds the generation of
 * the job and the number of pieces; which piece it gets follows from how many
 * pieces it has had. So a sender that comes late finds nothing to claim,
 * whatever the job is by then. Both begin with the word as the receiver stored
 * it, so that neither reads the cache line of the job before it writes it: one
 * transfer less between two caches.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/assist.h"

#include "os/copy.h"
#include "os/tuning.h"
#include "thread/registry.h"
#include "thread/transport.h"

enum { PIECES_MAX = 1 << 19 /* of a message: 20 bits count them */ };

/* Returns the word that pieces are claimed by: generation 24 | pieces 20 | next
 * 20 bits. */
static uint64_t claim_word(uint32_t generation, uint32_t pieces, uint32_t next)
{
    return (uint64_t)(generation & 0xffffff) << 40 | (uint64_t)pieces << 20 |
           next;
}

/* Claims one more piece of the job. *seen is its word as far as this side
 * knows. Returns false if no piece is left, or the word is that of another
 * job. */
static bool claim_piece(struct mail_job *j, uint64_t *seen)
{
    uint64_t job = *seen >> 40, next = *seen;

    do
        if (next >> 40 != job || (next & 0xfffff) >= (next >> 20 & 0xfffff))
            return false;
    while (!wf_cas_acq_rel(&j->claim, &next, next + 1));
    *seen = next + 1;
    return true;
}

static void copy_piece(const struct mail_job *j, uint32_t i)
{
    size_t off = i ? j->first + (size_t)(i - 1) * j->piece : 0;
    size_t n = i ? j->piece : j->first;

    if (n > j->len - off)
        n = j->len - off;
    if (j->nontemporal)
        wf_copy_nontemporal(j->to + off, j->from + off, n);
    else
        memcpy(j->to + off, j->from + off, n);
}

void wf_assist_copy(weft_peer *p, uint64_t word)
{
    struct mail_job *j = &p->box->job;
    uint32_t n = 0;

    while (claim_piece(j, &word)) {
        copy_piece(j, j->pieces - ++n);
        wf_store_release(&j->done, n); /* pairs with wf_assist_is_done */
    }
    if (n)
        wf_mail_wake(p->box);
}

bool wf_assist_is_done(const weft_ep *e)
{
    const struct mail_job *j = &e->box->job;

    return wf_load_acquire(&j->done) + e->own_pieces == j->pieces;
}

void wf_assist_await_done(weft_ep *e)
{
    while (e->rma && !wf_assist_is_done(e))
        wf_cpu_relax();
}

static void ask_for_help(weft_peer *p, uint64_t word)
{
    struct mail_claim c;

    if (!mail_claim_lines(p->box, 1, &p->seen, p->me, &c))
        return; /* its mailbox is full: it has enough to do */
    c.first->env[0] = word;
    mail_publish(p->box, &c, mail_make_word(MAIL_ASSIST, p->me));
}

static size_t round_to_lines(size_t n)
{
    return (n + MAIL_LINE - 1) & ~(size_t)(MAIL_LINE - 1);
}

/* Returns what the receiver copies until the sender has begun. */
static uint32_t lead_bytes_of(size_t len)
{
    return len < 4 * WF_ASSIST_LEAD ? 0 : WF_ASSIST_LEAD;
}

/* Returns the bytes of a piece: there are enough pieces to share evenly, and
 * few enough for long copies. Their number is even, so that two sides that are
 * equally fast end together. */
static size_t piece_bytes_of(const weft_ep *e, size_t len)
{
    size_t pieces = len / WF_ASSIST_PIECE_MIN & ~(size_t)1, piece;

    if (e->config.piece)
        return round_to_lines(e->config.piece);
    if (pieces > WF_ASSIST_PIECES)
        pieces = WF_ASSIST_PIECES;
    piece = round_to_lines((len - lead_bytes_of(len)) / (pieces ? pieces : 2));
    return piece < WF_ASSIST_PIECE_MAX ? piece : WF_ASSIST_PIECE_MAX;
}

/* Describes the job in the own mailbox; the receiver has claimed its first
 * piece. Returns the job's word. */
static uint64_t describe_job(struct mail_job *j, const weft_get *r,
                             const weft_ep *e)
{
    size_t piece = piece_bytes_of(e, r->one.iov_len);
    uint64_t word;

    while (r->one.iov_len / piece >= PIECES_MAX)
        piece *= 2;
    j->from = (const char *)(uintptr_t)r->raddr;
    j->to = r->one.iov_base;
    j->len = r->one.iov_len;
    j->nontemporal = r->one.iov_len >= e->config.nontemporal;
    j->piece = (uint32_t)piece;
    j->first = (uint32_t)piece + lead_bytes_of(r->one.iov_len);
    if (j->first > r->one.iov_len)
        j->first = (uint32_t)r->one.iov_len;
    j->pieces = 1 + (uint32_t)((r->one.iov_len - j->first + piece - 1) / piece);
    wf_store_relaxed(&j->done, 0);
    word = claim_word(e->generation, j->pieces, 1);
    wf_store_release(&j->claim, word);
    return word;
}

static int get_shared(weft_peer *p, weft_get *r)
{
    weft_ep *e = p->ep;
    struct mail_job *j = &e->box->job;
    uint64_t word;

    e->generation++;
    word = describe_job(j, r, e);
    ask_for_help(p, word);
    e->own_pieces = 0;
    do
        copy_piece(j, e->own_pieces++);
    while (claim_piece(j, &word));
    for (int i = 0; i < WF_ASSIST_SPINS; i++) {
        if (wf_assist_is_done(e))
            return WEFT_DONE;
        wf_cpu_relax();
    }
    e->rma = r;
    return WEFT_OK;
}

int wf_thread_get(weft_peer *p, weft_get *r)
{
    if (wf_load_relaxed(&p->box->closed) == MAIL_GONE)
        return WEFT_EPEER;
    if (r->one.iov_len >= p->ep->config.share && !p->ep->rma)
        return get_shared(p, r);
    memcpy(r->one.iov_base, (const char *)(uintptr_t)r->raddr, r->one.iov_len);
    return WEFT_DONE;
}

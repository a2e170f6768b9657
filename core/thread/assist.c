/* Fetching: one copy from the sender's memory, shared with the sender.
 *
 *   receiver                                   sender, waiting in MPI_Send
 *   get(): describes the copy in its mailbox's job
 *          MAIL_ASSIST -------------------->   claims pieces too, copies them
 *          claims pieces, copies them          done += 1 for each
 *          none left: all done?
 *            yes                     finished
 *            not yet                 finished at the next progress
 *
 *   memory   | receiver --> | not yet | <-- sender |
 *
 * The receiver copies from the front, the sender from the end, so each goes
 * through memory in one direction, and they meet where both are done.
 *
 * A piece is claimed by adding 1 to a word that also holds the generation of the
 * job and the number of pieces; which one it is follows from how many the same
 * side has had. So an assistant that comes late finds nothing to claim, whatever
 * the job is by then.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "thread/transport.h"

enum {
    PIECE_MIN = 32 << 10,  /* but for messages of less than two */
    PIECE_MAX = 256 << 10, /* larger ones are no faster, and who is done first
                              waits for the other longer */
    PIECES = 16,
    PIECES_MAX = 1 << 19,
    SPINS = 2000 /* about what one piece takes */
};

/* claim = generation 24 | pieces 20 | next 20 */
static uint64_t claim_word(uint32_t generation, uint32_t pieces)
{
    return (uint64_t)(generation & 0xffffff) << 40 | (uint64_t)pieces << 20;
}

/* One more piece of that job is ours. */
static bool claim(struct mail_job *j, uint32_t generation)
{
    uint64_t c = wf_load_acquire(&j->claim);

    do
        if (c >> 40 != (generation & 0xffffff) ||
            (c & 0xfffff) >= (c >> 20 & 0xfffff))
            return false;
    while (!wf_cas_acq_rel(&j->claim, &c, c + 1));
    return true;
}

static void copy_piece(const struct mail_job *j, uint32_t i)
{
    size_t off = (size_t)i * j->piece;
    size_t n = j->len - off < j->piece ? j->len - off : j->piece;

    memcpy(j->to + off, j->from + off, n);
}

void wf_assist(weft_peer *p, uint32_t generation)
{
    struct mail_job *j = &p->box->job;
    uint32_t n = 0;

    while (claim(j, generation)) {
        copy_piece(j, j->pieces - ++n);
        wf_add_acq_rel(&j->done, 1); /* pairs with wf_assist_done */
    }
    if (n)
        wf_mail_wake(p->box);
}

bool wf_assist_done(const weft_ep *e)
{
    const struct mail_job *j = &e->box->job;

    return wf_load_acquire(&j->done) + e->own == j->pieces;
}

void wf_assist_finish(weft_ep *e)
{
    while (e->rma && !wf_assist_done(e))
        wf_cpu_relax();
}

static void ask_for_help(weft_peer *p, uint32_t generation)
{
    struct mail_claim c;

    if (!mail_claim(p->box, 1, &p->seen, p->me, &c))
        return; /* it has enough to do */
    c.first->env[0] = generation;
    mail_publish(p->box, &c, mail_word(MAIL_ASSIST, p->me));
}

static size_t whole_lines(size_t n)
{
    return (n + MAIL_LINE - 1) & ~(size_t)(MAIL_LINE - 1);
}

/* Many enough to share evenly, few enough for long copies; and an even number,
 * so that two who are as fast end together. */
static size_t piece_of(const weft_ep *e, size_t len)
{
    size_t pieces = len / PIECE_MIN & ~(size_t)1, piece;

    if (e->config.piece)
        return whole_lines(e->config.piece);
    if (pieces > PIECES)
        pieces = PIECES;
    piece = whole_lines(len / (pieces ? pieces : 2));
    return piece < PIECE_MAX ? piece : PIECE_MAX;
}

static void describe(struct mail_job *j, const weft_rma *r, uint32_t generation,
                     size_t piece)
{
    while (r->len / piece >= PIECES_MAX)
        piece *= 2;
    j->from = (const char *)(uintptr_t)r->raddr;
    j->to = r->one.iov_base;
    j->len = r->len;
    j->piece = (uint32_t)piece;
    j->pieces = (uint32_t)((r->len + piece - 1) / piece);
    wf_store_relaxed(&j->done, 0);
    wf_store_release(&j->claim, claim_word(generation, j->pieces));
}

static int get_shared(weft_peer *p, weft_rma *r)
{
    weft_ep *e = p->ep;
    struct mail_job *j = &e->box->job;
    uint32_t generation = ++e->generation;

    describe(j, r, generation, piece_of(e, r->len));
    ask_for_help(p, generation);
    e->own = 0;
    while (claim(j, generation))
        copy_piece(j, e->own++);
    for (int i = 0; i < SPINS; i++) {
        if (wf_assist_done(e))
            return WEFT_DONE;
        wf_cpu_relax();
    }
    e->rma = r;
    return WEFT_OK;
}

int wf_thread_get(weft_peer *p, weft_rma *r)
{
    struct iovec v;

    if (wf_load_relaxed(&p->box->closed) == MAIL_GONE)
        return WEFT_EPEER;
    if (r->len >= p->ep->config.share && r->one.iov_len == r->len &&
        !p->ep->rma)
        return get_shared(p, r);
    if (r->one.iov_len == r->len) {
        memcpy(r->one.iov_base, (const char *)(uintptr_t)r->raddr, r->len);
        return WEFT_DONE;
    }
    for (uint64_t off = 0; off < r->len; off += v.iov_len) {
        if (r->seg(r, off, &v, 1) < 1)
            return WEFT_EINVAL;
        memcpy(v.iov_base, (const char *)(uintptr_t)(r->raddr + off),
               v.iov_len);
    }
    return WEFT_DONE;
}

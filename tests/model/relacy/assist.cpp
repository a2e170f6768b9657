/* A copy that two ranks of a process share (core/thread/assist.c).
 * CLAIM  Each piece is copied once, and all of them when the receiver says that
 * it is done; who comes late copies nothing of another job.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { PIECE = 16, LEN = 4 * PIECE, JOBS = 2 };
enum { WF_ASSIST_LEAD = PIECE, WF_ASSIST_SPINS = 1 };
enum { PIECES_MAX = 1 << 19, WEFT_DONE = 1, WEFT_OK = 0 };
static char source[JOBS][LEN], target[JOBS][LEN]; /* their addresses */
struct piece {
    plain<int> from, to;
};
static struct piece (*pieces_of)[LEN / PIECE];

static void copy(char *to, const char *from, size_t n)
{
    size_t at = to - target[0];
    struct piece *p = &pieces_of[at / LEN][at % LEN / PIECE];

    RL_ASSERT(from - source[0] == at && n > 0 && n % PIECE == 0);
    for (; n > 0; n -= PIECE, p++) {
        RL_ASSERT(p->to == 0);
        p->to = p->from;
    }
}
#define memcpy copy
#define wf_copy_nontemporal copy

//@ core/thread/mailbox.h: mail_job{pieces piece first nontemporal from to len}
struct mailbox {
    struct mail_job job;
};
struct weft_get {
    uintptr_t raddr;
    struct {
        void *iov_base;
        size_t iov_len;
    } one;
};
struct weft_ep {
    struct mailbox *box;
    struct weft_get *rma;
    uint32_t generation, own_pieces;
    struct {
        size_t nontemporal;
    } config;
};
struct weft_peer {
    struct weft_ep *ep;
    struct mailbox *box;
    wf_atomic_u64 *asked;
};
static void wf_mail_wake(struct mailbox *) {}
static size_t piece_bytes_of(const weft_ep *, size_t) { return PIECE; }
static void ask_for_help(weft_peer *p, uint64_t word)
{
    p->asked->store(word, rl::mo_release, $);
}
//@ core/thread/assist.c: claim_word claim_piece copy_piece wf_assist_copy
//@ core/thread/assist.c: wf_assist_is_done
//@ core/thread/assist.c: wf_assist_await_done lead_bytes_of describe_job
//@ core/thread/assist.c: get_shared
#undef memcpy
#undef wf_copy_nontemporal

struct copies_meet : rl::test_suite<copies_meet, 3> {
    struct mailbox box;
    struct weft_ep owner;
    wf_atomic_u64 asked;
    struct piece pieces[JOBS][LEN / PIECE];

    void before()
    {
        pieces_of = pieces;
        owner = weft_ep();
        owner.box = &box;
        for (int j = 0; j < JOBS; j++)
            for (int i = 0; i < LEN / PIECE; i++)
                pieces[j][i].from = 10 * j + i + 1;
    }

    void fetch(int job)
    {
        struct weft_get r = {(uintptr_t)source[job], {target[job], LEN}};
        struct weft_peer p = {&owner, &box, &asked};

        if (get_shared(&p, &r) == WEFT_OK)
            wf_assist_await_done(&owner);
        owner.rma = NULL;
        for (int i = 0; i < LEN / PIECE; i++)
            RL_ASSERT(pieces[job][i].to == 10 * job + i + 1);
    }

    void thread(unsigned me)
    {
        struct weft_peer p = {NULL, &box, NULL};
        uint64_t word;

        if (me == 0) {
            for (int job = 0; job < JOBS; job++)
                fetch(job);
            return;
        }
        /* each job asks another peer; the first may come when it is over */
        while ((word = asked.load(rl::mo_acquire, $)) >> 40 < me)
            rl::yield(1, $);
        wf_assist_copy(&p, claim_word(me, word >> 20 & 0xfffff, 1));
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<copies_meet>();
}

/* A transfer between areas of memory that both sides have mapped, which the
 * owner of the source helps with (plugins/shm/direct.c).
 * CLAIM  Each piece is copied once, all of them are there when the receiver
 * says so, and a helper that is late copies nothing of another operation.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { SHM_HELP_PIECE = 1, PIECES = 3, PIECES_PER_CALL = 2, JOBS = 2 };
enum { WEFT_DONE = 1, WEFT_EAGAIN = 2 };
struct piece {
    plain<int> from, to;
};
static unsigned char source[JOBS][PIECES], target[JOBS][PIECES]; /* addresses */
static struct piece (*pieces_of)[PIECES];

static void wf_shm_copy(unsigned char *to, const unsigned char *from,
                        uint64_t n)
{
    size_t at = to - target[0];
    struct piece *p = &pieces_of[at / PIECES][at % PIECES];

    RL_ASSERT((size_t)(from - source[0]) == at && n == SHM_HELP_PIECE);
    RL_ASSERT(p->to == 0);
    p->to = p->from;
}

struct shm_share {
    atom<uint64_t> claim, done;
};
struct weft_rkey {
    unsigned char *base;
    uint64_t at;
};
struct weft_get {
    weft_rkey *rkey;
    uint64_t raddr;
    struct {
        void *iov_base;
        uint64_t iov_len;
    } one;
};
//@ plugins/shm/transfer.h: shm_get shm_help
struct weft_peer {
    struct {
        struct shm_share *share;
    } in, out;
    struct shm_get get;
    struct shm_help help;
};
static int wf_shm_cma_step(weft_peer *, weft_get *, uint64_t *) { return -1; }
//@ plugins/shm/direct.c: count_pieces claim_piece copy_piece count_helped
//@ plugins/shm/direct.c: copy_some
//@ plugins/shm/direct.c: help_some

struct areas_meet : rl::test_suite<areas_meet, 2> {
    struct shm_share share;
    struct piece pieces[JOBS][PIECES];
    atom<uint32_t> asked; /* the slot that asks for help */

    void before()
    {
        pieces_of = pieces;
        for (int j = 0; j < JOBS; j++)
            for (int i = 0; i < PIECES; i++)
                pieces[j][i].from = 10 * j + i + 1;
    }

    void fetch(weft_peer *p, int job)
    {
        weft_rkey key = {source[job], 0};
        weft_get rma = {&key, 0, {target[job], PIECES}};

        p->get.head = &rma;
        p->get.done = 0;
        p->get.shared = true;
        p->get.op++;
        share.claim.store((uint64_t)p->get.op << 32, rl::mo_relaxed, $);
        asked.store(p->get.op, rl::mo_release, $);
        while (copy_some(p) == WEFT_EAGAIN)
            rl::yield(1, $);
        for (int i = 0; i < PIECES; i++)
            RL_ASSERT(pieces[job][i].to == 10 * job + i + 1);
    }

    void help(weft_peer *p, uint32_t op)
    {
        while (asked.load(rl::mo_acquire, $) < op)
            rl::yield(1, $);
        p->help.to = target[op - 1];
        p->help.from = source[op - 1];
        p->help.len = PIECES;
        p->help.op = op;
        p->help.done = 0;
        while (p->help.to)
            help_some(p);
    }

    void thread(unsigned me)
    {
        weft_peer p = weft_peer();

        p.in.share = p.out.share = &share;
        for (int job = 0; job < JOBS; job++)
            if (me == 0)
                fetch(&p, job);
            else
                help(&p, job + 1);
    }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<areas_meet>();
}

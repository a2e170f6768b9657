/* Two ways of copying large payloads, and which one is in use.
 *
 *   loop    vectors of 16 bytes (copy.c)
 *   memcpy  of the C library, which may be one instruction for a whole chunk
 *
 * Which is faster depends on where the host has put the two processors, on
 * what both sides do between two messages, and on the C library, by factors of
 * two in either direction, and it changes while a program runs. So it is tried:
 * now and then each way carries some messages, twice in turn, and the one that
 * moved its bytes in the least time stays until the next trial. memcpy has to be
 * clearly faster, for it may fall to less than half from one moment to the next;
 * the loop has one speed.
 *
 * PROTOCOL  What counts is the time of a message, in which both sides copy. So
 * the receiver decides for both: line->way tells the sender, who looks when he
 * looks for room, and each DATA slot tells how its chunk was copied. Messages
 * that went the former way are not counted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

enum {
    TURNS = 2 * SHM_WAYS,
    TURN = 4 << 20,    /* bytes that are counted in a turn */
    WARM = 4 << 20,    /* bytes before the first trial: pages are new */
    REST = 256 << 20   /* bytes between two trials */
};

static void go(struct shm_in *in, enum shm_way way)
{
    in->choice.way = way;
    in->choice.ns = in->choice.bytes = 0;
    atomic_store_explicit(&in->line->way, way, memory_order_relaxed);
}

void wf_shm_way_start(struct shm_in *in)
{
    in->choice = (struct shm_choice){.turn = TURNS, .left = WARM};
    go(in, SHM_BY_LOOP);
}

/* A message of len bytes begins: is it to be timed? */
bool wf_shm_way_tried(struct shm_in *in, uint64_t len)
{
    struct shm_choice *c = &in->choice;
    if (c->turn < TURNS)
        return true;
    c->left -= (int64_t)len;
    if (c->left > 0)
        return false;
    c->turn = 0;
    go(in, SHM_BY_LOOP);
    return true;
}

static void end_turn(struct shm_in *in)
{
    struct shm_choice *c = &in->choice;
    uint64_t pace = (c->ns << 20) / c->bytes;
    if (c->turn < SHM_WAYS || pace < c->best[c->way])
        c->best[c->way] = pace;
    if (++c->turn < TURNS) {
        go(in, c->turn % SHM_WAYS);
        return;
    }
    bool clearly =
        c->best[SHM_BY_MEMCPY] < c->best[SHM_BY_LOOP] - c->best[SHM_BY_LOOP] / 5;
    go(in, clearly ? SHM_BY_MEMCPY : SHM_BY_LOOP);
    c->left = REST;
}

/* It came between two times. A short gap before it counts, too: in a stream the
 * sender was copying in it. In a long one the program did something else. */
void wf_shm_way_timed(struct shm_in *in, uint64_t len, uint64_t since,
                      uint64_t now)
{
    struct shm_choice *c = &in->choice;
    uint64_t ns = now - since, gap = since - c->end;
    c->end = now;
    if (c->turn >= TURNS || c->theirs != c->way)
        return;
    c->ns += gap < 2 * ns ? ns + gap : ns;
    c->bytes += len;
    if (c->bytes >= TURN)
        end_turn(in);
}

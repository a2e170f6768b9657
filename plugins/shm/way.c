/* Two ways of copying large payloads, and which one is in use.
 *
 *            into the ring                     out of it
 *   memcpy   memcpy of the C library           vectors of 16 bytes
 *   loop     vectors, with hints to prefetch   the same
 *
 * DESIGN  memcpy may be one instruction for a whole chunk, which takes the
 * lines of the ring without first asking for what they hold. The same
 * instruction reads lines that another processor has written at a third of the
 * speed of a loop of vectors, mostly; so it is not what the receiver uses.
 * Hints to prefetch in that loop were of no use for messages that stay in the
 * caches and slowed larger ones down by a tenth. docs/performance.md has the
 * figures.
 *
 * On processors of today this way is the faster one, in bad hours by three
 * times. Where the C library copies badly, or the program's data come from
 * another processor, it need not be. So it is tried: now and then each way
 * carries some messages, twice in turn, and the one that moved its bytes in the
 * least time stays until the next trial. The loop has to be clearly faster;
 * where it is hopeless, the trial ends at once.
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
    TURN_MB = 4,       /* that are counted in a turn */
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
    go(in, SHM_BY_MEMCPY);
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
    go(in, SHM_BY_MEMCPY);
    return true;
}

/* The loop has taken half as much time again as memcpy for a whole turn. */
static bool hopeless(const struct shm_choice *c)
{
    return c->way == SHM_BY_LOOP &&
           c->ns > c->best[SHM_BY_MEMCPY] * TURN_MB * 3 / 2;
}

static void end_turn(struct shm_in *in, bool last)
{
    struct shm_choice *c = &in->choice;
    uint64_t pace = (c->ns << 20) / c->bytes;
    if (c->turn < SHM_WAYS || pace < c->best[c->way])
        c->best[c->way] = pace;
    if (++c->turn < TURNS && !last) {
        go(in, c->turn % SHM_WAYS);
        return;
    }
    uint64_t memcpys = c->best[SHM_BY_MEMCPY];
    bool clearly = c->best[SHM_BY_LOOP] < memcpys - memcpys / 10;
    go(in, clearly ? SHM_BY_LOOP : SHM_BY_MEMCPY);
    c->turn = TURNS;
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
    if (hopeless(c))
        end_turn(in, true);
    else if (c->bytes >= TURN_MB << 20)
        end_turn(in, false);
}

/* The choice between two ways of copying large payloads into the ring. Out of
 * it they are copied by vectors of 16 bytes.
 *
 *   memcpy       that of the C library
 *   nontemporal  non-temporal stores, which bypass the caches (x86-64 only;
 *                elsewhere vectors, with hints to prefetch)
 *
 * DESIGN  memcpy may be one instruction for a whole chunk, which takes the
 * lines of the ring without first asking for what they hold. The same
 * instruction reads lines that another processor has written at a third of the
 * speed of a loop of vectors, mostly; so it is not what the receiver uses.
 * Hints to prefetch in that loop were of no use for messages that stay in the
 * caches and slowed larger ones down by a tenth.
 *
 * memcpy is mostly the faster way. But where the two processors are far from
 * each other, taking the lines back from the one that has read them costs five
 * times as much as non-temporal stores, by any instruction; and a virtual
 * machine's processors come to be far from each other and near again.
 * bench/notebook/shared-memory.md has the figures. So there are trials: now and
 * then each way carries some messages, in two alternating rounds each, and the
 * one that moved its bytes in the least time stays until the next trial.
 * Non-temporal stores have to be clearly faster; if they are hopeless, the
 * trial ends at once.
 *
 * PROTOCOL  The measure is the time of both copies together, and nothing
 * between them: a side that waits, for the other or for its program, does not
 * copy. So during a trial the receiver asks for the sender's times (line->way,
 * which the sender reads with the counts), and the slot of each chunk but a
 * message's first says how it was copied and how long that took. Chunks that
 * were copied in the previous round's way are not counted.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

enum { ROUNDS = 2 * SHM_WAYS };

static void use_way(struct shm_in *in, enum shm_way way)
{
    struct shm_choice *c = &in->choice;
    c->way = way;
    c->ns = c->bytes = 0;
    atomic_store_explicit(&in->line->way,
                          way | (c->round < ROUNDS ? SHM_TIMED : 0),
                          memory_order_relaxed);
}

void wf_shm_way_init(struct shm_in *in)
{
    in->choice = (struct shm_choice){
        .round = ROUNDS, .left = SHM_TRIAL_FIRST, .rest = SHM_TRIAL_REST};
    use_way(in, SHM_BY_MEMCPY);
}

/* Counts a message of len bytes that begins, and may begin a trial with it. */
void wf_shm_way_count_message(struct shm_in *in, uint64_t len)
{
    struct shm_choice *c = &in->choice;
    if (c->round < ROUNDS)
        return;
    c->left -= (int64_t)len;
    if (c->left > 0)
        return;
    c->round = 0;
    use_way(in, SHM_BY_MEMCPY);
}

/* Packs a way and the time of its copy into the word for a chunk's slot. */
uint32_t wf_shm_way_pack_time(enum shm_way way, uint64_t ns)
{
    uint32_t most = UINT32_MAX / SHM_WAYS;
    return (uint32_t)way + SHM_WAYS * (ns < most ? (uint32_t)ns + 1 : most);
}

/* Says whether non-temporal stores have already taken half as much time again
 * as memcpy took for a whole round. */
static bool is_hopeless(const struct shm_choice *c)
{
    return c->way == SHM_NONTEMPORAL &&
           c->ns > c->best[SHM_BY_MEMCPY] * SHM_TRIAL_MB * 3 / 2;
}

static void end_round(struct shm_in *in, bool last)
{
    struct shm_choice *c = &in->choice;
    uint64_t pace = (c->ns << 20) / c->bytes;
    if (c->round < SHM_WAYS || pace < c->best[c->way])
        c->best[c->way] = pace;
    if (++c->round < ROUNDS && !last) {
        use_way(in, c->round % SHM_WAYS);
        return;
    }
    uint64_t memcpys = c->best[SHM_BY_MEMCPY];
    bool clearly = c->best[SHM_NONTEMPORAL] < memcpys - memcpys / 10;
    c->rest = !last                          ? SHM_TRIAL_REST
              : c->rest < SHM_TRIAL_REST_MAX ? 2 * c->rest
                                             : c->rest;
    c->left = c->rest;
    c->round = ROUNDS;
    use_way(in, clearly ? SHM_NONTEMPORAL : SHM_BY_MEMCPY);
}

/* Counts n bytes that took ns to copy out of the ring. copy_info: the sender's
 * word. */
void wf_shm_way_add_time(struct shm_in *in, uint32_t copy_info, uint64_t n,
                      uint64_t ns)
{
    struct shm_choice *c = &in->choice;
    if (c->round >= ROUNDS || copy_info % SHM_WAYS != c->way)
        return;
    c->ns += copy_info / SHM_WAYS + ns;
    c->bytes += n;
    if (is_hopeless(c))
        end_round(in, true);
    else if (c->bytes >= SHM_TRIAL_MB << 20)
        end_round(in, false);
}

/* Shares of the pool of requests (core/protocol/pool.c): who adopts one that a
 * thread has left, and who frees it at the end.
 * CLAIM  A share has one owner at a time, who sees what the one before did; it
 * is freed once, behind the last use of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "machine.h"

enum { THREADS = 3 };
struct wf_pool;
struct wf_p2p;
struct slab;
enum { WF_CACHE_LINE = 64 };
//@ core/os/stack.h: wf_stack_link{next} wf_stack wf_stack_push
//@ core/os/stack.h: wf_stack_take_all
enum state { OWNED, ABANDONED, GONE };
static int freed;
//@ core/protocol/pool.c: wf_share{next free slabs}
struct wf_pool {
    plain<struct wf_share *> shares;
};
struct wf_p2p {
    struct wf_stack_link link;
    struct wf_share *home;
    plain<struct wf_p2p *> next_free;
};
struct wf_share_of { /* what the library frees */
    struct wf_share share;
    plain<int> alive;
};

static struct wf_share *mine_of[THREADS + 1];
#define mine mine_of[rl::thread_index()]

static void free_share(struct wf_share *s)
{
    struct wf_share_of *o = (struct wf_share_of *)s;

    RL_ASSERT(o->alive);
    o->alive = 0;
    s->slabs = NULL; /* memory of somebody else */
    s->free = NULL;
    s->next = NULL;
    freed++;
}
static void free_slabs(struct wf_share *s) { s->slabs = NULL; }
#define free(s) free_share(s)
//@ core/protocol/pool.c: abandon_share adopt_share fetch_returned wf_pool_give
//@ core/protocol/pool.c: wf_pool_fini
#undef free

/* Threads 0 and 1: the first takes the share, ends, and the second may adopt
 * it; thread 2 gives back a request of the share, and ends the pool. */
struct shares_hold : rl::test_suite<shares_hold, THREADS> {
    struct wf_pool pool;
    struct wf_share_of share;
    struct wf_p2p requests[3];
    atom<int> used;

    void before()
    {
        for (int i = 0; i <= THREADS; i++)
            mine_of[i] = NULL;
        freed = 0;
        share.alive = 1;
        share.share.pool = &pool;
        pool.shares = &share.share;
        for (int i = 0; i < 3; i++)
            requests[i].home = &share.share;
    }

    void thread(unsigned me)
    {
        if (me == 0) {
            mine = &share.share;
            wf_pool_give(&requests[0]);
            abandon_share(mine);
        } else if (me == 1) {
            wf_pool_give(&requests[1]);
            mine = adopt_share(&pool);
            if (mine) {
                fetch_returned(mine);
                if (mine->free)
                    mine->free = mine->free->next_free;
                used.fetch_add(1, rl::mo_release, $);
                abandon_share(mine);
            } else {
                used.fetch_add(1, rl::mo_release, $);
            }
        } else {
            wf_pool_give(&requests[2]);
            while (used.load(rl::mo_acquire, $) == 0)
                rl::yield(1, $);
            wf_pool_fini(&pool);
        }
    }

    void after() { RL_ASSERT(freed == 1); }
};

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    return !does_hold<shares_hold>();
}

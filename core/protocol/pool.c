/* Shares of the pool of requests: see pool.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "protocol/queues.h"

enum { SLAB = 32 /* requests allocated together */ };
enum state { OWNED, ABANDONED, GONE };

struct slab {
    struct slab *next;
    struct wf_p2p requests[SLAB];
};

struct wf_share {
    struct wf_pool *pool;
    struct wf_share *next; /* in the pool's list */
    struct wf_p2p *free;   /* free requests; only the owner uses the list */
    struct slab *slabs;
    wf_atomic_u32 state; /* enum state */
    _Alignas(WF_CACHE_LINE) struct wf_stack returned;
};

/* The share of this thread, or NULL. */
static _Thread_local struct wf_share *mine WF_TLS_NEAR;
static pthread_key_t key; /* its value is `mine`, for the end of the thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Abandon a share at the end of its thread. The second of thread and pool frees
 * it. */
static void abandon_share(void *share)
{
    struct wf_share *s = share;

    if (wf_exchange_acq_rel(&s->state, ABANDONED) == GONE)
        free(s);
}

static void make_key(void)
{
    if (pthread_key_create(&key, abandon_share) != 0)
        abort(); /* as if there were no thread-local memory at all */
}

static struct wf_share *adopt_share(struct wf_pool *pool)
{
    for (struct wf_share *s = pool->shares; s; s = s->next) {
        uint32_t state = ABANDONED;
        /* pairs with the exchange in abandon_share */
        if (wf_cas_acq_rel(&s->state, &state, OWNED))
            return s;
    }
    return NULL;
}

static struct wf_share *make_share(struct wf_pool *pool)
{
    struct wf_share *s = aligned_alloc(WF_CACHE_LINE, sizeof *s);

    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    s->pool = pool;
    s->next = pool->shares;
    pool->shares = s;
    return s;
}

/* Give this thread a share of the pool: for its first request in this
 * instance. */
static struct wf_share *join_pool(struct wf_pool *pool)
{
    struct wf_share *s = NULL;

    pthread_once(&once, make_key);
    if (mine)
        abandon_share(mine);
    WF_SECTION(pool, pool) {
        s = adopt_share(pool);
        if (!s)
            s = make_share(pool);
    }
    mine = s;
    pthread_setspecific(key, s);
    return s;
}

static inline struct wf_share *share_of_thread(struct wf_pool *pool)
{
    /* another instance may have the address of one that has ended */
    if (wf_likely(mine && mine->pool == pool &&
                  wf_load_relaxed(&mine->state) == OWNED))
        return mine;
    return join_pool(pool);
}

static void add_slab(struct wf_share *s)
{
    struct slab *slab = aligned_alloc(WF_CACHE_LINE, sizeof *slab);

    if (!slab)
        return;
    memset(slab, 0, sizeof *slab);
    slab->next = s->slabs;
    s->slabs = slab;
    for (int i = SLAB; i-- > 0;) {
        slab->requests[i].home = s;
        slab->requests[i].next_free = s->free;
        s->free = &slab->requests[i];
    }
}

static void fetch_returned(struct wf_share *s)
{
    struct wf_stack_link *next, *l = wf_stack_take_all(&s->returned);

    for (; l; l = next) {
        struct wf_p2p *p = wf_container(l, struct wf_p2p, link);
        next = l->next;
        WF_ASSERT(p->home == s && p->req.object.kind != WF_KIND_REQUEST);
        p->next_free = s->free;
        s->free = p;
    }
}

static void refill_share(struct wf_share *s)
{
    WF_ASSERT(s == mine && !s->free);
    fetch_returned(s);
    if (!s->free)
        add_slab(s);
}

void wf_pool_prepare(struct wf_pool *pool)
{
    struct wf_share *s = share_of_thread(pool);

    if (wf_unlikely(s && !s->free))
        refill_share(s);
}

struct wf_p2p *wf_pool_take(struct wf_pool *pool)
{
    struct wf_share *s = share_of_thread(pool);
    struct wf_p2p *p;

    if (wf_unlikely(s && !s->free))
        refill_share(s);
    p = s ? s->free : NULL;
    if (wf_likely(p != NULL))
        s->free = p->next_free;
    WF_ASSERT(!p || p->home == s);
    return p;
}

void wf_pool_give(struct wf_p2p *p)
{
    struct wf_share *home = p->home;

    WF_ASSERT(home && wf_load_relaxed(&home->state) != GONE);
    if (home != mine) {
        wf_stack_push(&home->returned, &p->link);
        return;
    }
    p->next_free = home->free;
    home->free = p;
}

static void free_slabs(struct wf_share *s)
{
    for (struct slab *next, *slab = s->slabs; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
}

WF_COLD void wf_pool_fini(struct wf_pool *pool)
{
    for (struct wf_share *next, *s = pool->shares; s; s = next) {
        next = s->next;
        free_slabs(s);
        if (wf_exchange_acq_rel(&s->state, GONE) == ABANDONED)
            free(s); /* pairs with the exchange in abandon_share */
    }
    pool->shares = NULL;
}

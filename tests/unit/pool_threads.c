/* Requests made by one thread and ended by another go home, what a thread that
 * ended leaves is used by the next, and pool and threads may end in either
 * order (core/protocol/pool.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "protocol/pool.c"

enum { THREADS = 4, ROUNDS = 20000, SLOTS = 64, GENERATIONS = 50 };

static struct wf_pool pool;
static _Atomic(struct wf_p2p *) slots[SLOTS]; /* from any to any */
static wf_atomic_u32 round_of_all;

static int share_count(void)
{
    int n = 0;

    for (struct wf_share *s = pool.shares; s; s = s->next)
        n++;
    return n;
}

static int slab_count(void)
{
    int n = 0;

    for (struct wf_share *s = pool.shares; s; s = s->next)
        for (struct slab *slab = s->slabs; slab; slab = slab->next)
            n++;
    return n;
}

/* In use: tag is 1. Plain accesses: whoever has the request has it alone. */
static struct wf_p2p *begin_case(void)
{
    struct wf_p2p *p = wf_pool_take(&pool);

    assert_non_null(p);
    assert_int_equal(p->tag, 0);
    p->tag = 1;
    return p;
}

static void end_case(struct wf_p2p *p)
{
    assert_int_equal(p->tag, 1);
    p->tag = 0;
    wf_pool_give(p);
}

static void *swap_requests(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t at = wf_add_acq_rel(&round_of_all, 1);
        struct wf_p2p *p =
            wf_exchange_acq_rel(&slots[at % SLOTS], begin_case());
        if (p)
            end_case(p);
    }
    return NULL;
}

static void run_threads(int n)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < n; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, swap_requests, NULL), 0);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void empty_slots(void)
{
    for (int i = 0; i < SLOTS; i++) {
        struct wf_p2p *p = wf_exchange_acq_rel(&slots[i], NULL);
        if (p)
            end_case(p);
    }
}

static void requests_freed_by_other_threads_come_back(void **state)
{
    run_threads(THREADS);
    empty_slots();
    assert_in_range(share_count(), 1, THREADS);
    /* what is in use at a time, and what is on its way home */
    assert_in_range(slab_count(), 1, 64 * THREADS);
    wf_pool_fini(&pool);
}

static void *one_request(void *arg)
{
    end_case(begin_case());
    return NULL;
}

static void threads_come_and_go(void **state)
{
    pthread_t thread;

    for (int i = 0; i < GENERATIONS; i++) {
        assert_int_equal(pthread_create(&thread, NULL, one_request, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(share_count(), 1);
    assert_int_equal(slab_count(), 1);
    wf_pool_fini(&pool);
}

static void a_thread_survives_its_pool(void **state)
{
    struct wf_share *first;

    end_case(begin_case());
    first = mine;
    wf_pool_fini(&pool);
    assert_ptr_equal(mine, first);
    assert_int_equal(wf_load_relaxed(&first->state), GONE);
    end_case(begin_case()); /* another instance at the same place */
    assert_int_equal(wf_load_relaxed(&mine->state), OWNED);
    assert_int_equal(share_count(), 1);
    wf_pool_fini(&pool);
}

static void a_prepared_pool_has_free_requests(void **state)
{
    wf_pool_prepare(&pool);
    assert_non_null(mine->free);
    wf_pool_prepare(&pool);
    assert_int_equal(slab_count(), 1);
    wf_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_freed_by_other_threads_come_back),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(a_thread_survives_its_pool),
        cmocka_unit_test(a_prepared_pool_has_free_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

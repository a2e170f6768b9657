/* This program measures the primitives of one-sided communication on memory
 * that is mapped, in one process without contention: the limit of what
 * MPI_Win_lock, MPI_Put and MPI_Accumulate can take within a node.
 *
 *   rma_words [MS]     how long one result may take
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench.h"

#include "datatype/op.h"
#include "datatype/predefined.h"
#include "rma/atomic.h"
#include "rma/direct.h"
#include "rma/lock_word.h"

enum { MEMBERS = 64, ROUNDS = 2000, LARGE = 1 << 20, SUM = 64 << 10 };

struct rig {
    struct wf_rma_lock all, target;
    struct wf_rma_domain domain;
    char *window, *origin, *result;
    struct wf_type *type;
    uint64_t count;
};

static int wait_never(void *arg, const wf_atomic_u32 *word, uint32_t value,
                      uint32_t on)
{
    abort();
}

static void wake_nobody(void *arg, uint32_t member)
{
    abort();
}

static bool is_never_dead(void *arg, uint32_t member)
{
    return false;
}

static const struct wf_rma_waiting waiting = {wait_never, wake_nobody, NULL};

typedef void operation(struct rig *);

static void add_raw(struct rig *r)
{
    (void)wf_add_acq_rel((wf_atomic_u64 *)(void *)r->window, 1);
}

static void lock_exclusive(struct rig *r)
{
    (void)wf_rma_lock(&r->all, &r->target, true, false);
    wf_rma_unlock(&r->all, &r->target, true);
}

static void lock_shared(struct rig *r)
{
    (void)wf_rma_lock(&r->all, &r->target, false, false);
    wf_rma_unlock(&r->all, &r->target, false);
}

static void lock_word(struct rig *r)
{
    (void)wf_lock_word_enter(&r->target, WF_HOLD_EXCLUSIVE);
    wf_lock_word_leave(&r->target, WF_HOLD_EXCLUSIVE);
}

static void lock_all(struct rig *r)
{
    (void)wf_rma_lock_all(&r->all);
    wf_rma_unlock_all(&r->all);
}

static void fetch_and_add(struct rig *r)
{
    (void)wf_rma_fetch_and_op(&r->domain, wf_op_of(MPI_SUM), r->type,
                              r->window, r->origin, r->result);
}

static void compare_and_swap(struct rig *r)
{
    struct wf_rma_swap swap = {r->origin, r->origin, r->result};

    (void)wf_rma_compare_and_swap(&r->domain, r->type, r->window, &swap);
}

static void accumulate_sum(struct rig *r)
{
    struct wf_rma_side target = {r->window, r->type, r->count};
    struct wf_rma_side origin = {r->origin, r->type, r->count};

    (void)wf_rma_accumulate(&r->domain, wf_op_of(MPI_SUM), &target, &origin);
}

static void put_bytes(struct rig *r)
{
    struct wf_rma_side target = {r->window, r->type, r->count};
    struct wf_rma_side origin = {r->origin, r->type, r->count};

    wf_rma_copy(&target, &origin);
}

static void copy_raw(struct rig *r)
{
    memcpy(r->window, r->origin, r->count);
    __asm__ volatile("" ::: "memory");
}

/* Print ns per operation, in batches of so many. */
static void measure_operation(struct rig *r, const char *name, long row,
                              operation *run, double limit_us)
{
    static double v[BATCHES];
    double begin = now_us();
    long each = row > 4096 ? 4 : ROUNDS;
    int n = 0;

    while (n < BATCHES && (n < 3 || now_us() - begin < limit_us)) {
        double t = now_us();

        for (long i = 0; i < each; i++)
            run(r);
        v[n++] = (now_us() - t) * 1e3 / (double)each;
    }
    print_times(name, row, v, n);
}

static void set_type(struct rig *r, MPI_Datatype type, uint64_t count)
{
    r->type = wf_type_of(type);
    r->count = count;
}

static void measure_locks(struct rig *r, struct wf_rma_header *h, double us)
{
    for (uint32_t members = 2; members <= MEMBERS; members *= 2) {
        memset(h, 0, wf_rma_header_bytes(MEMBERS));
        wf_rma_header_init(h, members);
        r->all = wf_rma_lock_of_all(h, members - 1, &waiting);
        r->target = wf_rma_lock_of(h, members - 1, &waiting);
        measure_operation(r, "lock_word", members, lock_word, us);
        measure_operation(r, "lock_exclusive", members, lock_exclusive, us);
        measure_operation(r, "lock_shared", members, lock_shared, us);
        measure_operation(r, "lock_all", members, lock_all, us);
    }
}

static void measure_data(struct rig *r, double us)
{
    measure_operation(r, "raw_fetch_add", 8, add_raw, us);
    set_type(r, MPI_INT64_T, 1);
    measure_operation(r, "fetch_and_op_int64", 8, fetch_and_add, us);
    measure_operation(r, "compare_and_swap", 8, compare_and_swap, us);
    measure_operation(r, "accumulate_int64", 8, accumulate_sum, us);
    set_type(r, MPI_DOUBLE, 1);
    measure_operation(r, "fetch_and_op_double", 8, fetch_and_add, us);
    measure_operation(r, "accumulate_double", 8, accumulate_sum, us);
    set_type(r, MPI_DOUBLE, SUM / 8);
    measure_operation(r, "accumulate_double", SUM, accumulate_sum, us);
    set_type(r, MPI_INT64_T, SUM / 8);
    measure_operation(r, "accumulate_int64", SUM, accumulate_sum, us);
    r->domain.bulk = true;
    measure_operation(r, "accumulate_int64_bulk", SUM, accumulate_sum, us);
    for (long n = 8; n <= LARGE; n *= LARGE / 8) {
        set_type(r, MPI_BYTE, (uint64_t)n);
        measure_operation(r, "put", n, put_bytes, us);
        measure_operation(r, "memcpy", n, copy_raw, us);
    }
}

int main(int argc, char **argv)
{
    double us = (argc > 1 ? atof(argv[1]) : 50) * 1e3;
    struct wf_rma_header *h =
        (void *)allocate_buffer(wf_rma_header_bytes(MEMBERS));
    struct rig r = {.window = allocate_buffer(LARGE),
                    .origin = allocate_buffer(LARGE),
                    .result = allocate_buffer(LARGE)};

    bind_rank(0);
    memset(r.window, 0, LARGE);
    memset(r.origin, 0, LARGE);
    measure_locks(&r, h, us);
    r.domain = (struct wf_rma_domain){.base = (uintptr_t)r.window,
                                      .stripes = h->stripes,
                                      .me = 1,
                                      .is_dead = is_never_dead};
    measure_data(&r, us);
    free(r.result);
    free(r.origin);
    free(r.window);
    free(h);
    return 0;
}

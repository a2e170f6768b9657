/* Scans of many members: rank 0 reads the operands of all, and puts the sum of
 * each member where that member's operand was.
 *
 * DESIGN  A chain of lines is a wait of each rank for the one below, and
 * messages are log2(n) of them; where ranks share CPUs each wait is a turn of
 * the run queue. Here a member waits once, and each line is read and written
 * once. Sums have the brackets of the schedule, distance doubling (scan.c): a
 * round is one operation on the vectors of all ranks together. An exclusive
 * scan brackets otherwise than an inclusive one, so it has vectors of its own.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/scan_by_leader.h"

#include <stdlib.h>

#include "coll/shm/by_leader.h"
#include "coll/shm/fold.h"
#include "object/error.h"

/* Vectors of all ranks, one behind the other. */
struct rounds {
    struct wf_shmcoll *t;
    const struct wf_coll_args *a;
    uint64_t bytes; /* of the vector of one rank */
    char *total;    /* of the rank and of ranks below it */
    char *lower;    /* total before the round, for the ranks above */
    char *below;    /* of ranks below it alone; NULL: not wanted */
};

/* Computes `upper` = `lower` op `upper`, for the vectors of n ranks. */
static int combine_vectors(const struct rounds *x, char *upper, int n)
{
    return wf_shmcoll_apply_op(x->a, x->lower, upper,
                               (uint64_t)n * x->a->rcount);
}

/* Adds what ranks have to those that are `distance` above them. */
static int run_round(const struct rounds *x, int distance)
{
    int n = x->t->size - distance, rc = MPI_SUCCESS;
    uint64_t up = (uint64_t)distance * x->bytes;

    memcpy(x->lower, x->total, (uint64_t)n * x->bytes);
    if (x->below && distance == 1)
        memcpy(x->below + up, x->lower, (uint64_t)n * x->bytes);
    else if (x->below)
        rc = combine_vectors(x, x->below + up, n);
    return rc ? rc : combine_vectors(x, x->total + up, n);
}

static int compute_sums(const struct rounds *x)
{
    int rc = MPI_SUCCESS;

    for (int r = 0; r < x->t->size; r++)
        memcpy(x->total + (uint64_t)r * x->bytes,
               wf_shmcoll_data_of(x->t, r, x->bytes), x->bytes);
    for (int d = 1; !rc && d < x->t->size; d *= 2)
        rc = run_round(x, d);
    return rc;
}

static void hand_out_sums(const struct rounds *x)
{
    const char *sums = x->below ? x->below : x->total;

    for (int r = 1; r < x->t->size; r++)
        memcpy(wf_shmcoll_data_of(x->t, r, x->bytes),
               sums + (uint64_t)r * x->bytes, x->bytes);
}

static int answer_scan(struct wf_shmcoll *t, const struct wf_coll_args *a,
                       bool exclusive)
{
    struct rounds x = {.t = t,
                       .a = a,
                       .bytes =
                           wf_coll_block_bytes(wf_shmcoll_received_vector(a))};
    size_t all = (size_t)t->size * x.bytes;
    int rc = wf_shmcoll_check_all_lengths(t, x.bytes);
    char *memory = rc ? NULL : malloc((exclusive ? 3 : 2) * all);

    if (!memory)
        return rc ? rc : wf_error(MPI_ERR_NO_MEM, "out of memory for a scan");
    x.total = memory;
    x.lower = memory + all;
    x.below = exclusive ? memory + 2 * all : NULL;
    rc = compute_sums(&x);
    if (!rc)
        hand_out_sums(&x);
    free(memory);
    return rc;
}

/* Takes the sum from where the own operand was. */
static int take_sum(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t bytes = wf_coll_block_bytes(wf_shmcoll_received_vector(a));

    memcpy(wf_type_data(a->rtype, a->rbuf),
           wf_shmcoll_data_of(t, t->rank, bytes), bytes);
    return MPI_SUCCESS;
}

/* The sum of rank 0 is its operand. */
static int answer_inclusive(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    int rc = answer_scan(t, a, false);

    return rc ? rc : take_sum(t, a);
}

static int answer_exclusive(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    return answer_scan(t, a, true);
}

int wf_shmcoll_scan_by_leader(wf_coll_builder *builder,
                              const struct wf_coll_args *a, bool exclusive)
{
    static const struct wf_shmcoll_led inclusive_scan = {answer_inclusive,
                                                         take_sum};
    static const struct wf_shmcoll_led exclusive_scan = {answer_exclusive,
                                                         take_sum};

    return wf_shmcoll_run_by_leader(
        builder, a, wf_shmcoll_own_block(a, a->rcount),
        exclusive ? &exclusive_scan : &inclusive_scan);
}

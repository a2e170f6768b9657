/* One call of a collective: what each rank holds, what it must hold after it,
 * and running it in one of the three forms.
 *
 * The whole of every receive buffer is compared, with the holes of its type.
 *
 * Included by coll_checks.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_COLL_CASE_H
#define WF_TEST_COLL_CASE_H

#include "coll_world.h"
#include "core_api.h"

enum mode { NONBLOCKING, BLOCKING, PERSISTENT };
enum { MARGIN = 64, FILL = 0x5a };

/* The case that is run; the functions below read it. */
static struct {
    int root; /* process number; inter: in the left group */
    uint64_t count;
    struct wf_type *type, *other; /* of the receive and of the send side */
    struct wf_op *op;
    bool in_place;
} cs;

struct memory {
    char *all, *at;
    size_t size;
};

static struct memory sb[MAX_RANKS], rb[MAX_RANKS], ex[MAX_RANKS];
static int counts[MAX_RANKS][MAX_RANKS], displs[MAX_RANKS][MAX_RANKS];
static int scounts[MAX_RANKS][MAX_RANKS], sdispls[MAX_RANKS][MAX_RANKS];
static MPI_Datatype rtypes[MAX_RANKS], stypes[MAX_RANKS];

/* ---- memory and values --------------------------------------------------- */

static struct memory memory_new(uint64_t elements)
{
    struct memory m;

    m.size = elements * 24 + 2 * MARGIN;
    m.all = malloc(m.size);
    m.at = m.all + MARGIN;
    memset(m.all, FILL, m.size);
    return m;
}

static void set_value(int process, uint64_t i, uint32_t v[2])
{
    v[0] = ((uint32_t)process * 7919u + (uint32_t)i * 31u) * 2 + 1;
    v[1] = (uint32_t)process * 104729u + (uint32_t)i * 17u + 5;
}

static void put_value(struct memory *m, const struct wf_type *t, uint64_t i,
                      const uint32_t v[2])
{
    memcpy(piece_at(t, m->at, 2 * i), &v[0], 4);
    memcpy(piece_at(t, m->at, 2 * i + 1), &v[1], 4);
}

/* n elements of process `from`, its k-th on, to position i. */
static void put_values(struct memory *m, const struct wf_type *t, uint64_t i,
                       int from, uint64_t k, uint64_t n)
{
    uint32_t v[2];

    for (uint64_t j = 0; j < n; j++) {
        set_value(from, k + j, v);
        put_value(m, t, i + j, v);
    }
}

/* The same of the reduction over processes [first, first + n). */
static void put_reduced(struct memory *m, uint64_t i, int first, int n,
                        uint64_t k, uint64_t elements)
{
    for (uint64_t j = 0; j < elements; j++) {
        uint32_t acc[2], lower[2];
        set_value(first + n - 1, k + j, acc);
        for (int p = first + n - 2; p >= first; p--) {
            set_value(p, k + j, lower);
            combine_pair(cs.op, lower, acc);
        }
        put_value(m, cs.type, i + j, acc);
    }
}

static void allocate_buffers(uint64_t send, uint64_t receive)
{
    for (int r = 0; r < world_size; r++) {
        sb[r] = memory_new(send);
        rb[r] = memory_new(receive);
        ex[r] = memory_new(receive);
    }
}

/* Process r's input: elements 0..n-1 in its send buffer or, in place, at
 * position i of the receive buffer (and then expected to stay, until the test
 * writes something else there). */
static void set_input(int r, uint64_t n, uint64_t i, bool in_place)
{
    if (!in_place) {
        put_values(&sb[r], cs.other, 0, r, 0, n);
        return;
    }
    put_values(&rb[r], cs.type, i, r, 0, n);
    put_values(&ex[r], cs.type, i, r, 0, n);
}

static bool is_inter(void)
{
    return world_left > 0;
}

static int group_first(int r)
{
    return is_inter() && r >= world_left ? world_left : 0;
}

static int group_size(int r)
{
    return comms[r].size;
}

static int peers_first(int r)
{
    return is_inter() && r < world_left ? world_left : 0;
}

static int peers_size(int r)
{
    return comms[r].peers->size;
}

/* The root argument of process r. */
static int root_of(int r)
{
    if (!is_inter() || r >= world_left)
        return cs.root;
    return r == cs.root ? MPI_ROOT : MPI_PROC_NULL;
}

static bool receives_from_root(int r)
{
    return is_inter() ? r >= world_left : r != cs.root;
}

static const void *send_buffer(int r, bool in_place)
{
    return in_place ? MPI_IN_PLACE : sb[r].at;
}

static struct wf_ints ints_of(const int *a)
{
    return (struct wf_ints){a, 4};
}

/* One random case of the given shape, the same for every collective. */
static void choose_case(uint64_t count, bool may_be_in_place)
{
    cs.count = count;
    cs.root = (int)roll_dice((uint32_t)(is_inter() ? world_left : world_size));
    cs.type = roll_dice(2) ? &pair_type : &gap_type;
    cs.other = roll_dice(2) ? &pair_type : &gap_type;
    cs.op = roll_dice(2) ? &sum_op : &compose_op;
    cs.in_place = may_be_in_place && roll_dice(3) == 0;
}

/* ---- running ------------------------------------------------------------- */

typedef int run_fn(int rank, enum mode, MPI_Request *);

#define CALL(r, name, ...)                                                     \
    (mode == BLOCKING    ? wf_mpi_##name(comms[r].wf, __VA_ARGS__, &comms[r])  \
     : mode == PERSISTENT                                                      \
         ? wf_mpi_##name##_init(comms[r].wf, __VA_ARGS__, &comms[r], NULL,     \
                                request)                                       \
         : wf_mpi_i##name(comms[r].wf, __VA_ARGS__, &comms[r], request))

static void shuffle_order(int *order)
{
    for (int i = 0; i < world_size; i++) {
        int j = (int)roll_dice((uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void finish_requests(MPI_Request *requests, bool keep)
{
    world_drain();
    for (int r = 0; r < world_size; r++) {
        struct wf_req *q = wf_req_of(requests[r]);
        if (!q)
            continue;
        assert_true(wf_req_done(q));
        assert_int_equal(q->error, MPI_SUCCESS);
        if (!keep)
            wf_req_release(q);
    }
}

/* Of nothing no form blocks here: a blocking one is over at once and takes no
 * tag, as all of them are in a program, where no rank has another form. */
static void run_once(run_fn *fn)
{
    MPI_Request requests[MAX_RANKS] = {0};
    int order[MAX_RANKS];
    bool last_blocks = roll_dice(2) && cs.count != 0;

    shuffle_order(order);
    for (int i = 0; i < world_size; i++) {
        int r = order[i];
        enum mode mode = last_blocks && i == world_size - 1 ? BLOCKING
                                                            : NONBLOCKING;
        assert_int_equal(fn(r, mode, &requests[r]), MPI_SUCCESS);
        while (roll_dice(3) && world_step())
            ;
    }
    finish_requests(requests, false);
}

static void reset_receive_buffers(struct memory *saved)
{
    for (int r = 0; r < world_size; r++)
        memcpy(rb[r].all, saved[r].all, rb[r].size);
}

static void run_persistent(run_fn *fn)
{
    MPI_Request requests[MAX_RANKS] = {0};
    struct memory saved[MAX_RANKS];
    int order[MAX_RANKS];

    for (int r = 0; r < world_size; r++) {
        assert_int_equal(fn(r, PERSISTENT, &requests[r]), MPI_SUCCESS);
        saved[r] = rb[r];
        saved[r].all = malloc(rb[r].size);
        memcpy(saved[r].all, rb[r].all, rb[r].size);
    }
    for (int round = 0; round < 3; round++) {
        reset_receive_buffers(saved);
        shuffle_order(order);
        for (int i = 0; i < world_size; i++) {
            struct wf_req *q = wf_req_of(requests[order[i]]);
            assert_int_equal(q->start(q), MPI_SUCCESS);
        }
        finish_requests(requests, round < 2);
    }
    for (int r = 0; r < world_size; r++)
        free(saved[r].all);
}

static void compare_buffers(const char *name)
{
    for (int r = 0; r < world_size; r++)
        if (memcmp(rb[r].all, ex[r].all, rb[r].size))
            fail_msg("%s: rank %d of %d (left %d) root %d count %u op %s%s%s",
                     name, r, world_size, world_left, cs.root,
                     (unsigned)cs.count, cs.op == &sum_op ? "sum" : "compose",
                     cs.in_place ? " in place" : "",
                     cs.type == &gap_type ? " with gaps" : "");
    for (int r = 0; r < world_size; r++) {
        free(sb[r].all);
        free(rb[r].all);
        free(ex[r].all);
    }
}

static void run_case(const char *name, run_fn *fn)
{
    if (roll_dice(3) == 0)
        run_persistent(fn);
    else
        run_once(fn);
    compare_buffers(name);
}

#endif

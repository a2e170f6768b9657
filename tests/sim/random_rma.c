/* Random programs of one-sided operations on the simulated fabric, checked
 * against a plain sequential model of the windows.
 *
 *   sim_random_rma [FIRST_SEED [COUNT]]
 *
 *   window | counter | sums | slot of origin 0 | slot of origin 1 | ...
 *
 * Each pair of an origin and a target goes through epochs of MPI_Win_lock. In
 * its slot the origin accumulates, fetches and swaps, in order, or puts and
 * gets pieces that do not overlap. All add to the sums. The holder of an
 * exclusive lock gets the counter, and puts one more.
 *
 * In half of the seeds every pair has two fabrics, and connections are cut,
 * cables break, loudly or in silence, and bytes change: no operation may be
 * lost, or be applied twice.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "rma/epoch.h"
#include "rma/finish.h"
#include "rma/message.h"
#include "rma/operation.h"
#include "sim/window.h"

enum {
    RANKS = 3,
    STEPS = 4000,
    STEPS_LIMIT = 3000000,
    SUMS = 4,
    SLOT = 6000, /* cells of 8 bytes */
    PIECES = 8,
    PIECE = SLOT / 2 / PIECES, /* the second half is for puts and gets */
    CELLS = 1 + SUMS + RANKS * SLOT,
    RESULTS = 64
};

struct result { /* of an operation, and what it must be */
    int64_t *got, *want;
    int n;
};

/* The state of an origin towards a target. */
struct pair {
    enum { IDLE, LOCKED, FLUSHING, UNLOCKING } state;
    bool exclusive;
    int counts; /* 0: not yet; 1: the counter was asked for; 2: it was put */
    int64_t counter;
    bool used[PIECES];
    struct result results[RESULTS];
    int result_count;
};

static struct sim sim;
static unsigned seed_in_use;
static struct wf_win *windows[RANKS];
static int64_t memory[RANKS][CELLS], model[RANKS][CELLS];
static struct pair pairs[RANKS][RANKS];
static MPI_Datatype every_other[RANKS];
static void *buffers[1 << 16];
static int buffer_count;
static long operations, epochs;

static void fail_with(const char *what, int id)
{
    fprintf(stderr, "seed %u: %s (%d)\n", seed_in_use, what, id);
    exit(1);
}

static int64_t *keep_buffer(int n)
{
    int64_t *b = calloc((size_t)n, 8);

    if (buffer_count == sizeof buffers / sizeof *buffers)
        fail_with("too many buffers", buffer_count);
    buffers[buffer_count++] = b;
    return b;
}

/* ---- operations ---------------------------------------------------------- */

static struct wf_type *int64_type(void)
{
    return wf_type_of(MPI_INT64_T);
}

static struct wf_win_peer *peer_of(int origin, int target)
{
    int rc;
    struct wf_win_peer *p = wf_win_reach(windows[origin], target, &rc);

    if (!p)
        fail_with("a target cannot be reached", target);
    return p;
}

static void start_call(int origin, int target, struct wf_rma_call *c)
{
    struct wf_win_peer *p = peer_of(origin, target);

    if (wf_leg_message.start(p, c, NULL) != MPI_SUCCESS)
        fail_with("an operation cannot be started", target);
    operations++;
}

static void expect_result(struct pair *p, int64_t *got, const int64_t *want,
                          int n, int step)
{
    struct result *r = &p->results[p->result_count++];

    r->got = got;
    r->want = malloc((size_t)n * 8);
    r->n = n;
    for (int i = 0; i < n; i++)
        r->want[i] = want[i * step];
}

static void check_results(struct pair *p, int origin)
{
    for (int i = 0; i < p->result_count; i++) {
        struct result *r = &p->results[i];
        if (memcmp(r->got, r->want, (size_t)r->n * 8))
            fail_with("an operation has a wrong result", origin);
        free(r->want);
    }
    p->result_count = 0;
}

static struct wf_rma_call call_of(enum wf_rma_kind kind, int at, int n)
{
    return (struct wf_rma_call){.kind = kind,
                                .target = {NULL, int64_type(), (uint64_t)n},
                                .position = (uint64_t)at * 8,
                                .bytes = (uint64_t)n * 8};
}

static struct wf_rma_side side_of(int64_t *data, int n)
{
    return (struct wf_rma_side){data, int64_type(), (uint64_t)n};
}

static void use_every_other(struct wf_rma_call *c, int origin)
{
    c->target.type = (struct wf_type *)every_other[origin];
    c->target.count = c->bytes / 8;
}

static int64_t combine_values(uint32_t op, int64_t old, int64_t in)
{
    return op == WF_OP_SUM ? old + in : op == WF_OP_REPLACE ? in : old;
}

static void accumulate_random(int origin, int target)
{
    static const uint32_t ops[] = {WF_OP_SUM, WF_OP_REPLACE, WF_OP_NO_OP};
    int at = 1 + SUMS + origin * SLOT + (int)sim_random(&sim, SLOT / 8);
    int n = 1 + (int)sim_random(&sim, sim_random(&sim, 8) ? 20 : SLOT / 6);
    bool fetch = sim_random(&sim, 2), typed = sim_random(&sim, 4) == 0;
    uint32_t op = ops[sim_random(&sim, fetch ? 3 : 2)];
    struct wf_rma_call c = call_of(fetch ? WF_RMA_GET_ACC : WF_RMA_ACC, at, n);
    int64_t *in = keep_buffer(n), *old = keep_buffer(n), *to;

    c.op = op;
    c.basic = int64_type();
    if (op != WF_OP_NO_OP)
        c.origin = side_of(in, n);
    if (fetch)
        c.result = side_of(old, n);
    if (typed)
        use_every_other(&c, origin);
    to = &model[target][at];
    if (fetch)
        expect_result(&pairs[origin][target], old, to, n, typed ? 2 : 1);
    for (int i = 0; i < n; i++) {
        int64_t *cell = &to[i * (typed ? 2 : 1)];
        in[i] = (int64_t)sim_random(&sim, 1000);
        *cell = combine_values(op, *cell, in[i]);
    }
    start_call(origin, target, &c);
}

static void swap_random(int origin, int target)
{
    int at = 1 + SUMS + origin * SLOT + (int)sim_random(&sim, 8);
    struct wf_rma_call c = call_of(WF_RMA_CAS, at, 1);
    int64_t *words = keep_buffer(3), *cell = &model[target][at];

    words[0] = (int64_t)sim_random(&sim, 1000);
    words[1] = sim_random(&sim, 2) ? *cell : *cell + 1;
    c.origin = side_of(&words[0], 1);
    c.compare = &words[1];
    c.result = side_of(&words[2], 1);
    expect_result(&pairs[origin][target], &words[2], cell, 1, 1);
    if (*cell == words[1])
        *cell = words[0];
    start_call(origin, target, &c);
}

static void move_random(int origin, int target)
{
    struct pair *p = &pairs[origin][target];
    int piece = (int)sim_random(&sim, PIECES);
    int at = 1 + SUMS + origin * SLOT + SLOT / 2 + piece * PIECE;
    int n = 1 + (int)sim_random(&sim, sim_random(&sim, 3) ? 20 : PIECE);
    bool put = sim_random(&sim, 2);
    struct wf_rma_call c = call_of(put ? WF_RMA_PUT : WF_RMA_GET, at, n);
    int64_t *data = keep_buffer(n);

    if (p->used[piece])
        return;
    p->used[piece] = true;
    if (put)
        c.origin = side_of(data, n);
    else {
        c.result = side_of(data, n);
        expect_result(p, data, &model[target][at], n, 1);
    }
    for (int i = 0; put && i < n; i++)
        model[target][at + i] = data[i] = (int64_t)sim_random(&sim, 1000);
    start_call(origin, target, &c);
}

static void add_shared(int origin, int target)
{
    int at = 1 + (int)sim_random(&sim, SUMS);
    struct wf_rma_call c = call_of(WF_RMA_ACC, at, 1);
    int64_t *in = keep_buffer(1);

    in[0] = (int64_t)sim_random(&sim, 1000);
    model[target][at] += in[0];
    c.op = WF_OP_SUM;
    c.basic = int64_type();
    c.origin = side_of(in, 1);
    start_call(origin, target, &c);
}

/* Gets the counter, or puts one more. */
static void count_up(int origin, int target)
{
    struct pair *p = &pairs[origin][target];
    struct wf_rma_call c =
        call_of(p->counts ? WF_RMA_PUT : WF_RMA_GET, 0, 1);

    if (p->counts) {
        p->counter++;
        model[target][0]++;
        c.origin = side_of(&p->counter, 1);
    } else
        c.result = side_of(&p->counter, 1);
    p->counts++;
    start_call(origin, target, &c);
}

/* ---- epochs -------------------------------------------------------------- */

static void ask_target(int origin, int target, bool release)
{
    if (wf_leg_message.ask(peer_of(origin, target), release) != MPI_SUCCESS)
        fail_with("a flush cannot be started", target);
    pairs[origin][target].state = release ? UNLOCKING : FLUSHING;
}

static void want_lock(int origin, int target)
{
    struct pair *p = &pairs[origin][target];

    p->exclusive = sim_random(&sim, 3) == 0;
    p->counts = 0;
    p->state = LOCKED;
    wf_epoch_want_lock(peer_of(origin, target),
                       p->exclusive ? WF_LOCK_EXCLUSIVE : WF_LOCK_SHARED,
                       false);
}

static void operate_random(int origin, int target)
{
    struct pair *p = &pairs[origin][target];

    switch (sim_random(&sim, 8)) {
    case 0:
        ask_target(origin, target, false);
        break;
    case 1: /* once the counter was read it is written */
        if (p->counts == 1)
            ask_target(origin, target, false);
        else
            ask_target(origin, target, true);
        break;
    case 2:
        if (p->exclusive && p->counts == 0)
            count_up(origin, target);
        break;
    case 3:
        move_random(origin, target);
        break;
    case 4:
        add_shared(origin, target);
        break;
    case 5:
        swap_random(origin, target);
        break;
    default:
        if (p->result_count < RESULTS - 4)
            accumulate_random(origin, target);
    }
    if (p->result_count >= RESULTS - 4 && p->state == LOCKED)
        ask_target(origin, target, false);
}

static void end_flush(int origin, int target)
{
    struct pair *p = &pairs[origin][target];
    struct wf_win_peer *peer = peer_of(origin, target);

    if (!wf_win_peer_is_remote(peer))
        return;
    if (peer->error)
        fail_with("an operation failed", peer->error);
    check_results(p, origin);
    memset(p->used, 0, sizeof p->used);
    if (p->state == UNLOCKING) {
        epochs++;
        p->state = IDLE;
        peer->lock_state = WF_LOCK_OPEN;
        wf_rma_mark_clean(peer);
        return;
    }
    p->state = LOCKED;
    if (p->counts == 1)
        count_up(origin, target);
}

static void advance_pair(int origin, int target, bool begin)
{
    switch (pairs[origin][target].state) {
    case IDLE:
        if (begin)
            want_lock(origin, target);
        break;
    case LOCKED:
        operate_random(origin, target);
        break;
    default:
        end_flush(origin, target);
    }
}

/* ---- the program --------------------------------------------------------- */

static bool is_idle(void)
{
    for (int i = 0; i < RANKS * RANKS; i++)
        if (pairs[i / RANKS][i % RANKS].state != IDLE)
            return false;
    return true;
}

static void advance_random(bool begin)
{
    advance_pair((int)sim_random(&sim, RANKS), (int)sim_random(&sim, RANKS),
                 begin);
}

static void end_epochs(void)
{
    for (int steps = 0; !is_idle(); steps++) {
        if (steps == STEPS_LIMIT)
            fail_with("an epoch does not end", steps);
        sim_step(&sim);
        advance_random(false);
    }
    while (sim_step(&sim))
        ;
}

static void make_windows(void)
{
    void *bases[RANKS];

    for (int i = 0; i < RANKS; i++)
        bases[i] = memory[i];
    for (int i = 0; i < RANKS; i++) {
        windows[i] =
            sim_make_window(sim.ranks[i], bases, RANKS, sizeof memory[i]);
        wf_mpi_type_create_resized(sim.ranks[i], int64_type(), 0, 16,
                                   &every_other[i]);
        wf_mpi_type_commit(sim.ranks[i], &every_other[i]);
    }
}

static void free_windows(void)
{
    for (int i = 0; i < RANKS; i++) {
        wf_mpi_type_free(sim.ranks[i], &every_other[i]);
        sim_free_window(windows[i]);
    }
}

static void run_case(unsigned seed, const struct sim_options *variant)
{
    struct sim_options o = *variant;

    seed_in_use = o.seed = seed;
    o.ranks = RANKS;
    memset(memory, 0, sizeof memory);
    memset(model, 0, sizeof model);
    memset(pairs, 0, sizeof pairs);
    sim_start(&sim, &o);
    make_windows();
    for (int i = 0; i < STEPS; i++)
        if (sim_random(&sim, 3) == 0)
            advance_random(true);
        else if (o.failover && sim_random(&sim, 60) == 0)
            sim_trouble(&sim);
        else
            sim_step(&sim);
    if (o.failover)
        sim_heal(&sim);
    end_epochs();
    if (memcmp(memory, model, sizeof memory))
        fail_with("a window is not as the model says", 0);
    free_windows();
    sim_stop(&sim);
    while (buffer_count)
        free(buffers[--buffer_count]);
}

int main(int argc, char **argv)
{
    static const struct sim_options variants[] = {
        {.max_short = 300, .max_payload = 65536},
        {.failover = true, .max_short = 64},
        {.config = "eager = 0", .max_short = 64, .max_payload = 65536},
        {.failover = true, .config = "eager = 0", .max_short = 300,
         .max_payload = 65536},
        {.max_short = 64, .get = true},
        {.failover = true, .max_short = 1000, .corrupt = true},
        {.config = "eager = 100", .get = true, .keys = true},
        {.failover = true, .max_short = 64, .streams = true, .corrupt = true},
        {.config = "credits = 4K", .max_short = 1000},
        {.failover = true, .stripe = true, .config = "eager = 100"},
    };
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 400;

    for (unsigned seed = first; seed < first + count; seed++)
        run_case(seed, &variants[seed % (sizeof variants / sizeof *variants)]);
    printf("%u random programs of %ld operations in %ld epochs agree with the "
           "model (seeds %u to %u)\n",
           count, operations, epochs, first, first + count - 1);
    printf("pairs moved %llu times, resent %llu, dropped %llu doubles and %llu "
           "damaged\n",
           (unsigned long long)sim_counts.moves,
           (unsigned long long)sim_counts.resent,
           (unsigned long long)sim_counts.duplicates,
           (unsigned long long)sim_counts.damaged);
    if (count >= 40 && (!sim_counts.moves || !sim_counts.duplicates ||
                        !sim_counts.damaged)) {
        fprintf(stderr, "nothing broke: the fabrics are too kind\n");
        return 1;
    }
    return 0;
}

/* Every algorithm of every collective, on every number of ranks, in one
 * process: the schedules of all ranks are built, matched and carried out in a
 * random order of steps and messages, and every byte of every receive buffer
 * is compared with plain loops.
 *
 * A message leaves the sender's memory either when it is sent or only when it
 * is delivered, as the dice decide: an algorithm that reuses memory too early
 * delivers wrong data for some seed. Operations that are left at the end are a
 * deadlock; a message without its other half is found before anything runs.
 *
 *   sim_schedules                 1..64 ranks, and some up to 4096 where the
 *                                 number of steps grows slowly
 *   sim_schedules FROM TO [SEED]  these numbers of ranks, all algorithms
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/lengths.h"
#include "coll/run.h"
#include "schedules_call.h"

enum { QUICK_RANKS = 64 };

/* ---- carrying out -------------------------------------------------------- */

/* A step: vertex number, or message number + all vertices: to be delivered. */
struct run {
    struct plan *p;
    const struct call *c;
    int *missing; /* releases of each vertex */
    char *halves; /* of each message that have started */
    char **eager; /* bytes of a message taken when it was sent */
    int *ready, n, done, all;
};

static void put_data(struct run *x, int step)
{
    x->ready[x->n++] = step;
}

static void release_object(struct run *x, int number)
{
    if (--x->missing[number] == 0)
        put_data(x, number);
}

static void finish_case(struct run *x, int rank, int number)
{
    const struct wf_sched *s = x->p->scheds[rank];
    const struct wf_vertex *v = &s->v[number - x->p->base[rank]];

    x->done++;
    for (int e = v->out; e >= 0; e = s->e[e].next)
        release_object(x, x->p->base[rank] + s->e[e].to);
}

static uint64_t bytes_of(const struct wf_vertex *v)
{
    return v->count * (uint64_t)v->type->size;
}

static void begin_message(struct run *x, int rank, int number,
                          const struct wf_vertex *v)
{
    int m = x->p->message_of[number];

    if (v->follower >= 0)
        release_object(x, x->p->base[rank] + v->follower);
    if (v->kind == WF_VERTEX_SEND && roll_dice(2)) {
        x->eager[m] = malloc(bytes_of(v) + 1);
        if (bytes_of(v))
            memcpy(x->eager[m], v->src, bytes_of(v));
        finish_case(x, rank, number);
    }
    if (++x->halves[m] == 2)
        put_data(x, x->all + m);
}

static void deliver_message(struct run *x, int m)
{
    const struct plan_message *msg = &x->p->message[m];
    const struct wf_vertex *from = plan_vertex(x->p, msg->from, msg->send);
    const struct wf_vertex *to = plan_vertex(x->p, msg->to, msg->recv);
    bool kept = x->eager[m] != NULL;

    if (bytes_of(to))
        memcpy(to->src, kept ? x->eager[m] : from->src, bytes_of(to));
    free(x->eager[m]);
    x->eager[m] = NULL;
    if (!kept)
        finish_case(x, msg->from, msg->send);
    finish_case(x, msg->to, msg->recv);
}

static void perform_step(struct run *x, int number)
{
    int rank = plan_rank(x->p, number);
    const struct wf_vertex *v = plan_vertex(x->p, rank, number);

    switch (v->kind) {
    case WF_VERTEX_SEND:
    case WF_VERTEX_RECV:
        begin_message(x, rank, number, v);
        return;
    case WF_VERTEX_REDUCE:
        apply_op(v->op, v->src, v->dst, v->count);
        break;
    case WF_VERTEX_COPY:
        wf_sched_copy_now((struct wf_sched_block){v->src, v->count, v->type},
                          (struct wf_sched_block){v->dst, v->dcount, v->dtype});
        break;
    case WF_VERTEX_CALL:
        v->fn(v->dst);
        break;
    default:
        break;
    }
    finish_case(x, rank, number);
}

static bool run_steps(struct run *x)
{
    for (int r = 0; r < x->p->ranks; r++)
        for (int i = x->p->base[r]; i < x->p->base[r + 1]; i++)
            if ((x->missing[i] = plan_vertex(x->p, r, i)->need) == 0)
                put_data(x, i);
    while (x->n > 0) {
        int k = (int)roll_dice((uint32_t)x->n), step = x->ready[k];
        x->ready[k] = x->ready[--x->n];
        if (step < x->all)
            perform_step(x, step);
        else
            deliver_message(x, step - x->all);
    }
    return x->done == x->all;
}

static bool carry_out(struct plan *p, const struct call *c)
{
    struct run x = {.p = p, .c = c, .all = p->base[p->ranks]};
    size_t n = (size_t)x.all + 1, m = (size_t)p->messages + 1;
    bool good;

    x.missing = calloc(n, sizeof *x.missing);
    x.ready = calloc(n + m, sizeof *x.ready);
    x.halves = calloc(m, 1);
    x.eager = calloc(m, sizeof *x.eager);
    good = x.missing && x.ready && x.halves && x.eager && run_steps(&x);
    if (!good)
        snprintf(p->error, sizeof p->error, "%d of %d steps are left",
                 x.all - x.done, x.all);
    for (size_t i = 0; x.eager && i < m; i++)
        free(x.eager[i]);
    free(x.missing);
    free(x.ready);
    free(x.halves);
    free(x.eager);
    return good;
}

/* ---- every algorithm ----------------------------------------------------- */

static wf_coll_builder *builder_of(const struct call *c)
{
    static wf_coll_builder *const builders[WF_COLL_KINDS] = {
        [WF_COLL_ALLGATHER] = wf_build_allgather,
        [WF_COLL_ALLREDUCE] = wf_build_allreduce,
        [WF_COLL_ALLTOALL] = wf_build_alltoall,
        [WF_COLL_BARRIER] = wf_build_barrier,
        [WF_COLL_BCAST] = wf_build_bcast,
        [WF_COLL_GATHER] = wf_build_gather,
        [WF_COLL_REDUCE] = wf_build_reduce,
        [WF_COLL_REDUCE_SCATTER] = wf_build_reduce_scatter_block,
        [WF_COLL_SCAN] = wf_build_scan,
        [WF_COLL_SCATTER] = wf_build_scatter};

    return c->exclusive ? wf_build_exscan : builders[c->kind];
}

static bool compare_items(struct plan *p, const struct call *c)
{
    for (int r = 0; r < c->p; r++)
        if ((c->kind != WF_COLL_REDUCE || r == c->root) &&
            !(c->exclusive && r == 0) &&
            !(c->kind == WF_COLL_GATHER && r != c->root) &&
            memcmp(part_of(c, c->recv, r), part_of(c, c->want, r),
                   (c->kind == WF_COLL_REDUCE_SCATTER && c->in_place
                        ? 2 * (size_t)c->count
                        : c->room) *
                       sizeof(uint32_t)) != 0) {
            snprintf(p->error, sizeof p->error, "rank %d has other bytes", r);
            return false;
        }
    return true;
}

static bool run_call(struct plan *p, struct call *c)
{
    return call_init(c) && plan_build(p, builder_of(c), set_arguments, c) &&
           plan_match(p) && plan_weigh(p) && carry_out(p, c) &&
           compare_items(p, c);
}

static long calls_made, calls_other; /* with the algorithm, or another one */

static bool check_one(int ranks, int nodes, bool cyclic, struct call *c,
                int algorithm)
{
    const struct wf_coll_rule rule = wf_coll_rule_always(algorithm);
    struct wf_coll_rules rules = {.count = {0}};
    uint64_t seed = dice_state;
    struct plan p;
    bool good;

    rules.of[c->kind] = &rule;
    rules.count[c->kind] = 1;
    good = plan_open(&p, ranks, 0, nodes, &rules);
    for (int i = 0; good && cyclic && i < ranks; i++)
        p.boot.node_of[i] = (uint32_t)(i % nodes);
    c->p = ranks;
    good = good && run_call(&p, c);
    if (good)
        ++*(p.scheds[0]->algorithm == algorithm ? &calls_made : &calls_other);
    else
        fprintf(stderr,
                "%s by %s on %d ranks, %d nodes%s, root %d, count %llu%s%s%s: "
                "%s (state %llu)\n",
                wf_coll_kinds[c->kind].name, wf_coll_algorithms[algorithm].name,
                ranks, nodes, cyclic ? " in turn" : "", c->root,
                (unsigned long long)c->count, c->in_place ? ", in place" : "",
                c->op->commutes ? "" : ", in order",
                c->exclusive ? ", exclusive" : "", p.error,
                (unsigned long long)seed);
    call_fini(c);
    plan_close(&p);
    return good;
}

/* The shapes of one algorithm: few elements and many, in place or not, an
 * operation that commutes or not, nodes of several kinds. */
static bool algorithm_on(int ranks, enum wf_coll_kind kind, int algorithm,
                         int shapes)
{
    uint32_t most = ranks < 200 ? 2 * (uint32_t)ranks + 8 : 8;
    bool good = true;

    for (int k = 0; good && k < shapes; k++) {
        struct call c = {.kind = kind,
                         .exclusive = kind == WF_COLL_SCAN && roll_dice(2),
                         .root = (int)roll_dice((uint32_t)ranks),
                         .count = k == 0 && ranks < 200 ? 1 : roll_dice(most),
                         .op = roll_dice(2) ? &sum_op : &compose_op,
                         .in_place = roll_dice(2)};
        int nodes = 1 + (int)roll_dice((uint32_t)(ranks < 9 ? ranks : 9));

        good = check_one(ranks, nodes, roll_dice(4) == 0, &c, algorithm);
    }
    return good;
}

/* Vectors of more segments than an algorithm keeps memory for. */
static bool long_vectors(int ranks)
{
    static const enum wf_coll_kind kinds[] = {WF_COLL_ALLREDUCE, WF_COLL_BCAST,
                                              WF_COLL_REDUCE, WF_COLL_SCAN};
    bool good = true;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int a = 0; a < WF_ALGORITHMS; a++)
            for (int k = 0; k < 4; k++) {
                struct call c = {.kind = kinds[i],
                                 .exclusive = kinds[i] == WF_COLL_SCAN && k > 1,
                                 .root = (int)roll_dice((uint32_t)ranks),
                                 .count = 60000 + roll_dice(20000),
                                 .op = k & 1 ? &sum_op : &compose_op,
                                 .in_place = roll_dice(2)};
                if (wf_coll_kinds[kinds[i]].algorithms >> a & 1)
                    good &=
                        check_one(ranks, 1 + (int)roll_dice(2), false, &c, a);
            }
    return good;
}

/* Do the steps of all ranks together grow as p log p? */
static bool is_slow(enum wf_coll_kind kind, int algorithm)
{
    bool quadratic = kind == WF_COLL_ALLGATHER || kind == WF_COLL_ALLTOALL ||
                     kind == WF_COLL_REDUCE_SCATTER ||
                     kind == WF_COLL_GATHER || kind == WF_COLL_SCATTER;
    return !quadratic && algorithm != WF_ALG_RING &&
           algorithm != WF_ALG_BLOCKS && algorithm != WF_ALG_SCATTER_ALLGATHER;
}

static bool all_algorithms(int ranks, int shapes, bool only_slow)
{
    bool good = true;

    for (int kind = 0; kind < WF_COLL_KINDS; kind++)
        for (int a = 0; a < WF_ALGORITHMS; a++)
            if ((wf_coll_kinds[kind].algorithms >> a & 1) &&
                (!only_slow || is_slow((enum wf_coll_kind)kind, a)))
                good &= algorithm_on(ranks, (enum wf_coll_kind)kind, a, shapes);
    return good;
}

int main(int argc, char **argv)
{
    static const int many[] = {65, 100, 127, 128, 255, 256};
    static const int most[] = {1000, 4096};
    int from = argc > 2 ? atoi(argv[1]) : 1;
    int to = argc > 2 ? atoi(argv[2]) : QUICK_RANKS;
    bool good = true;

    if (argc == 2 || argc > 4 || from < 1 || to > PLAN_RANKS_MAX)
        return fputs("usage: sim_schedules [FROM TO [SEED]]\n", stderr), 2;
    dice_state = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    for (int n = from; n <= to; n++)
        good &= all_algorithms(n, n <= 17 ? 6 : argc > 2 ? 4 : 1, false);
    for (size_t i = 0; argc < 3 && i < sizeof many / sizeof many[0]; i++)
        good &= all_algorithms(many[i], 1, false);
    for (size_t i = 0; argc < 3 && i < sizeof most / sizeof most[0]; i++)
        good &= all_algorithms(most[i], 1, true);
    for (int n = 2; argc < 3 && n <= 6; n++)
        good &= long_vectors(n);
    printf("%ld calls, %ld more that their algorithm cannot do\n", calls_made,
           calls_other);
    return good ? 0 : 1;
}

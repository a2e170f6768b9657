/* A process dies in the middle of random traffic. Nothing that waits for it
 * waits for ever, nothing between the living is lost, and later calls say so at
 * once (W-47: no call blocks for ever). Collectives that are under way end in
 * all survivors, also in those that wait only for each other.
 *
 *   sim_dead_peers [FIRST_SEED [COUNT]]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "coll/args.h"
#include "coll/coll.h"
#include "datatype/predefined.h"
#include "protocol/death.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "route/links.h"
#include "sim/fabric.h"

enum { COLLECTIVES = 6, NUMBERS = 900 };
enum { RANKS = 4, VICTIM = 3, STEPS = 600, OPS = 2 * STEPS, LONGEST = 9000 };

struct op {
    int rank, peer;
    bool is_send;
    struct wf_req *req;
    uint8_t *data;
};

static struct op ops[OPS];
static int op_count;
static struct sim sim;
static unsigned seed_in_use;

static void fail_with(const char *what, int i)
{
    fprintf(stderr, "seed %u: %s (%d)\n", seed_in_use, what, i);
    exit(1);
}

/* Post one half of a message; returns its status. */
static int post_receive(int rank, int peer, bool is_send, int tag,
                        uint32_t bytes)
{
    struct op *o = &ops[op_count];
    struct wf_comm *world = sim.all[rank];
    struct wf_type *byte = wf_type_of(MPI_BYTE);
    int rc;

    *o = (struct op){.rank = rank, .peer = peer, .is_send = is_send};
    o->data = calloc(1, LONGEST);
    rc = is_send ? wf_isend(world, o->data, bytes, byte, peer, tag,
                            WF_SPACE_P2P, WF_SEND_STANDARD, &o->req)
                 : wf_irecv(world, o->data, LONGEST, byte, peer, tag,
                            WF_SPACE_P2P, &o->req);
    if (rc)
        free(o->data);
    else
        op_count++;
    return rc;
}

/* Both halves of a message between two processes, in either order. */
static void exchange_messages(int ranks, int tag)
{
    int from = (int)sim_random(&sim, (unsigned)ranks);
    int to = (int)sim_random(&sim, (unsigned)ranks);
    uint32_t bytes = sim_random(&sim, LONGEST);
    bool send_first = sim_random(&sim, 2);

    for (int half = 0; half < 2; half++) {
        bool send = send_first == (half == 0);
        if (post_receive(send ? from : to, send ? to : from, send, tag, bytes))
            fail_with("a call between the living failed", tag);
    }
}

static void make_traffic(int ranks, int steps, int first_tag)
{
    for (int i = 0; i < steps; i++)
        if (sim_random(&sim, 4) == 0)
            exchange_messages(ranks, first_tag + i);
        else
            sim_step(&sim);
}

static struct weft_loc *find_victim(int rank)
{
    return wf_links_find(sim.ranks[rank]->links,
                         sim_number_of(VICTIM, (uint32_t)rank));
}

static void the_dead_are_refused(void)
{
    for (int rank = 0; rank < VICTIM; rank++) {
        struct weft_loc *loc = find_victim(rank);
        if (!loc || !loc->failed)
            continue; /* never met: nothing to be told */
        if (post_receive(rank, VICTIM, true, 1, 10) != WEFT_EPEER)
            fail_with("a send to the dead did not fail", rank);
        if (post_receive(rank, VICTIM, false, 1, 10) != WEFT_EPEER)
            fail_with("a receive from the dead did not fail", rank);
    }
}

/* A survivor that met the victim is done with it; the rest has succeeded. */
static void check_result(void)
{
    for (int i = 0; i < op_count; i++) {
        struct op *o = &ops[i];
        bool dead = o->rank == VICTIM || o->peer == VICTIM;
        struct weft_loc *loc = find_victim(o->rank);
        if (o->rank == VICTIM || (dead && (!loc || !loc->failed)))
            ; /* the victim's own, or unaware of its death */
        else if (!wf_req_done(o->req))
            fail_with("an operation of a survivor is not done", i);
        else if (!dead && o->req->error)
            fail_with("an operation between the living failed", i);
        if (wf_req_done(o->req))
            wf_wait(&o->req, MPI_STATUS_IGNORE);
        free(o->data);
    }
}

/* ---- collectives --------------------------------------------------------- */

static struct {
    MPI_Request request;
    int32_t data[NUMBERS];
} calls[RANKS][COLLECTIVES];

static int root_of(int call)
{
    return call % RANKS;
}

/* Barriers, and broadcasts of call + 1. */
static void call_one(int rank, int call)
{
    struct wf_coll_args a = {.comm = sim.all[rank],
                             .rbuf = calls[rank][call].data,
                             .rcount = NUMBERS,
                             .rtype = wf_type_of(MPI_INT32_T),
                             .root = root_of(call)};
    int value = rank == a.root ? call + 1 : 0;

    for (int i = 0; i < NUMBERS; i++)
        calls[rank][call].data[i] = value;
    if (wf_coll_start_nonblocking(call % 2 ? wf_build_barrier : wf_build_bcast,
                                  &a, &calls[rank][call].request))
        fail_with("a collective does not start", call);
}

/* Each survivor calls the first so many before the death, the victim none. */
static void call_first(int end[RANKS])
{
    for (int rank = 0; rank < VICTIM; rank++) {
        end[rank] = (int)sim_random(&sim, COLLECTIVES);
        for (int call = 0; call < end[rank]; call++)
            call_one(rank, call);
    }
}

static void call_rest(const int end[RANKS])
{
    for (int rank = 0; rank < VICTIM; rank++)
        for (int call = end[rank]; call < COLLECTIVES; call++)
            call_one(rank, call);
}

/* A survivor's call is over, with the data or with the error. */
static void check_call(int rank, int call)
{
    struct wf_req *r = (struct wf_req *)calls[rank][call].request;
    int rc;

    if (!wf_req_done(r))
        fail_with("a survivor's collective is not done", call);
    rc = wf_wait(&r, MPI_STATUS_IGNORE);
    if (rc && rc != WEFT_EPEER)
        fail_with("a collective failed with another class", rc);
    for (int i = 0; !rc && call % 2 == 0 && i < NUMBERS; i++)
        if (calls[rank][call].data[i] != call + 1)
            fail_with("a collective ended well with other data", call);
}

static void check_calls(void)
{
    for (int rank = 0; rank < VICTIM; rank++) {
        for (int call = 0; call < COLLECTIVES; call++)
            check_call(rank, call);
        if (!wf_comm_is_dead(sim.all[rank]))
            fail_with("a survivor does not know of the death", rank);
    }
}

static void run_case(unsigned seed, const struct sim_options *variant)
{
    struct sim_options o = *variant;
    int end[RANKS];

    seed_in_use = o.seed = seed;
    o.ranks = RANKS;
    op_count = 0;
    sim_start(&sim, &o);
    make_traffic(RANKS, STEPS / 2 + (int)sim_random(&sim, STEPS / 2), 1000);
    call_first(end);
    for (int i = (int)sim_random(&sim, STEPS / 4); i > 0; i--)
        sim_step(&sim);
    sim_kill(&sim, VICTIM);
    the_dead_are_refused();
    make_traffic(VICTIM, STEPS / 2, 5000);
    call_rest(end);
    while (sim_step(&sim))
        ;
    check_result();
    check_calls();
    sim_stop(&sim);
}

int main(int argc, char **argv)
{
    static const struct sim_options variants[] = {
        {.max_short = 64, .max_payload = 3000},
        {.config = "eager = 0", .max_payload = 700},
        {.config = "eager = 1M", .max_short = 100, .max_payload = 100000},
        {.jobs = {2, RANKS - 2}, .max_short = 64, .max_payload = 3000},
        {.jobs = {1, RANKS - 1}, .config = "eager = 0", .max_payload = 700},
        {.jobs = {1, 1, RANKS - 2}, .max_payload = 2000},
    };
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 120;

    for (unsigned seed = first; seed < first + count; seed++)
        run_case(seed, &variants[seed % (sizeof variants / sizeof *variants)]);
    printf("%u jobs outlived one of their processes (seeds %u to %u)\n", count,
           first, first + count - 1);
    return 0;
}

/* A process dies in the middle of random traffic. Nothing that waits for it
 * waits for ever, nothing between the living is lost, and later calls say so
 * at once (W-47: no call blocks for ever).
 *
 *   sim_dead_peers [FIRST_SEED [COUNT]]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "protocol/queues.h"
#include "sim/fabric.h"

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

static void fail(const char *what, int i)
{
    fprintf(stderr, "seed %u: %s (%d)\n", seed_in_use, what, i);
    exit(1);
}

/* Post one half of a message; returns the error class. */
static int post(int rank, int peer, bool is_send, int tag, uint32_t bytes)
{
    struct op *o = &ops[op_count];
    struct wf_comm *world = sim.ranks[rank]->world;
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
static void exchange(int ranks, int tag)
{
    int from = (int)sim_random(&sim, (unsigned)ranks);
    int to = (int)sim_random(&sim, (unsigned)ranks);
    uint32_t bytes = sim_random(&sim, LONGEST);
    bool send_first = sim_random(&sim, 2);

    for (int half = 0; half < 2; half++) {
        bool send = send_first == (half == 0);
        if (post(send ? from : to, send ? to : from, send, tag, bytes))
            fail("a call between the living failed", tag);
    }
}

static void traffic(int ranks, int steps, int first_tag)
{
    for (int i = 0; i < steps; i++)
        if (sim_random(&sim, 4) == 0)
            exchange(ranks, first_tag + i);
        else
            sim_step(&sim);
}

static void the_dead_are_refused(void)
{
    for (int rank = 0; rank < VICTIM; rank++) {
        struct weft_loc *loc = sim.ranks[rank]->locs[VICTIM];
        if (!loc || !loc->failed)
            continue; /* never met: nothing to be told */
        if (post(rank, VICTIM, true, 1, 10) != MPI_ERR_PROC_ABORTED)
            fail("a send to the dead did not fail", rank);
        if (post(rank, VICTIM, false, 1, 10) != MPI_ERR_PROC_ABORTED)
            fail("a receive from the dead did not fail", rank);
    }
}

/* A survivor that met the victim is done with it; the rest has succeeded. */
static void check(void)
{
    for (int i = 0; i < op_count; i++) {
        struct op *o = &ops[i];
        bool dead = o->rank == VICTIM || o->peer == VICTIM;
        struct weft_loc *loc = sim.ranks[o->rank]->locs[VICTIM];
        if (o->rank == VICTIM || (dead && (!loc || !loc->failed)))
            ; /* the victim's own, or unaware of its death */
        else if (!wf_req_done(o->req))
            fail("an operation of a survivor is not done", i);
        else if (!dead && o->req->error)
            fail("an operation between the living failed", i);
        if (wf_req_done(o->req))
            wf_wait(&o->req, MPI_STATUS_IGNORE);
        free(o->data);
    }
}

static void run(unsigned seed, const struct sim_options *variant)
{
    struct sim_options o = *variant;

    seed_in_use = o.seed = seed;
    o.ranks = RANKS;
    op_count = 0;
    sim_start(&sim, &o);
    traffic(RANKS, STEPS / 2 + (int)sim_random(&sim, STEPS / 2), 1000);
    sim_kill(&sim, VICTIM);
    the_dead_are_refused();
    traffic(VICTIM, STEPS / 2, 5000);
    while (sim_step(&sim))
        ;
    check();
    sim_stop(&sim);
}

int main(int argc, char **argv)
{
    static const struct sim_options variants[] = {
        {.max_short = 64, .max_payload = 3000},
        {.config = "eager = 0", .max_payload = 700},
        {.config = "eager = 1M", .max_short = 100, .max_payload = 100000},
    };
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 60;

    for (unsigned seed = first; seed < first + count; seed++)
        run(seed, &variants[seed % (sizeof variants / sizeof *variants)]);
    printf("%u jobs outlived one of their processes (seeds %u to %u)\n", count,
           first, first + count - 1);
    return 0;
}

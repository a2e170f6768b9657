/* Operations do not fit in front of a lock that another process holds, and a
 * flush waits for them already when it is given back: they leave then, although
 * nothing pushes them any more, and small ones leave together. A program that
 * only starts operations learns that it has the lock, and fills no queue.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "progress/source.h"
#include "rma/epoch.h"
#include "rma/operation.h"
#include "sim/window.h"

enum {
    RANKS = 3,
    TARGET = 1,
    HOLDER = 2,
    EARLY = (WF_RMA_EARLY - WF_RMA_EXTENT) / 8 /* elements that fit alone */
};

static struct sim sim;
static struct wf_win *windows[RANKS];
static int64_t memory[RANKS][EARLY], in[EARLY], out[EARLY];

static void require_that(bool what, const char *text)
{
    if (what)
        return;
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static struct wf_win_peer *reach_target(int origin)
{
    int rc;
    struct wf_win_peer *p = wf_win_reach(windows[origin], TARGET, &rc);

    require_that(p, "the target cannot be reached");
    return p;
}

static void start_call(int origin, enum wf_rma_kind kind, uint64_t n)
{
    struct wf_type *type = wf_type_of(MPI_INT64_T);
    struct wf_rma_call c = {.kind = kind,
                            .target = {NULL, type, n},
                            .bytes = 8 * n,
                            .op = WF_OP_SUM};

    if (kind != WF_RMA_GET) {
        c.origin = (struct wf_rma_side){in, type, n};
        c.basic = type;
    }
    if (kind != WF_RMA_ACC)
        c.result = (struct wf_rma_side){out, type, n};
    require_that(wf_leg_message.start(reach_target(origin), &c, NULL) ==
                     MPI_SUCCESS,
                 "an operation cannot be started");
}

/* Returns how many steps it takes until nothing moves any more. */
static int ask_and_step(int origin, bool release)
{
    int steps = 0;

    wf_leg_message.ask(reach_target(origin), release);
    while (sim_step(&sim))
        steps++;
    return steps;
}

static void want_lock(int origin, enum wf_lock_type type)
{
    wf_epoch_want_lock(reach_target(origin), type, false);
}

/* Makes rank 0 start many puts while another process has the lock. */
static void put_many(void)
{
    enum { PUTS = 1000 };
    int steps;

    want_lock(HOLDER, WF_LOCK_EXCLUSIVE);
    start_call(HOLDER, WF_RMA_PUT, 1);
    ask_and_step(HOLDER, false);
    want_lock(0, WF_LOCK_SHARED);
    for (int i = 0; i < PUTS; i++)
        start_call(0, WF_RMA_PUT, 1);
    ask_and_step(0, false);
    steps = ask_and_step(HOLDER, true);
    require_that(wf_win_peer_is_remote(reach_target(0)),
                 "puts do not leave when the lock is there");
    require_that(steps < PUTS / 2,
                 "puts that waited for a lock leave one by one");
    ask_and_step(0, true);
}

/* As if another thread flushed while a call polls. */
static int flush_and_step(wf_source_object *network, int budget)
{
    wf_leg_message.ask(reach_target(0), false);
    return sim_step((struct sim *)(void *)network);
}

/* Makes rank 0 start puts, and nothing else, while nobody has the lock. */
static void put_alone(void)
{
    enum { PUTS = 1000 };
    struct wf_event_source network = {.name = "network",
                                      .object =
                                          (wf_source_object *)(void *)&sim,
                                      .poll = flush_and_step,
                                      .fd = -1};

    require_that(wf_source_add(sim.ranks[0], &network, WF_SOURCE_BIT_ANY) == 0,
                 "the network cannot be polled");
    want_lock(0, WF_LOCK_SHARED);
    for (int i = 0; i < PUTS; i++) {
        start_call(0, WF_RMA_PUT, 1);
        require_that(reach_target(0)->pending < PUTS / 10,
                     "puts are queued although the lock is free");
        require_that(reach_target(0)->unconfirmed,
                     "a flush before a put confirms it");
    }
    wf_source_remove(sim.ranks[0], &network);
    ask_and_step(0, true);
    require_that(wf_win_peer_is_remote(reach_target(0)), "puts do not leave");
}

int main(void)
{
    const struct sim_options o = {
        .seed = 1, .ranks = RANKS, .max_short = 300, .max_payload = 65536};
    void *bases[RANKS] = {memory[0], memory[1], memory[2]};

    sim_start(&sim, &o);
    for (int i = 0; i < RANKS; i++)
        windows[i] =
            sim_make_window(sim.ranks[i], bases, RANKS, sizeof memory[i]);
    want_lock(HOLDER, WF_LOCK_EXCLUSIVE);
    start_call(HOLDER, WF_RMA_ACC, 1);
    ask_and_step(HOLDER, false);
    want_lock(0, WF_LOCK_SHARED);
    start_call(0, WF_RMA_GET_ACC, EARLY);
    for (int i = 0; i < 3; i++)
        start_call(0, WF_RMA_GET, 1);
    ask_and_step(0, false);
    require_that(!wf_win_peer_is_remote(reach_target(0)),
                 "a flush ends before the lock is there");
    ask_and_step(HOLDER, true);
    require_that(wf_win_peer_is_remote(reach_target(0)),
                 "a flush waits for operations that do not leave");
    ask_and_step(0, true);
    put_many();
    put_alone();
    for (int i = 0; i < RANKS; i++)
        sim_free_window(windows[i]);
    sim_stop(&sim);
    return 0;
}

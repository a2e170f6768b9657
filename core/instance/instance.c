/* The instance: calls the initialisation of each part of the library in order,
 * and the ends in reverse order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/instance.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "boot/auth.h"
#include "boot/auth_key.h"
#include "boot/boot.h"
#include "boot/fatal_message.h"
#include "boot/key.h"
#include "coll/cleanup.h"
#include "coll/layout.h"
#include "coll/schedule.h"
#include "coll/shm/shmcoll.h"
#include "comm/blocks.h"
#include "comm/channel.h"
#include "comm/context.h"
#include "comm/engines.h"
#include "comm/world.h"
#include "config/collectives.h"
#include "config/config.h"
#include "datatype/named.h"
#include "datatype/type.h"
#include "instance/env.h"
#include "instance/events.h"
#include "instance/leave.h"
#include "instance/node.h"
#include "os/clock.h"
#include "p2p/buffered.h"
#include "process/process.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/progress.h"
#include "protocol/carrier.h"
#include "protocol/carrier_seal.h"
#include "protocol/death.h"
#include "protocol/endpoints.h"
#include "protocol/engine.h"
#include "protocol/fastpath.h"
#include "protocol/helper.h"
#include "protocol/location.h"
#include "protocol/order.h"
#include "protocol/sources.h"
#include "protocol/traffic.h"
#include "protocol/unfinished.h"
#include "report/call_time.h"
#include "report/error.h"
#include "report/trace.h"
#include "route/card.h"
#include "route/links.h"
#include "route/route.h"

static uint64_t read_monotonic_ns(void *clock)
{
    return wf_clock_ns();
}

static void close_engine(struct wf_instance *wf)
{
    wf_endpoints_close(wf);
    wf_engine_fini(wf);
    wf_progress_fini(wf);
    wf_locations_free(wf);
    wf_links_fini(wf);
}

/* Open the parts that each engine has for itself (engines.h). */
static int open_engine(struct wf_instance *wf)
{
    int r = wf_links_init(wf);

    if (r != 0)
        return r;
    r = wf_progress_init(wf);
    if (r == 0)
        r = wf_engine_init(wf);
    if (r == 0)
        r = wf_endpoints_open(wf);
    if (r == 0)
        wf_engine_add_sources(wf);
    if (r != 0)
        close_engine(wf);
    return r;
}

static void free_other_engines(struct wf_instance *home)
{
    if (wf_engines(home))
        wf_engines(home)->free(home);
}

static int compare_cards(struct wf_instance *wf)
{
    struct weft_loc *below =
        wf_card_is_comparable(wf) ? wf_location(wf, wf->rank->id - 1) : NULL;

    return below ? wf_card_compare(below) : 0;
}

/* Publish this process's business card, wait for those of the others where the
 * launcher needs that, and take the job key if rank 0 made it. A singleton has
 * no others. */
static int exchange_business_cards(struct wf_instance *wf)
{
    int r = wf->rank->job.key ? 0 : wf_key_find(wf);

    if (r == 0)
        r = wf_card_publish(wf);
    if (r == 0 && wf_engines_open_early)
        wf_engines_open_early(wf);
    if (r == 0 && wf->rank->job.size > 1 && !wf->rank->boot->awaits)
        r = wf_boot_fence(wf->rank->boot);
    if (r == 0 && !wf->rank->job.key)
        r = wf_key_find(wf);
    return r == 0 ? compare_cards(wf) : r;
}

/* A rank with one engine may leave its section off until the process has a
 * second thread. */
void wf_instance_allow_threads(struct wf_instance *wf)
{
    bool one = wf->rank->options->engines == WF_AUTO ||
               wf->rank->options->engines == 1;

    wf->rank->multiple = true;
    if (!wf->api.threads)
        (one ? wf_cs_expect_threads : wf_cs_allow_threads)(&wf->api);
}

/* Switch the section on for good, for progress threads that act at any time. */
static int allow_residents(struct wf_instance *wf)
{
    static const char absent[] =
        "progress = thread: this program is linked without progress threads; "
        "link with mpicc or add -Wl,-u,weft_helpers\n";

    if (wf->rank->job.size == 1 ||
        !wf_config_asks_for_threads(wf->rank->config))
        return 0;
    if (!&weft_helpers) {
        wf_boot_print_fatal(absent, sizeof absent - 1);
        return WEFT_EINVAL;
    }
    wf_cs_allow_threads(&wf->api);
    return 0;
}

static void update_fast_path(struct wf_cs *cs)
{
    wf_fastpath_update(wf_container(cs, struct wf_instance, api));
}

static void release_comm(struct wf_comm *comm)
{
    struct wf_instance *wf = comm->wf;

    /* Collectives that ended because a member died leave messages behind, which
     * must not match in another communicator: the id is not used again. */
    if (wf->rank->env && comm->context != WF_CONTEXT_NONE &&
        !wf_comm_is_dead(comm))
        wf_context_release(wf, comm->context);
    wf_layout_drop(comm);
    wf_shmcoll_free(comm);
    if (comm->channel)
        comm->channel->free(comm);
}

static const struct wf_engine_makers engine_makers;

static const struct wf_comm_handlers comm_handlers = {
    .release = release_comm,
};

/* Make what the rank has once. */
static struct wf_rank *create_rank(const struct wf_instance_params *params)
{
    struct wf_rank *rank = calloc(1, sizeof *rank);

    if (!rank)
        return NULL;
    rank->boot = params->boot;
    rank->id = rank->boot->rank;
    rank->job.size = rank->boot->size;
    rank->job.cards = &wf_card_bootstrap;
    rank->ranks = params->ranks;
    rank->config = params->config;
    rank->options = wf_config_core(params->config);
    rank->coll_rules = wf_config_collectives(params->config);
    rank->log_level = rank->options->log;
    rank->state = &wf_process()->state;
    if (rank->options->stats)
        wf_call_times_start();
    if (wf_route_encrypts(rank->config))
        rank->on_authenticated = wf_carrier_add_session;
    rank->comm_handlers = &comm_handlers;
    rank->engine_makers = &engine_makers;
    return rank;
}

/* Make the first engine, which owns the rank. */
static struct wf_instance *create_home(const struct wf_instance_params *params)
{
    struct wf_instance *wf = calloc(1, sizeof *wf);
    struct wf_rank *rank = wf ? create_rank(params) : NULL;

    if (!rank) {
        free(wf);
        return NULL;
    }
    wf->rank = rank;
    rank->home = wf;
    wf->now_ns = params->now_ns ? params->now_ns : read_monotonic_ns;
    wf->clock = params->clock;
    wf->api.changed = update_fast_path;
    return wf;
}

static void free_home(struct wf_instance *wf)
{
    if (wf->rank->options->stats)
        wf_call_times_stop();
    free(wf->rank);
    free(wf);
}

int wf_instance_create(const struct wf_instance_params *params,
                       struct wf_instance **out)
{
    struct wf_instance *wf = create_home(params);
    int r;

    if (!wf)
        return WEFT_ENOMEM;
    if (params->threads)
        wf_instance_allow_threads(wf);
    if ((r = allow_residents(wf)) != 0 ||
        (r = wf_find_node_and_cpus(wf->rank)) != 0 ||
        (r = wf_events_open(wf)) != 0)
        goto err_trace;
    /* addresses may be derived from it */
    if (wf->rank->boot->is_static && (r = wf_key_find(wf)) != 0)
        goto err_engine;
    if ((r = open_engine(wf)) != 0)
        goto err_engine;
    if ((r = wf_env_init(wf)) != 0 || (r = exchange_business_cards(wf)) != 0)
        goto err_cards;
    *out = wf;
    return 0;

err_cards:
    free_other_engines(wf);
    wf_env_fini(wf);
    close_engine(wf);
err_engine:
    if (wf->rank->job.key)
        wf->rank->boot->key = wf->rank->job.key; /* for another attempt */
    wf_trace_close(wf->trace);
err_trace:
    free_home(wf);
    return r;
}

/* Create a further engine of the rank, which lives no longer than the
 * first. */
static struct wf_instance *create_beside(struct wf_instance *home,
                                         unsigned number)
{
    struct wf_instance *wf = calloc(1, sizeof *wf);

    if (!wf)
        return NULL;
    wf->rank = home->rank;
    wf->number = number;
    wf->trace = home->trace;
    wf->now_ns = home->now_ns;
    wf->clock = home->clock;
    if (home->api.threads)
        wf_cs_allow_threads(&wf->api);
    return wf;
}

/* Check that a further engine has all transports of the first: one that can be
 * opened only once is lacking here. */
static int check_transports(const struct wf_instance *wf)
{
    if (wf->rank->job.size == 1 || /* other jobs are met by the first only */
        wf->links->ep_count == wf_home(wf)->links->ep_count)
        return 0;
    return wf_fail(WEFT_ENOTSUP, "a transport cannot be opened twice");
}

static int open_other_engine(struct wf_instance *home, unsigned number,
                             struct wf_instance **out)
{
    struct wf_instance *wf = create_beside(home, number);
    int r = wf ? open_engine(wf) : WEFT_ENOMEM;

    if (r == 0) {
        r = check_transports(wf);
        if (r == 0)
            r = wf_progress_open_sleeper(wf->progress);
        if (r == 0 && wf->rank->job.size > 1)
            r = wf_card_publish(wf);
        if (r != 0)
            close_engine(wf);
    }
    if (r != 0) {
        free(wf);
        return r;
    }
    if (!wf_engine_is_channel(wf))
        wf_progress_allow_helper(wf);
    *out = wf;
    return 0;
}

static void close_other_engine(struct wf_instance *wf)
{
    wf_progress_stop_helper(wf);
    wf_sched_fini(wf);
    close_engine(wf);
    free(wf);
}

static const struct wf_engine_makers engine_makers = {
    .open = open_other_engine,
    .close = close_other_engine,
};

static bool stop_helper(void *wf)
{
    wf_progress_stop_helper(wf);
    return true;
}

int wf_instance_destroy(struct wf_instance *wf)
{
    struct wf_boot *boot = wf->rank->boot;
    struct wf_config *config;

    wf_leave_each_engine(wf, stop_helper);
    if (wf->rank->files)
        wf->rank->files->finish(wf->rank->files);
    if (wf->rank->handle_ints)
        wf->rank->handle_ints->free(wf->rank->handle_ints);
    if (wf->rank->meet)
        wf->rank->meet->free(wf->rank->meet);
    wf_bsend_release(wf, &wf->rank->bsend);
    WF_SECTION(api, wf)
        wf_leave_job(wf);
    if (wf->rank->files)
        wf->rank->files->free(wf->rank->files);
    wf_world_end(wf, true);
    wf_blocks_fini(wf->rank);
    wf_env_fini(wf);
    wf_types_fini(wf);
    wf_sched_fini(wf);
    wf_traffic_report(wf);
    free_other_engines(wf);
    close_engine(wf);
    wf_auth_key_free(wf->rank->job.key);
    if (boot->ops->finalize(boot) < 0)
        wf_log(wf, WF_LOG_WARN,
               "the launcher does not know that this process ends: %s",
               wf_error_last()->text);
    wf_boot_close(boot);
    wf_trace_close(wf->trace);
    config = wf->rank->config;
    free_home(wf);
    wf_config_free(config);
    return 0;
}

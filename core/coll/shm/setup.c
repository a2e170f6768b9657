/* Setting up shared-memory collectives: one segment that all members of a
 * communicator map.
 *
 *   rank 0: memory of a transport that peers may map
 *   bcast: its offer
 *   others: map it
 *   all: agree that every member has it, over messages
 *
 * DESIGN  It is done after the first few blocking collectives, because many
 * communicators never see as many, and it takes two more; but at once before an
 * alltoall of many members, which would connect all pairs. memory.h says how
 * the memory is shared.
 *
 * A member that cannot map it, or may not, says so in the agreement, and no
 * member uses shared memory. If the agreement itself fails, because a member
 * ended, some may find that all agreed: so a process that is not sure marks its
 * part of the segment, `no_shm`, for them.
 *
 * The staging ring is set up in the same way, after as many large calls.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/setup.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "coll/args.h"
#include "coll/barrier.h"
#include "coll/bcast.h"
#include "coll/cleanup.h"
#include "coll/path.h"
#include "coll/run.h"
#include "coll/shm/shmcoll.h"
#include "coll/shm/sizes.h"
#include "coll/state.h"
#include "comm/memory.h"
#include "config/config.h"
#include "os/membarrier.h"
#include "os/pages.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "route/links.h"

enum {
    SEGMENTS_MAX = 64, /* of one process at a time */
    STAGING_UNITS = 8, /* a staging ring counts as so many segments */
    /* what members publish about themselves */
    CANNOT = 1,
    MUST_FENCE = 2,
    OVERSUBSCRIBED = 4,
    MANY_PER_CPU = 8
};

/* ---- together ------------------------------------------------------------ */

/* Takes the pages that are used from the start. Of ranks that are threads of
 * one process one takes them for all: in the mappings of the others they would
 * count as memory of the process once more each. */
static void take_pages(const struct wf_memory *m)
{
    size_t now = m->bytes - m->lazy_bytes;

    if (m->base && !(m->comm->rank && m->comm->wf->rank->ranks) &&
        now * (uint64_t)m->comm->size <= WF_SHMCOLL_PAGES_TAKEN_MOST)
        (void)wf_pages_populate(m->base, now);
}

/* Returns the endpoints by which members reach each other. */
static uint32_t find_endpoints(const struct wf_memory *m)
{
    const struct wf_links *links = m->comm->wf->links;
    uint32_t mask = 0;

    for (int i = 0; i < links->ep_count; i++)
        for (int k = 0; k < WF_MEMORY_KEYS; k++)
            if (wf_memory_is_key_of(&m->offer.key[k], &links->eps[i]))
                mask |= 1u << i;
    return mask;
}

/* Returns true if a message between any two members is one copy: there is one
 * transport, and it reaches any memory. */
static bool is_one_copy(const struct wf_memory *m)
{
    return !m->offer.key[1].transport[0] && m->core->attr.caps & WEFT_CAP_NO_MR;
}

static struct wf_shmcoll *create_state(struct wf_memory *m)
{
    struct wf_comm *comm = m->comm;
    size_t chunks = (size_t)comm->size * chunk_count_for(comm->size);
    struct wf_shmcoll *t = NULL;

    if (m->base)
        t = calloc(1, sizeof *t + chunks * sizeof *t->chunk_last_call);
    if (!t)
        return NULL;
    *t = (struct wf_shmcoll){
        .comm = comm,
        .shared = m->base,
        .segment_bytes = (size_t)m->offer.bytes,
        .block_bytes = block_bytes_for(comm->size),
        .chunk_bytes = chunk_bytes_for(comm->size),
        .chunk_count = chunk_count_for(comm->size),
        .quota_units = 1,
        .size = comm->size,
        .rank = comm->rank,
        .endpoint_mask = find_endpoints(m),
        .one_copy = is_one_copy(m),
        .heavily_oversubscribed =
            (uint32_t)comm->size >
            WF_SHMCOLL_RANKS_PER_CPU * comm->wf->rank->cpus,
        .staging_countdown = (uint32_t)comm->wf->rank->options->share_after};
    t->chunk_last_call = (uint32_t *)(t + 1);
    t->blocks = (unsigned char *)m->base + head_bytes(comm->size);
    t->pool = (unsigned char *)m->base + m->bytes - m->lazy_bytes;
    WF_ASSERT(t->pool >= t->blocks);
    return t;
}

static uint8_t describe_self(struct wf_comm *comm, const struct wf_shmcoll *t)
{
    bool oversubscribed = wf_progress_is_oversubscribed(comm->wf);
    uint8_t flags = t ? 0 : CANNOT;

    if ((uint32_t)comm->size >
        WF_SHMCOLL_READ_BY_ALL_PER_CPU * comm->wf->rank->cpus)
        flags |= MANY_PER_CPU;
    if (oversubscribed)
        return flags | MUST_FENCE | OVERSUBSCRIBED;
    return wf_membarrier_register() ? flags : flags | MUST_FENCE;
}

static int broadcast_offer(struct wf_memory *m)
{
    struct wf_sched *s = wf_sched_create(m->comm);

    if (s)
        wf_coll_bcast_tree(s, m->comm, &m->offer, sizeof m->offer,
                           wf_coll_byte(), 0);
    return wf_sched_run(s);
}

/* Maps the memory here: m->base, or NULL. Whether all members have it they are
 * to agree on. */
static void share_memory(struct wf_memory *m, bool may)
{
    if (!may)
        wf_memory_give_reason(m,
                              "this process maps as many segments as it may");
    if (m->comm->rank == 0 && may)
        wf_memory_offer(m);
    if (broadcast_offer(m) == MPI_SUCCESS && m->comm->rank != 0 && may)
        wf_memory_accept(m);
    take_pages(m);
}

/* Replaces *flags by the OR of what all members say. On an error members may
 * know different outcomes: then t, if not NULL, tells it to those that go
 * on. */
static int agree_on_outcome(struct wf_memory *m, struct wf_shmcoll *t,
                            uint8_t *flags)
{
    int rc = wf_barrier_agree_on_flags(m->comm, flags);

    if (m->comm->rank == 0)
        wf_memory_settle(m);
    if (t && rc)
        wf_store_release(&t->shared->members[t->rank].no_shm, 1);
    return rc;
}

/* Returns true if this process may map so many more units of shared memory. */
static bool may_map(struct wf_instance *wf, unsigned units)
{
    const struct wf_coll_state *c = wf_coll_state(wf);

    return c && c->shm_units + units <= SEGMENTS_MAX;
}

/* Chooses the places for contributions to scans, and to other collectives. */
static void choose_places(struct wf_shmcoll *t)
{
    struct wf_shmcoll_places few = {WF_SHMCOLL_LINES, WF_SHMCOLL_BLOCKS, 0},
                             many = {t->oversubscribed ? WF_SHMCOLL_LINES_MAX
                                                       : WF_SHMCOLL_LINES_SCAN,
                                     WF_SHMCOLL_BLOCKS_MAX, 0};

    many.piece_bytes = t->block_bytes / (many.lines / many.blocks);
    t->places = t->oversubscribed ? many : few;
    t->scan_places = many;
}

void wf_shmcoll_set_up(struct wf_comm *comm)
{
    struct wf_memory m = {.comm = comm,
                          .count = comm->size,
                          .space = WF_SPACE_COLL,
                          .bytes =
                              segment_bytes(comm->size) + WF_BCAST_POOL_BYTES,
                          .lazy_bytes = WF_BCAST_POOL_BYTES};
    struct wf_shmcoll *t;
    uint8_t flags;
    int rc;

    share_memory(&m, may_map(comm->wf, 1));
    t = create_state(&m);
    if (!t && m.base)
        munmap(m.base, (size_t)m.offer.bytes);
    flags = describe_self(comm, t);
    rc = agree_on_outcome(&m, t, &flags);
    comm->shmcoll = t;
    comm->shmcoll_usable = t != NULL;
    if (!t) {
        wf_coll_log_path(comm, m.why[0] ? m.why : "no memory");
        return;
    }
    comm->wf->coll->shm_units++;
    t->writers_fence = flags & MUST_FENCE;
    t->oversubscribed = flags & OVERSUBSCRIBED;
    t->has_leader = t->size > WF_SHMCOLL_READ_BY_ALL_MOST ||
                    (t->oversubscribed && flags & MANY_PER_CPU);
    choose_places(t);
    /* where ranks outnumber CPUs few lines stay in the cache */
    t->ring_bytes = t->oversubscribed ? 0 : ring_bytes_for(t->size);
    if (rc || flags & CANNOT)
        wf_shmcoll_free(comm);
    wf_coll_log_path(comm, rc ? "the ranks could not agree on it"
                              : "another rank cannot map the memory");
}

/* ---- the staging ring ---------------------------------------------------- */

static void set_up_staging(struct wf_shmcoll *t)
{
    struct wf_comm *comm = t->comm;
    struct wf_memory m = {.comm = comm,
                          .count = comm->size,
                          .space = WF_SPACE_COLL,
                          .bytes = (size_t)t->size * t->chunk_count *
                                   t->chunk_bytes};
    uint8_t flags;

    share_memory(&m, may_map(comm->wf, STAGING_UNITS));
    flags = m.base ? 0 : CANNOT;
    if (agree_on_outcome(&m, t, &flags) || flags & CANNOT) {
        if (m.base)
            munmap(m.base, m.bytes);
        return;
    }
    WF_ASSERT(!t->staging && m.base);
    t->staging = m.base;
    t->staging_bytes = m.bytes;
    t->quota_units = 1 + STAGING_UNITS;
    comm->wf->coll->shm_units += STAGING_UNITS;
}

bool wf_shmcoll_ensure_staging(struct wf_shmcoll *t)
{
    if (wf_unlikely(t->staging_countdown) && --t->staging_countdown == 0)
        set_up_staging(t);
    return t->staging != NULL;
}

/* Setting up shared-memory collectives: one segment that all members of a
 * communicator map.
 *
 *   rank 0: memory of a transport that peers may map (mem_alloc, mr_pack)
 *   bcast: its key, one for each transport that joins rank 0 to members
 *   others: rkey_open, rkey_map over the transport that reaches rank 0
 *   all: agree that every member has it, over messages
 *
 * DESIGN  It is done after the first few blocking collectives, because many
 * communicators never see as many, and it takes two more. The memory is
 * mapped once more, and the transport's freed when all have it: from then on
 * the segment depends neither on the connection nor on rank 0, and has no
 * descriptor. A transport says from which descriptor the memory is mapped
 * (weft_ops.map_fd). Of one that does not, and where ranks are threads, the
 * mapping is repeated by an mremap of no bytes, which Linux has for shared
 * memory, and tools that supervise a program's memory (valgrind) do not know.
 *
 * Members may reach rank 0 by two transports, as threads of its process and
 * processes of its node do. Then the memory belongs to the one whose peers can
 * map nothing else, and the other, which takes any (WEFT_CAP_NO_MR), makes a
 * key too.
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
#define _GNU_SOURCE
#include "coll/shm/setup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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
#include "config/config.h"
#include "os/membarrier.h"
#include "os/pages.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/location.h"
#include "route/links.h"

enum {
    KEY_MAX = 64,
    KEYS = 2, /* transports that join members to rank 0 */
    NAME_MAX = 24,
    OPEN_TIMEOUT_NS = 2000000000, /* longest wait for a transport that maps */
    SEGMENTS_MAX = 64,            /* of one process at a time */
    STAGING_UNITS = 8, /* a staging ring counts as so many segments */
    /* what members publish about themselves */
    CANNOT = 1,
    MUST_FENCE = 2,
    OVERSUBSCRIBED = 4
};

/* The key by which peers of one transport map the memory. */
struct key {
    char transport[NAME_MAX]; /* "": there is no key */
    uint64_t len;
    unsigned char bytes[KEY_MAX];
};

/* The message of rank 0. */
struct offer {
    uint64_t address, bytes; /* bytes 0: there is no memory */
    int64_t fd;              /* of rank 0's process, for threads of it; or -1 */
    struct key key[KEYS];
};

/* A set-up under way, of the segment or of the staging ring. */
struct setup {
    struct wf_comm *comm;
    /* bytes in all; bytes at the end whose pages are taken when used */
    size_t bytes, lazy_bytes;
    struct offer offer;
    void *base; /* the segment, or NULL */
    struct weft_core *core;
    const struct key *key; /* that of this member's transport */
    weft_mem mem;          /* of rank 0 */
    weft_peer *peer;       /* to rank 0 */
    weft_rkey *rkey;
    char why[160]; /* why this member has no segment; "": it has */
};

static bool give_reason(struct setup *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Records why there is no segment here; the first reason counts. Returns
 * false. */
static bool give_reason(struct setup *m, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!m->why[0])
        vsnprintf(m->why, sizeof m->why, fmt, args);
    va_end(args);
    return false;
}

/* Finds the transport to that rank, which others use the offer's key with. */
static bool find_peer(struct setup *m, int rank)
{
    struct wf_comm *comm = m->comm;

    if (wf_comm_route_keys(comm, WF_SPACE_COLL))
        return give_reason(m, "a route of mpi.ini is about its collectives");
    struct weft_loc *loc =
        wf_location(comm->wf, wf_group_proc(comm->peers, rank));

    if (!loc || loc->failed || (!loc->lanes && wf_location_connect(loc) != 0))
        return give_reason(m, "rank %d cannot be reached", rank);
    if (loc->order)
        return give_reason(m, "the route to rank %d has failover or encryption",
                           rank);
    m->core = loc->lane[WF_LANE_ORDER].core;
    m->peer = loc->peers[m->core->index];
    return true;
}

/* ---- mapping ------------------------------------------------------------- */

/* Returns the transport's descriptor of memory that its mem_alloc or rkey_map
 * gave; -1: it has none. */
static int mapping_fd(const struct weft_core *core, const weft_mem *mem)
{
    WF_ASSERT(mem->base && mem->len > 0);
    /* Ranks of one process share the table of descriptors: another rank may
     * close this one before it is mapped. */
    return !core->wf->rank->ranks && WEFT_HAS(core->ops, weft_ops, map_fd)
               ? core->ops->map_fd(core->ep, mem)
               : -1;
}

/* Maps the memory once more, from its descriptor if fd >= 0; this mapping stays
 * when the transport's is removed. */
static void repeat_mapping(struct setup *m, void *base, int fd)
{
    void *again = fd >= 0 ? mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
                                 MAP_SHARED, fd, 0)
                          : mremap(base, 0, m->bytes, MREMAP_MAYMOVE);

    WF_ASSERT(base && again != base);
    if (again != MAP_FAILED)
        m->base = again;
    else
        give_reason(m, "mapping %zu bytes failed: %s", m->bytes,
                    strerror(errno));
}

/* ---- rank 0 -------------------------------------------------------------- */

static bool can_share_memory(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_MAP &&
           WEFT_HAS(c->ops, weft_ops, mem_alloc) &&
           WEFT_HAS(c->ops, weft_ops, mr_reg) &&
           WEFT_HAS(c->ops, weft_ops, mr_pack);
}

static bool is_key_of(const struct key *key, const struct weft_core *c)
{
    return strncmp(key->transport, c->plugin->name, NAME_MAX - 1) == 0;
}

static bool pack_key(struct key *key, const struct weft_core *c,
                     const weft_mem *mem)
{
    size_t n = KEY_MAX;
    weft_mr *mr;

    if (c->ops->mr_reg(c->ep, mem->base, mem->len, &mr) < 0 ||
        c->ops->mr_pack(c->ep, mr, key->bytes, &n) < 0)
        return false;
    key->len = n;
    strncpy(key->transport, c->plugin->name, NAME_MAX - 1);
    return true;
}

/* Adds a transport; the one whose memory it is to be comes first. */
static bool add_core(struct weft_core *cores[KEYS], struct weft_core *c)
{
    if (c == cores[0] || c == cores[1])
        return true;
    if (cores[1])
        return false;
    if (cores[0] && !(cores[0]->attr.caps & WEFT_CAP_NO_MR)) {
        cores[1] = c;
    } else {
        cores[1] = cores[0];
        cores[0] = c;
    }
    return !cores[1] || cores[1]->attr.caps & WEFT_CAP_NO_MR;
}

/* Finds the transports to all members. */
static bool find_cores(struct setup *m, struct weft_core *cores[KEYS])
{
    bool fine = true;

    for (int r = 1; fine && r < m->comm->size; r++)
        fine = find_peer(m, r) &&
               ((can_share_memory(m->core) && add_core(cores, m->core)) ||
                give_reason(m,
                            "rank %d is reached by '%s', which shares no "
                            "memory with it",
                            r, m->core->config->name));
    m->core = NULL;
    return fine;
}

static void make_offer(struct setup *m)
{
    struct weft_core *cores[KEYS] = {NULL};
    struct offer *offer = &m->offer;

    m->mem.size = sizeof m->mem;
    m->mem.len = m->bytes;
    m->mem.later = m->lazy_bytes;
    if (!find_cores(m, cores))
        return;
    if (cores[0]->ops->mem_alloc(cores[0]->ep, &m->mem) < 0) {
        give_reason(m, "'%s' has no %zu bytes of memory to share",
                    cores[0]->config->name, m->bytes);
        return;
    }
    m->core = cores[0];
    if (!pack_key(&offer->key[0], cores[0], &m->mem) ||
        (cores[1] && !pack_key(&offer->key[1], cores[1], &m->mem)))
        return;
    offer->address = (uintptr_t)m->mem.base;
    offer->bytes = m->mem.len;
    offer->fd = mapping_fd(m->core, &m->mem);
    repeat_mapping(m, m->mem.base, (int)offer->fd);
}

/* ---- the others ---------------------------------------------------------- */

/* Finds the key for the transport by which this member reaches rank 0. */
static bool find_key(struct setup *m)
{
    if (!find_peer(m, 0) || !WEFT_HAS(m->core->ops, weft_ops, rkey_open) ||
        !WEFT_HAS(m->core->ops, weft_ops, rkey_map))
        return false;
    for (int i = 0; i < KEYS && !m->key; i++)
        if (is_key_of(&m->offer.key[i], m->core))
            m->key = &m->offer.key[i];
    if (m->key && WEFT_HAS(m->core->ops, weft_ops, connect))
        m->core->ops->connect(m->peer);
    return m->key && m->key->len <= KEY_MAX;
}

static bool is_key_open(void *arg)
{
    struct setup *m = arg;

    return m->core->ops->rkey_open(m->peer, m->key->bytes, (size_t)m->key->len,
                                   &m->rkey) >= 0;
}

/* Returns the descriptor of the memory that is mapped here at `base`. A peer of
 * which any memory is mapped is a thread of rank 0's process. */
static int find_mapping_fd(const struct setup *m, void *base)
{
    enum { SAME_PROCESS = WEFT_CAP_MAP | WEFT_CAP_NO_MR };
    weft_mem mem = {.size = sizeof mem, .base = base, .len = m->bytes};

    return (m->core->attr.caps & SAME_PROCESS) == SAME_PROCESS
               ? (int)m->offer.fd
               : mapping_fd(m->core, &mem);
}

static void map_offer(struct setup *m)
{
    struct wf_instance *wf = m->comm->wf;
    void *base;

    if (m->offer.bytes != m->bytes) {
        give_reason(m, "rank 0 offers no memory");
        return;
    }
    if (!find_key(m) || !wf_progress_poll_until(wf, -1, is_key_open, m,
                                                wf_now(wf) + OPEN_TIMEOUT_NS)) {
        give_reason(m, "the memory of rank 0 cannot be mapped");
        return;
    }
    base = m->core->ops->rkey_map(m->rkey, m->offer.address, m->bytes);
    if (base)
        repeat_mapping(m, base, find_mapping_fd(m, base));
    if (WEFT_HAS(m->core->ops, weft_ops, rkey_close))
        m->core->ops->rkey_close(m->peer, m->rkey);
}

/* ---- together ------------------------------------------------------------ */

/* Takes the pages that are used from the start. */
static void take_pages(const struct setup *m)
{
    size_t now = m->bytes - m->lazy_bytes;

    if (m->base && now * (uint64_t)m->comm->size <= WF_SHMCOLL_PAGES_TAKEN_MOST)
        (void)wf_pages_populate(m->base, now);
}

/* Returns the endpoints by which members reach each other. */
static uint32_t find_endpoints(const struct setup *m)
{
    const struct wf_links *links = m->comm->wf->links;
    uint32_t mask = 0;

    for (int i = 0; i < links->ep_count; i++)
        for (int k = 0; k < KEYS; k++)
            if (is_key_of(&m->offer.key[k], &links->eps[i]))
                mask |= 1u << i;
    return mask;
}

/* Returns true if a message between any two members is one copy: there is one
 * transport, and it reaches any memory. */
static bool is_one_copy(const struct setup *m)
{
    return !m->offer.key[1].transport[0] && m->core->attr.caps & WEFT_CAP_NO_MR;
}

static struct wf_shmcoll *create_state(struct setup *m)
{
    struct wf_comm *comm = m->comm;
    struct wf_shmcoll *t = m->base ? calloc(1, sizeof *t) : NULL;

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
    t->blocks = (unsigned char *)m->base + head_bytes(comm->size);
    t->pool = (unsigned char *)m->base + m->bytes - m->lazy_bytes;
    WF_ASSERT(t->pool >= t->blocks);
    return t;
}

static uint8_t describe_self(struct wf_comm *comm, const struct wf_shmcoll *t)
{
    bool oversubscribed = wf_progress_is_oversubscribed(comm->wf);
    uint8_t flags = t ? 0 : CANNOT;

    if (oversubscribed)
        return flags | MUST_FENCE | OVERSUBSCRIBED;
    return wf_membarrier_register() ? flags : flags | MUST_FENCE;
}

static int broadcast_offer(struct setup *m)
{
    struct wf_sched *s = wf_sched_create(m->comm);

    if (s)
        wf_coll_bcast_tree(s, m->comm, &m->offer, sizeof m->offer,
                           wf_coll_byte(), 0);
    return wf_sched_run(s);
}

/* Maps the memory here: m->base, or NULL. Whether all members have it they are
 * to agree on. */
static void share_memory(struct setup *m, bool may)
{
    if (!may)
        give_reason(m, "this process maps as many segments as it may");
    if (m->comm->rank == 0 && may)
        make_offer(m);
    if (broadcast_offer(m) == MPI_SUCCESS && m->comm->rank != 0 && may)
        map_offer(m);
    take_pages(m);
}

/* Replaces *flags by the OR of what all members say. On an error members may
 * know different outcomes: then t, if not NULL, tells it to those that go
 * on. */
static int agree_on_outcome(struct setup *m, struct wf_shmcoll *t,
                            uint8_t *flags)
{
    int rc = wf_barrier_agree_on_flags(m->comm, flags);

    if (m->comm->rank == 0 && m->core)
        m->core->ops->mem_free(m->core->ep, &m->mem);
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

void wf_shmcoll_set_up(struct wf_comm *comm)
{
    struct setup m = {.comm = comm,
                      .bytes = segment_bytes(comm->size) + WF_BCAST_POOL_BYTES,
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
    t->lines_used = t->oversubscribed ? WF_SHMCOLL_LINES_MAX : WF_SHMCOLL_LINES;
    t->blocks_used =
        t->oversubscribed ? WF_SHMCOLL_BLOCKS_MAX : WF_SHMCOLL_BLOCKS;
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
    struct setup m = {.comm = comm,
                      .bytes =
                          (size_t)t->size * t->chunk_count * t->chunk_bytes};
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

/* Setting up shared-memory collectives: one segment that all members of a
 * communicator map.
 *
 *   rank 0: memory of a transport that peers may map (mem_alloc, mr_pack)
 *   bcast: its key, one for each transport that joins rank 0 to members
 *   others: rkey_open, rkey_map over the transport that reaches rank 0
 *   all: agree that every member has it, over messages
 *
 * DESIGN  It is done after the first few blocking collectives, because many
 * communicators never see as many, and it takes two more. The mapping is
 * duplicated, and the transport's memory freed when all have it: from then on
 * the segment depends neither on the connection nor on rank 0, and has no
 * descriptor.
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
#include <stdlib.h>
#include <sys/mman.h>

#include "coll/shm/shmcoll.h"
#include "os/membarrier.h"
#include "os/pages.h"
#include "progress/progress.h"

enum {
    KEY_MAX = 64,
    KEYS = 2, /* transports that join members to rank 0 */
    NAME_MAX = 24,
    OPEN_TIMEOUT_NS = 2000000000, /* longest wait for a transport that maps */
    ALL_BLOCKS_BYTES = 2 << 20,
    BLOCK_MAX = 16 << 10, /* bytes */
    SEGMENTS_MAX = 64,    /* of one process at a time */
    /* bytes of a staging ring with three chunks for each member */
    ALL_CHUNKS_BYTES = 12 << 20,
    ALL_RINGS_BYTES = 4 << 20, /* bytes of a ring that chunks wrap around */
    CHUNK_MAX = 256 << 10,
    PAGE = 4096, /* segments are whole pages */
    /* bytes of pages taken at once, by all members together */
    PAGES_TAKEN_MAX = 256 << 20,
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
};

static uint32_t block_bytes_for(int size)
{
    uint32_t block = BLOCK_MAX;

    while (block * (uint32_t)size * WF_SHMCOLL_BLOCKS_MAX > ALL_BLOCKS_BYTES)
        block /= 2;
    return block;
}

static uint32_t chunk_bytes_for(int size)
{
    uint32_t chunk = CHUNK_MAX;

    while (chunk * (uint32_t)size * WF_SHMCOLL_CHUNKS_MIN > ALL_CHUNKS_BYTES)
        chunk /= 2;
    return chunk;
}

/* Returns the bytes of each member's chunks before the ring wraps. */
static uint32_t ring_bytes_for(int size)
{
    uint32_t ring = ALL_RINGS_BYTES / (uint32_t)size,
             chunk = chunk_bytes_for(size);

    return ring > chunk ? ring / chunk * chunk : chunk;
}

static uint32_t chunk_count_for(int size)
{
    uint32_t chunks = ring_bytes_for(size) / chunk_bytes_for(size);

    return chunks > WF_SHMCOLL_CHUNKS_MIN ? chunks : WF_SHMCOLL_CHUNKS_MIN;
}

static size_t head_bytes(int size)
{
    return sizeof(struct wf_shmcoll_segment) +
           (size_t)size * sizeof(struct wf_shmcoll_member);
}

/* Returns the bytes of the segment without the broadcast pool, in whole pages:
 * of a page that is unmapped in part, the thread sanitizer remembers its
 * writers, and reports them for the next mapping at that address. */
static size_t segment_bytes(int size)
{
    size_t bytes =
        head_bytes(size) + (size_t)size * WF_SHMCOLL_BLOCKS_MAX *
                               wf_shmcoll_block_stride(block_bytes_for(size));

    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Finds the transport to that rank, which others use the offer's key with. */
static bool find_peer(struct setup *m, int rank)
{
    struct wf_comm *comm = m->comm;
    struct weft_loc *loc =
        wf_location(comm->wf, wf_group_proc(comm->peers, rank));

    if (!loc || loc->failed || (!loc->lanes && wf_location_connect(loc) != 0) ||
        loc->order)
        return false;
    m->core = loc->lane[WF_LANE_ORDER].core;
    m->peer = loc->lane[WF_LANE_ORDER].peer;
    return true;
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
        fine = find_peer(m, r) && can_share_memory(m->core) &&
               add_core(cores, m->core);
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
    if (!find_cores(m, cores) ||
        cores[0]->ops->mem_alloc(cores[0]->ep, &m->mem) < 0)
        return;
    m->core = cores[0];
    if (!pack_key(&offer->key[0], cores[0], &m->mem) ||
        (cores[1] && !pack_key(&offer->key[1], cores[1], &m->mem)))
        return;
    offer->address = (uintptr_t)m->mem.base;
    offer->bytes = m->mem.len;
    m->base = m->mem.base;
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

static void map_offer(struct setup *m)
{
    struct wf_instance *wf = m->comm->wf;

    if (m->offer.bytes != m->bytes || !find_key(m) ||
        !wf_progress_poll_until(wf, -1, is_key_open, m,
                                wf_now(wf) + OPEN_TIMEOUT_NS))
        return;
    m->base = m->core->ops->rkey_map(m->rkey, m->offer.address,
                                     (size_t)m->offer.bytes);
    if (WEFT_HAS(m->core->ops, weft_ops, rkey_close))
        m->core->ops->rkey_close(m->peer, m->rkey);
}

/* ---- together ------------------------------------------------------------ */

/* Duplicates the mapping; the copy stays when the transport's is removed. */
static void duplicate_mapping(struct setup *m)
{
    size_t now = m->bytes - m->lazy_bytes;

    if (m->base)
        m->base = mremap(m->base, 0, (size_t)m->offer.bytes, MREMAP_MAYMOVE);
    if (m->base == MAP_FAILED)
        m->base = NULL;
    if (m->base && now * (uint64_t)m->comm->size <= PAGES_TAKEN_MAX)
        (void)wf_pages_populate(m->base, now);
}

/* Returns the endpoints by which members reach each other. */
static uint32_t find_endpoints(const struct setup *m)
{
    const struct wf_instance *wf = m->comm->wf;
    uint32_t mask = 0;

    for (int i = 0; i < wf->ep_count; i++)
        for (int k = 0; k < KEYS; k++)
            if (is_key_of(&m->offer.key[k], &wf->eps[i]))
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
        .heavily_oversubscribed = (uint32_t)comm->size > 4 * comm->wf->cpus,
        .staging_countdown = (uint32_t)comm->wf->options->share_after};
    t->blocks = (unsigned char *)m->base + head_bytes(comm->size);
    t->pool = (unsigned char *)m->base + m->bytes - m->lazy_bytes;
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
    if (m->comm->rank == 0 && may)
        make_offer(m);
    if (broadcast_offer(m) == MPI_SUCCESS && m->comm->rank != 0 && may)
        map_offer(m);
    duplicate_mapping(m);
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

static void set_up(struct wf_comm *comm)
{
    struct setup m = {.comm = comm,
                      .bytes = segment_bytes(comm->size) + WF_BCAST_POOL_BYTES,
                      .lazy_bytes = WF_BCAST_POOL_BYTES};
    struct wf_shmcoll *t;
    uint8_t flags;
    int rc;

    share_memory(&m, comm->wf->shmcoll_units < SEGMENTS_MAX);
    t = create_state(&m);
    if (!t && m.base)
        munmap(m.base, (size_t)m.offer.bytes);
    flags = describe_self(comm, t);
    rc = agree_on_outcome(&m, t, &flags);
    comm->shmcoll = t;
    comm->shmcoll_usable = t != NULL;
    if (!t)
        return;
    comm->wf->shmcoll_units++;
    t->writers_fence = flags & MUST_FENCE;
    t->oversubscribed = flags & OVERSUBSCRIBED;
    t->lines_used = t->oversubscribed ? WF_SHMCOLL_LINES_MAX : WF_SHMCOLL_LINES;
    t->blocks_used =
        t->oversubscribed ? WF_SHMCOLL_BLOCKS_MAX : WF_SHMCOLL_BLOCKS;
    /* where ranks outnumber CPUs few lines stay in the cache */
    t->ring_bytes = t->oversubscribed ? 0 : ring_bytes_for(t->size);
    if (rc || flags & CANNOT)
        wf_shmcoll_free(comm);
}

/* ---- the staging ring ---------------------------------------------------- */

static void set_up_staging(struct wf_shmcoll *t)
{
    struct wf_comm *comm = t->comm;
    struct setup m = {.comm = comm,
                      .bytes =
                          (size_t)t->size * t->chunk_count * t->chunk_bytes};
    uint8_t flags;

    share_memory(&m, comm->wf->shmcoll_units + STAGING_UNITS <= SEGMENTS_MAX);
    flags = m.base ? 0 : CANNOT;
    if (agree_on_outcome(&m, t, &flags) || flags & CANNOT) {
        if (m.base)
            munmap(m.base, m.bytes);
        return;
    }
    t->staging = m.base;
    t->staging_bytes = m.bytes;
    t->quota_units = 1 + STAGING_UNITS;
    comm->wf->shmcoll_units += STAGING_UNITS;
}

bool wf_shmcoll_ensure_staging(struct wf_shmcoll *t)
{
    if (wf_unlikely(t->staging_countdown) && --t->staging_countdown == 0)
        set_up_staging(t);
    return t->staging != NULL;
}

/* Returns true if mpi.ini names algorithms, which are then to be used. */
static bool has_user_rules(const struct wf_instance *wf)
{
    for (int k = 0; wf->coll_rules && k < WF_COLL_KINDS; k++)
        if (wf->coll_rules->count[k])
            return true;
    return false;
}

/* Returns true if this process lacked a resource, and so may not have sent the
 * messages that others wait for. */
static bool lacked_resources(int rc)
{
    return rc == MPI_ERR_NO_MEM || rc == MPI_ERR_OTHER;
}

static void set_up_late(struct wf_comm *comm)
{
    wf_shmcoll_count_call(comm, MPI_SUCCESS);
}

void wf_shmcoll_count_call(struct wf_comm *comm, int rc)
{
    bool late = comm->shmcoll_countdown == 1 && lacked_resources(rc);

    comm->catch_up = late ? set_up_late : NULL;
    if (comm->shmcoll_countdown && !late && --comm->shmcoll_countdown == 0 &&
        !has_user_rules(comm->wf))
        set_up(comm);
}

int wf_shmcoll_run_before_setup(wf_coll_builder *builder,
                                const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc = wf_coll_build(builder, a, true, &s);

    if (rc)
        return rc; /* for the other members this call never happened */
    rc = wf_sched_run(s);
    wf_shmcoll_count_call(a->comm, rc);
    return rc;
}

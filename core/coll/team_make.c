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
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "coll/team.h"
#include "os/membarrier.h"
#include "os/pages.h"
#include "progress/progress.h"

enum {
    KEY_MAX = 64,
    KEYS = 2, /* transports that join members to rank 0 */
    NAME_MAX = 24,
    OPEN_NS = 2000000000, /* longest wait for a transport that maps */
    ALL_BLOCKS = 2 << 20,
    BLOCK_MAX = 16 << 10, /* bytes */
    TEAMS_MAX = 64,       /* of one process at a time */
    /* bytes of a staging ring with three chunks for each member */
    ALL_CHUNKS = 12 << 20,
    ALL_LAPS = 4 << 20,    /* bytes of a ring that chunks wrap around */
    CHUNK_MAX = 256 << 10,
    PAGE = 4096, /* segments are whole pages */
    /* bytes of pages taken at once, by all members together */
    TAKEN_MOST = 256 << 20,
    STAGE_TEAMS = 8, /* a staging ring counts as so many segments */
    /* what members publish about themselves */
    CANNOT = 1,
    MUST_FENCE = 2,
    CROWDED = 4
};

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

struct making {
    struct wf_comm *comm;
    /* bytes in all; bytes at the end whose pages are taken when used */
    size_t bytes, later;
    struct offer offer;
    void *base; /* the segment, or NULL */
    struct weft_core *core;
    const struct key *key; /* that of this member's transport */
    weft_mem mem;          /* of rank 0 */
    weft_peer *peer;       /* to rank 0 */
    weft_rkey *rkey;
};

static uint32_t block_of(int size)
{
    uint32_t block = BLOCK_MAX;

    while (block * (uint32_t)size * WF_TEAM_BLOCKS_MOST > ALL_BLOCKS)
        block /= 2;
    return block;
}

static uint32_t chunk_of(int size)
{
    uint32_t chunk = CHUNK_MAX;

    while (chunk * (uint32_t)size * WF_TEAM_CHUNKS > ALL_CHUNKS)
        chunk /= 2;
    return chunk;
}

/* Returns the bytes of each member's chunks before the ring wraps. */
static uint32_t lap_of(int size)
{
    uint32_t lap = ALL_LAPS / (uint32_t)size, chunk = chunk_of(size);

    return lap > chunk ? lap / chunk * chunk : chunk;
}

static uint32_t chunks_of(int size)
{
    uint32_t chunks = lap_of(size) / chunk_of(size);

    return chunks > WF_TEAM_CHUNKS ? chunks : WF_TEAM_CHUNKS;
}

static size_t head_bytes(int size)
{
    return sizeof(struct wf_team_shared) +
           (size_t)size * sizeof(struct wf_team_rank);
}

/* Returns the bytes of the segment without the broadcast pool, in whole pages:
 * of a page that is unmapped in part, the thread sanitizer remembers its
 * writers, and reports them for the next mapping at that address. */
static size_t segment_bytes(int size)
{
    size_t bytes = head_bytes(size) + (size_t)size * WF_TEAM_BLOCKS_MOST *
                                          wf_team_stride(block_of(size));

    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* Finds the transport to that rank, which others use the offer's key with. */
static bool find_peer(struct making *m, int rank)
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

/* ---- rank 0 ---------------------------------------------------------------- */

static bool gives_memory(const struct weft_core *c)
{
    return !c->down && c->attr.caps & WEFT_CAP_MAP &&
           WEFT_HAS(c->ops, weft_ops, mem_alloc) &&
           WEFT_HAS(c->ops, weft_ops, mr_reg) &&
           WEFT_HAS(c->ops, weft_ops, mr_pack);
}

static bool is_of(const struct key *key, const struct weft_core *c)
{
    return strncmp(key->transport, c->plugin->name, NAME_MAX - 1) == 0;
}

static bool pack(struct key *key, const struct weft_core *c,
                 const weft_mem *mem)
{
    size_t n = KEY_MAX;
    weft_mr *mr;

    if (c->ops->mr_reg(c->ep, mem->base, mem->len, 0, &mr) < 0 ||
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
static bool find_cores(struct making *m, struct weft_core *cores[KEYS])
{
    bool fine = true;

    for (int r = 1; fine && r < m->comm->size; r++)
        fine = find_peer(m, r) && gives_memory(m->core) &&
               add_core(cores, m->core);
    m->core = NULL;
    return fine;
}

static void make_offer(struct making *m)
{
    struct weft_core *cores[KEYS] = {NULL};
    struct offer *offer = &m->offer;

    m->mem.len = m->bytes;
    m->mem.later = m->later;
    if (!find_cores(m, cores) ||
        cores[0]->ops->mem_alloc(cores[0]->ep, &m->mem) < 0)
        return;
    m->core = cores[0];
    if (!pack(&offer->key[0], cores[0], &m->mem) ||
        (cores[1] && !pack(&offer->key[1], cores[1], &m->mem)))
        return;
    offer->address = (uintptr_t)m->mem.base;
    offer->bytes = m->mem.len;
    m->base = m->mem.base;
}

/* ---- the others ------------------------------------------------------------ */

/* Finds the key for the transport by which this member reaches rank 0. */
static bool find_giver(struct making *m)
{
    if (!find_peer(m, 0) || !WEFT_HAS(m->core->ops, weft_ops, rkey_open) ||
        !WEFT_HAS(m->core->ops, weft_ops, rkey_map))
        return false;
    for (int i = 0; i < KEYS && !m->key; i++)
        if (is_of(&m->offer.key[i], m->core))
            m->key = &m->offer.key[i];
    if (m->key && WEFT_HAS(m->core->ops, weft_ops, connect))
        m->core->ops->connect(m->peer);
    return m->key && m->key->len <= KEY_MAX;
}

static bool opened(void *arg)
{
    struct making *m = arg;

    return m->core->ops->rkey_open(m->peer, m->key->bytes, (size_t)m->key->len,
                                   &m->rkey) >= 0;
}

static void take_offer(struct making *m)
{
    struct wf_instance *wf = m->comm->wf;

    if (m->offer.bytes != m->bytes || !find_giver(m) ||
        !wf_progress_serve(wf, -1, opened, m, wf_now(wf) + OPEN_NS))
        return;
    m->base = m->core->ops->rkey_map(m->rkey, m->offer.address,
                                     (size_t)m->offer.bytes);
    if (WEFT_HAS(m->core->ops, weft_ops, rkey_close))
        m->core->ops->rkey_close(m->peer, m->rkey);
}

/* ---- together -------------------------------------------------------------- */

/* Duplicates the mapping; the copy stays when the transport's is removed. */
static void keep_mapping(struct making *m)
{
    size_t now = m->bytes - m->later;

    if (m->base)
        m->base = mremap(m->base, 0, (size_t)m->offer.bytes, MREMAP_MAYMOVE);
    if (m->base == MAP_FAILED)
        m->base = NULL;
    if (m->base && now * (uint64_t)m->comm->size <= TAKEN_MOST)
        (void)wf_pages_take(m->base, now);
}

/* Returns the endpoints by which members reach each other. */
static uint32_t endpoints(const struct making *m)
{
    const struct wf_instance *wf = m->comm->wf;
    uint32_t mask = 0;

    for (int i = 0; i < wf->ep_count; i++)
        for (int k = 0; k < KEYS; k++)
            if (is_of(&m->offer.key[k], &wf->eps[i]))
                mask |= 1u << i;
    return mask;
}

/* Returns true if a message between any two members is one copy: there is one
 * transport, and it reaches any memory. */
static bool one_copy(const struct making *m)
{
    return !m->offer.key[1].transport[0] && m->core->attr.caps & WEFT_CAP_NO_MR;
}

static struct wf_team *new_team(struct making *m)
{
    struct wf_comm *comm = m->comm;
    struct wf_team *t = m->base ? calloc(1, sizeof *t) : NULL;

    if (!t)
        return NULL;
    *t = (struct wf_team){.comm = comm,
                          .shared = m->base,
                          .bytes = (size_t)m->offer.bytes,
                          .block = block_of(comm->size),
                          .chunk = chunk_of(comm->size),
                          .chunks = chunks_of(comm->size),
                          .teams = 1,
                          .size = comm->size,
                          .rank = comm->rank,
                          .mask = endpoints(m),
                          .one_copy = one_copy(m),
                          .queued = (uint32_t)comm->size > 4 * comm->wf->cpus,
                          .stage_in = (uint32_t)comm->wf->options->share_after};
    t->blocks = (unsigned char *)m->base + head_bytes(comm->size);
    t->shelf = (unsigned char *)m->base + m->bytes - m->later;
    return t;
}

static uint8_t say(struct wf_comm *comm, const struct wf_team *t)
{
    bool crowded = wf_progress_crowded(comm->wf);
    uint8_t said = t ? 0 : CANNOT;

    if (crowded)
        return said | MUST_FENCE | CROWDED;
    return wf_membarrier_register() ? said : said | MUST_FENCE;
}

static int send_offer(struct making *m)
{
    struct wf_sched *s = wf_sched_create(m->comm);

    if (s)
        wf_coll_bcast_tree(s, m->comm, &m->offer, sizeof m->offer,
                           wf_coll_byte(), 0);
    return wf_sched_run(s);
}

/* Maps the memory here: m->base, or NULL. Whether all members have it they are
 * to agree on. */
static void share(struct making *m, bool may)
{
    if (m->comm->rank == 0 && may)
        make_offer(m);
    if (send_offer(m) == MPI_SUCCESS && m->comm->rank != 0 && may)
        take_offer(m);
    keep_mapping(m);
}

/* Replaces *said by the OR of what all members say. On an error members may
 * know different outcomes: then t, if not NULL, tells it to those that go
 * on. */
static int agree(struct making *m, struct wf_team *t, uint8_t *said)
{
    int rc = wf_barrier_agree(m->comm, said);

    if (m->comm->rank == 0 && m->core)
        m->core->ops->mem_free(m->core->ep, &m->mem);
    if (t && rc)
        wf_store_release(&t->shared->ranks[t->rank].out, 1);
    return rc;
}

static void make(struct wf_comm *comm)
{
    struct making m = {.comm = comm,
                       .bytes = segment_bytes(comm->size) + WF_TEAM_SHELF,
                       .later = WF_TEAM_SHELF};
    struct wf_team *t;
    uint8_t said;
    int rc;

    share(&m, comm->wf->teams < TEAMS_MAX);
    t = new_team(&m);
    if (!t && m.base)
        munmap(m.base, (size_t)m.offer.bytes);
    said = say(comm, t);
    rc = agree(&m, t, &said);
    comm->team = t;
    comm->team_usable = t != NULL;
    if (!t)
        return;
    comm->wf->teams++;
    t->fence = said & MUST_FENCE;
    t->crowded = said & CROWDED;
    t->lines = t->crowded ? WF_TEAM_LINES_MOST : WF_TEAM_LINES;
    t->turns = t->crowded ? WF_TEAM_BLOCKS_MOST : WF_TEAM_BLOCKS;
    t->lap = t->crowded ? 0 : lap_of(t->size); /* few lines stay in the cache */
    if (rc || said & CANNOT)
        wf_team_free(comm);
}

/* ---- the staging ring ------ */

static void make_stage(struct wf_team *t)
{
    struct wf_comm *comm = t->comm;
    struct making m = {.comm = comm,
                       .bytes = (size_t)t->size * t->chunks * t->chunk};
    uint8_t said;

    share(&m, comm->wf->teams + STAGE_TEAMS <= TEAMS_MAX);
    said = m.base ? 0 : CANNOT;
    if (agree(&m, t, &said) || said & CANNOT) {
        if (m.base)
            munmap(m.base, m.bytes);
        return;
    }
    t->stage = m.base;
    t->stage_bytes = m.bytes;
    t->teams = 1 + STAGE_TEAMS;
    comm->wf->teams += STAGE_TEAMS;
}

bool wf_team_stage(struct wf_team *t)
{
    if (wf_unlikely(t->stage_in) && --t->stage_in == 0)
        make_stage(t);
    return t->stage != NULL;
}

/* Returns true if mpi.ini names algorithms, which are then to be used. */
static bool rules_given(const struct wf_instance *wf)
{
    for (int k = 0; wf->coll_rules && k < WF_COLL_KINDS; k++)
        if (wf->coll_rules->count[k])
            return true;
    return false;
}

/* Returns true if this process lacked a resource, and so may not have sent the
 * messages that others wait for. */
static bool is_starved(int rc)
{
    return rc == MPI_ERR_NO_MEM || rc == MPI_ERR_OTHER;
}

static void make_late(struct wf_comm *comm)
{
    wf_team_count(comm, MPI_SUCCESS);
}

void wf_team_count(struct wf_comm *comm, int rc)
{
    bool late = comm->team_in == 1 && is_starved(rc);

    comm->catch_up = late ? make_late : NULL;
    if (comm->team_in && !late && --comm->team_in == 0 && !rules_given(comm->wf))
        make(comm);
}

int wf_team_before(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc = wf_coll_build(builder, a, true, &s);

    if (rc)
        return rc; /* to the others this call never happened */
    rc = wf_sched_run(s);
    wf_team_count(a->comm, rc);
    return rc;
}

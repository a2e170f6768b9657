/* Memory that members of a communicator share: see memory.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "comm/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "config/config.h"
#include "group/comm.h"
#include "process/endpoint.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/location.h"

enum {
    OPEN_TIMEOUT_NS = 2000000000, /* longest wait for a transport that maps */
    OPEN_MEMBER_NS = 10000000     /* and for each member that asks rank 0 */
};

bool wf_memory_give_reason(struct wf_memory *m, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!m->why[0])
        vsnprintf(m->why, sizeof m->why, fmt, args);
    va_end(args);
    return false;
}

static int rank_of(const struct wf_memory *m, int member)
{
    return m->ranks ? m->ranks[member] : member;
}

static struct wf_instance *engine_of(const struct wf_memory *m)
{
    return m->wf ? m->wf : m->comm->wf;
}

/* Finds the transport to that rank, which others use the offer's key with. */
static bool find_peer(struct wf_memory *m, int rank)
{
    struct wf_comm *comm = m->comm;
    struct weft_loc *loc =
        wf_location(engine_of(m), wf_group_proc(comm->peers, rank));
    unsigned lane;

    if (!loc || loc->failed || (!loc->lanes && wf_location_connect(loc) != 0))
        return wf_memory_give_reason(m, "rank %d cannot be reached", rank);
    if (loc->order)
        return wf_memory_give_reason(
            m, "the route to rank %d has failover or encryption", rank);
    if (wf_comm_route_choose_lane(comm, m->space, loc, &lane) != 0)
        return wf_memory_give_reason(m, "no route leads to rank %d", rank);
    m->core = loc->lane[lane].core;
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
static void repeat_mapping(struct wf_memory *m, void *base, int fd)
{
    void *again = fd >= 0 ? mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
                                 MAP_SHARED, fd, 0)
                          : mremap(base, 0, m->bytes, MREMAP_MAYMOVE);

    WF_ASSERT(base && again != base);
    if (again != MAP_FAILED)
        m->base = again;
    else
        wf_memory_give_reason(m, "mapping %zu bytes failed: %s", m->bytes,
                              strerror(errno));
}

/* ---- the first member ---------------------------------------------------- */

static bool can_share_memory(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_MAP &&
           WEFT_HAS(c->ops, weft_ops, mem_alloc) &&
           WEFT_HAS(c->ops, weft_ops, mr_reg) &&
           WEFT_HAS(c->ops, weft_ops, mr_pack);
}

bool wf_memory_is_key_of(const struct wf_memory_key *key,
                         const struct weft_core *c)
{
    return strncmp(key->transport, c->plugin->name, WF_MEMORY_NAME_MAX - 1) ==
           0;
}

bool wf_memory_make_key(struct wf_memory_key *key, const struct weft_core *c,
                        const weft_mem *mem)
{
    size_t n = WF_MEMORY_KEY_MAX;
    weft_mr *mr;

    if (c->ops->mr_reg(c->ep, mem->base, mem->len, &mr) < 0 ||
        c->ops->mr_pack(c->ep, mr, key->bytes, &n) < 0)
        return false;
    key->len = n;
    strncpy(key->transport, c->plugin->name, WF_MEMORY_NAME_MAX - 1);
    return true;
}

/* Adds a transport; the one whose memory it is to be comes first. */
static bool add_core(struct weft_core *cores[WF_MEMORY_KEYS],
                     struct weft_core *c)
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
static bool find_cores(struct wf_memory *m,
                       struct weft_core *cores[WF_MEMORY_KEYS])
{
    bool fine = true;

    for (int i = 1; fine && i < m->count; i++)
        fine = find_peer(m, rank_of(m, i)) &&
               ((can_share_memory(m->core) && add_core(cores, m->core)) ||
                wf_memory_give_reason(
                    m,
                    "rank %d is reached by '%s', which shares no "
                    "memory with it",
                    rank_of(m, i), m->core->config->name));
    m->core = NULL;
    return fine;
}

static void make_offer(struct wf_memory *m)
{
    struct weft_core *cores[WF_MEMORY_KEYS] = {NULL};
    struct wf_memory_offer *offer = &m->offer;

    m->mem.size = sizeof m->mem;
    m->mem.len = m->bytes;
    m->mem.later = m->lazy_bytes;
    if (!find_cores(m, cores))
        return;
    if (cores[0]->ops->mem_alloc(cores[0]->ep, &m->mem) < 0) {
        wf_memory_give_reason(m, "'%s' has no %zu bytes of memory to share",
                              cores[0]->config->name, m->bytes);
        m->mem.base = NULL;
        return;
    }
    m->core = cores[0];
    if (!wf_memory_make_key(&offer->key[0], cores[0], &m->mem) ||
        (cores[1] && !wf_memory_make_key(&offer->key[1], cores[1], &m->mem)))
        return;
    offer->address = (uintptr_t)m->mem.base;
    offer->bytes = m->mem.len;
    offer->fd = mapping_fd(m->core, &m->mem);
    repeat_mapping(m, m->mem.base, (int)offer->fd);
}

void wf_memory_offer(struct wf_memory *m)
{
    wf_engine_switch(m->comm->wf, engine_of(m));
    make_offer(m);
    wf_engine_switch(engine_of(m), m->comm->wf);
}

/* ---- the others ---------------------------------------------------------- */

/* Finds the key for the transport by which this member reaches the first. */
static bool find_key(struct wf_memory *m)
{
    if (!find_peer(m, rank_of(m, 0)) ||
        !WEFT_HAS(m->core->ops, weft_ops, rkey_open) ||
        !WEFT_HAS(m->core->ops, weft_ops, rkey_map))
        return false;
    for (int i = 0; i < WF_MEMORY_KEYS && !m->key; i++)
        if (wf_memory_is_key_of(&m->offer.key[i], m->core))
            m->key = &m->offer.key[i];
    if (m->key && WEFT_HAS(m->core->ops, weft_ops, connect))
        m->core->ops->connect(m->peer);
    return m->key && m->key->len <= WF_MEMORY_KEY_MAX;
}

static bool is_key_open(void *arg)
{
    struct wf_memory *m = arg;

    return m->core->ops->rkey_open(m->peer, m->key->bytes, (size_t)m->key->len,
                                   &m->rkey) >= 0;
}

/* Returns the descriptor of the memory that is mapped here at `base`. A peer of
 * which any memory is mapped is a thread of the first member's process. */
static int find_mapping_fd(const struct wf_memory *m, void *base)
{
    enum { SAME_PROCESS = WEFT_CAP_MAP | WEFT_CAP_NO_MR };
    weft_mem mem = {.size = sizeof mem, .base = base, .len = m->bytes};

    return (m->core->attr.caps & SAME_PROCESS) == SAME_PROCESS
               ? (int)m->offer.fd
               : mapping_fd(m->core, &mem);
}

static void map_offer(struct wf_memory *m)
{
    struct wf_instance *wf = engine_of(m);
    uint64_t limit = OPEN_TIMEOUT_NS + (uint64_t)m->count * OPEN_MEMBER_NS;
    void *base;

    if (!find_key(m) ||
        !wf_progress_poll_until(wf, -1, is_key_open, m, wf_now(wf) + limit)) {
        wf_memory_give_reason(m, "the memory of rank %d cannot be mapped",
                              rank_of(m, 0));
        return;
    }
    base = m->core->ops->rkey_map(m->rkey, m->offer.address, m->bytes);
    if (base)
        repeat_mapping(m, base, find_mapping_fd(m, base));
    if (WEFT_HAS(m->core->ops, weft_ops, rkey_close))
        m->core->ops->rkey_close(m->peer, m->rkey);
}

void wf_memory_accept(struct wf_memory *m)
{
    if (m->offer.bytes != m->bytes) {
        wf_memory_give_reason(m, "rank %d offers no memory", rank_of(m, 0));
        return;
    }
    wf_engine_switch(m->comm->wf, engine_of(m));
    map_offer(m);
    wf_engine_switch(engine_of(m), m->comm->wf);
}

void wf_memory_settle(struct wf_memory *m)
{
    wf_engine_switch(m->comm->wf, engine_of(m));
    if (m->mem.base)
        m->core->ops->mem_free(m->core->ep, &m->mem);
    m->mem.base = NULL;
    wf_engine_switch(engine_of(m), m->comm->wf);
}

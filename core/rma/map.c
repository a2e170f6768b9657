/* Memory of a window that the members of a node share: see map.h.
 *
 *   all              know size and node of each member
 *   first of a node  takes memory for all its mates from a
 *                    transport, or one that is kept (segment.h)
 *   all              get the offers (one allgather), map that of their node
 *   all              tell who has mapped it, and take their pages
 *   all              tell who has memory, unless they brought it and have all
 *                    mapped it
 *
 * DESIGN  One segment per node, so a member maps one thing and not one for each
 * mate, and shared windows are contiguous. The pages of a member's memory are
 * taken by itself, on its own NUMA node and before it is used: where memory is
 * short the call says so, and no access ends in SIGBUS.
 *
 * Where a segment cannot be had the members of that node have memory of their
 * own, and operations among them are messages; of MPI_Win_allocate_shared that
 * is an error. Members of MPI_Win_create have their memory already: their
 * segment has the headers.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/map.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "coll/path.h"
#include "comm/memory.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "object/info.h"
#include "os/pages.h"
#include "os/tuning.h"
#include "report/error.h"
#include "rma/map_wait.h"
#include "rma/mates.h"
#include "rma/program_memory.h"

enum { PAGE = 4096, BASE_ALIGN = 64 };

/* The memory of a member, as it tells the others: SHARED_ONCE if it has mapped
 * it and cannot keep it for another window. */
enum outcome { NO_MEMORY, NOT_SHARED, OWN, SHARED_ONCE, SHARED };

void wf_map_free(struct wf_win *win)
{
    if (!win->map)
        return;
    if (win->map->owner)
        wf_segment_put(win->map->owner);
    wf_program_memory_unmap(win->map);
    wf_mates_free(win->map);
    win->map = NULL;
}

/* ---- the segment --------------------------------------------------------- */

/* The offer of a first mate to the others. */
struct segment_offer {
    uint64_t known;   /* number of a segment that all have; 0: memory */
    uint64_t keep_as; /* number by which all keep the new one; or 0 */
    uint64_t forget;  /* number of one to be forgotten; or 0 */
    struct wf_memory_offer memory;
    struct wf_program_memory program; /* of each mate, in MPI_Win_create */
};

/* Returns the bytes that each member sends. */
static size_t count_offer_bytes(const struct wf_win *win)
{
    return wf_win_is_of_program(win) ? sizeof(struct segment_offer)
                                     : offsetof(struct segment_offer, program);
}

/* Returns the offer of a mate. */
static const struct segment_offer *offer_of(const struct wf_win *win,
                                            uint32_t mate)
{
    return (void *)((char *)win->scratch +
                    (size_t)win->map->ranks[mate] * count_offer_bytes(win));
}

/* Makes the record of memory that this process has mapped. */
static struct wf_segment *own_mapping(struct wf_memory *memory)
{
    struct wf_segment *s =
        memory->base ? wf_segment_make(memory->base, memory->bytes) : NULL;

    if (memory->base && !s)
        munmap(memory->base, memory->bytes);
    return s;
}

/* Shared windows are contiguous unless all members allow that they are not. */
static bool is_contiguous(const struct wf_win *win)
{
    if (win->flavor != MPI_WIN_FLAVOR_SHARED)
        return false;
    for (int i = 0; i < win->comm->size; i++)
        if (!(win->members[i].flags & WF_MEMBER_NONCONTIG))
            return true;
    return false;
}

static size_t align_up(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

/* Computes where everything is, the same in all mates. lazy: the bytes after
 * the headers. False: it is more than an address space. */
static bool lay_out(const struct wf_win *win, struct wf_win_map *m,
                    size_t *lazy)
{
    size_t at, first;

    m->contiguous = is_contiguous(win);
    m->header_bytes = wf_rma_header_bytes(m->mates);
    at = m->mates * m->header_bytes;
    if (m->mates > WF_RMA_MEMBERS_MOST || at >= SIZE_MAX / 2)
        return false;
    first = at = align_up(at, PAGE);
    for (uint32_t i = 0; i < m->mates; i++) {
        uint64_t size =
            wf_win_is_of_program(win) ? 0 : win->members[m->ranks[i]].size;
        size_t align = m->contiguous ? 1 : size < PAGE ? BASE_ALIGN : PAGE;

        m->places[i] = align_up(at, align);
        if (__builtin_add_overflow(m->places[i], size, &at) ||
            at >= SIZE_MAX / 2)
            return false;
    }
    m->bytes = align_up(at, PAGE);
    if (m->bytes < WF_SHARE_FROM) /* transports have no less */
        m->bytes = WF_SHARE_FROM;
    *lazy = m->bytes - first;
    return true;
}

/* Takes the pages of this member's memory, and clears it if another window had
 * the segment before. */
static bool take_pages(const struct wf_win *win, const struct wf_win_map *m)
{
    size_t from = m->places[m->me] & ~(size_t)(PAGE - 1);
    size_t to = m->places[m->me] + (size_t)win->size;
    struct wf_segment *s = m->owner;

    if (win->size == 0 || wf_win_is_of_program(win))
        return true;
    if (from < s->taken_from || to > s->taken_to) {
        if (!wf_pages_populate(m->segment + from, to - from))
            return false;
        s->taken_from = from;
        s->taken_to = to;
    }
    if (m->reused)
        memset(m->segment + m->places[m->me], 0, (size_t)win->size);
    return true;
}

/* Checks what the first mate has prepared. */
static bool are_headers_valid(const struct wf_win_map *m)
{
    for (uint32_t i = 0; i < m->mates; i++)
        if (wf_map_header(m, i)->version != WF_RMA_VERSION ||
            wf_map_header(m, i)->members != m->mates)
            return false;
    return true;
}

/* Prepares the headers, all of whose words are 0 then but for the marks of
 * processes, which stay those of the mates. */
static void init_headers(struct wf_win_map *m)
{
    for (uint32_t i = 0; i < m->mates; i++) {
        struct wf_rma_header *h = wf_map_header(m, i);

        memset(&h->lock, 0,
               m->header_bytes - offsetof(struct wf_rma_header, lock));
        wf_rma_header_init(h, m->mates);
    }
}

/* Makes the first mate's offer: a segment that is kept, or new memory. */
static void make_offer(struct wf_win *win, struct wf_memory *memory,
                       struct segment_offer *o)
{
    struct wf_win_map *m = win->map;

    m->owner = wf_segment_choose(win->parent, m->bytes);
    m->reused = m->owner != NULL;
    if (m->owner) {
        o->known = m->owner->id;
    } else {
        wf_memory_offer(memory);
        m->owner = own_mapping(memory);
        if (m->owner && m->bytes <= WF_SEGMENT_KEPT_MOST)
            o->keep_as = wf_segment_next_id(win->parent);
        if (m->owner)
            o->memory = memory->offer;
    }
    o->forget = wf_segment_choose_oldest(win->parent);
    if (!m->owner)
        return;
    m->segment = m->owner->base;
    init_headers(m);
}

/* Maps the offer of the first mate. */
static void accept_offer(struct wf_win *win, struct wf_memory *memory,
                         const struct segment_offer *o)
{
    struct wf_win_map *m = win->map;

    if (o->known) {
        m->owner = wf_segment_find(win->parent, o->known);
        m->reused = true;
        if (!m->owner)
            wf_memory_give_reason(memory, "a segment was not kept");
    } else if (memory->bytes) {
        memory->offer = o->memory;
        wf_memory_accept(memory);
        m->owner = own_mapping(memory);
    }
    m->segment = m->owner ? m->owner->base : NULL;
}

/* Finds the memory of all mates here. */
static bool find_memory(struct wf_win *win, struct wf_memory *memory)
{
    struct wf_win_map *m = win->map;
    bool fine = true;

    for (uint32_t i = 0; i < m->mates; i++)
        m->memory[i] = m->segment + m->places[i];
    if (!wf_win_is_of_program(win)) {
        win->base = m->memory[m->me];
        return true;
    }
    for (uint32_t i = 0; fine && i < m->mates; i++)
        fine =
            wf_program_memory_map(win, i, &offer_of(win, i)->program, memory);
    return fine;
}

/* Has this mate use what the first one, or each of them, offers. */
static enum outcome use_memory(struct wf_win *win, struct wf_memory *memory)
{
    const struct segment_offer *o = offer_of(win, 0);
    struct wf_win_map *m = win->map;

    if (m->me > 0)
        accept_offer(win, memory, o);
    m->keep_as = o->keep_as;
    if (o->forget)
        wf_segment_forget(win->parent, o->forget);
    if (!m->segment)
        return NOT_SHARED;
    if (!are_headers_valid(m)) {
        wf_memory_give_reason(memory, "another version of Weft made it");
        return NOT_SHARED;
    }
    if (!m->reused)
        wf_process_mark_set(&wf_map_header(m, m->me)->process);
    if (!find_memory(win, memory))
        return NOT_SHARED;
    if (!wf_map_init_waiting(win))
        return wf_win_is_of_program(win) ? NOT_SHARED : NO_MEMORY;
    return o->keep_as && !wf_segment_can_keep(win->parent) ? SHARED_ONCE
                                                           : SHARED;
}

void wf_map_spoil(struct wf_win *win)
{
    win->block = NULL;
    if (win->map && win->map->owner)
        wf_store_relaxed(&win->map->owner->spoiled, 1);
}

/* ---- together ------------------------------------------------------------ */

static enum outcome take_own_memory(struct wf_win *win)
{
    size_t room = align_up((size_t)win->size + 1, BASE_ALIGN);

    win->memory = aligned_alloc(BASE_ALIGN, room);
    if (!win->memory)
        return NO_MEMORY;
    memset(win->memory, 0, room);
    win->base = win->memory;
    return OWN;
}

int wf_map_gather(struct wf_win *win, struct wf_comm *over, const void *mine,
                  size_t bytes, void *all)
{
    struct wf_type *byte = wf_type_of(MPI_BYTE);
    int rc;

    wf_engine_switch(win->wf, over->wf);
    rc = wf_mpi_allgather(over->wf, mine, (MPI_Count)bytes, byte, all,
                          (MPI_Count)bytes, byte, over);
    wf_engine_switch(over->wf, win->wf);
    return rc;
}

/* Tells the others what this process has, and learns of theirs. */
static int tell_outcome(struct wf_win *win, enum outcome mine)
{
    uint8_t byte = (uint8_t)mine;

    return wf_map_gather(win, win->parent, &byte, 1, win->scratch);
}

static int report_outcome(const struct wf_win *win, const char *why)
{
    const uint8_t *outcomes = win->scratch;
    int me = win->comm->rank;

    if (outcomes[me] == NO_MEMORY)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a window of %lld bytes",
                        (long long)win->size);
    for (int i = 0; i < win->comm->size; i++)
        if (outcomes[i] == NO_MEMORY)
            return wf_error(MPI_ERR_NO_MEM,
                            "rank %d has no memory for the window", i);
    for (int i = 0; win->flavor == MPI_WIN_FLAVOR_SHARED && i < win->comm->size;
         i++)
        if (outcomes[i] == NOT_SHARED)
            return wf_error(MPI_ERR_RMA_SHARED,
                            "rank %d cannot share memory with the others%s%s",
                            i, why[0] ? ": here " : "", why);
    return MPI_SUCCESS;
}

/* Returns what all mates can do with the segment: the least of their
 * outcomes. */
static enum outcome find_common_outcome(const struct wf_win_map *m,
                                        const uint8_t *outcomes)
{
    enum outcome least = SHARED;

    for (uint32_t i = 0; i < m->mates; i++)
        if (outcomes[m->ranks[i]] < least)
            least = outcomes[m->ranks[i]];
    return least;
}

/* Gives this process what it has in the end: its part of the segment, if all
 * mates have mapped that, or else memory of its own. The first mate answers the
 * others while they map; pages, which may take long, are taken after that. */
static enum outcome take_memory(struct wf_win *win, struct wf_memory *memory)
{
    struct wf_win_map *m = win->map;

    if (m) {
        enum outcome common = find_common_outcome(m, win->scratch);

        if (common == SHARED && m->keep_as)
            wf_segment_keep(win->parent, m->owner, m->keep_as);
        if (common >= SHARED_ONCE) {
            wf_map_choose_fence(m);
            return take_pages(win, m) ? SHARED : NO_MEMORY;
        }
        wf_log(win->wf, WF_LOG_INFO, "a window's memory is not shared%s%s",
               memory->why[0] ? ": " : "", memory->why);
        if (win->flavor == MPI_WIN_FLAVOR_SHARED)
            return NOT_SHARED;
    }
    wf_map_free(win);
    return wf_win_is_of_program(win) ? OWN : take_own_memory(win);
}

/* Exchanges the offers of all nodes, and maps that of this one. */
static int share_segments(struct wf_win *win, struct wf_memory *memory,
                          enum outcome *mine)
{
    struct wf_win_map *m = win->map;
    struct segment_offer own = {0};
    int rc;

    if (m && lay_out(win, m, &memory->lazy_bytes))
        memory->bytes = m->bytes;
    if (m && m->me == 0 && memory->bytes)
        make_offer(win, memory, &own);
    if (m && wf_win_is_of_program(win))
        wf_program_memory_offer(win, &own.program);
    rc = wf_map_gather(win, win->parent, &own, count_offer_bytes(win),
                       win->scratch);
    if (rc == MPI_SUCCESS && m)
        *mine = use_memory(win, memory);
    return rc;
}

static int check_one_node(const struct wf_win *win)
{
    for (int i = 1; i < win->comm->size; i++)
        if (win->members[i].node != win->members[0].node)
            return wf_error(MPI_ERR_RMA_SHARED,
                            "ranks 0 and %d are on two nodes and cannot share "
                            "memory: make the window over a communicator of "
                            "MPI_Comm_split_type(MPI_COMM_TYPE_SHARED)",
                            i);
    return MPI_SUCCESS;
}

/* Returns whether some members have told that they fail. */
static bool has_failed_member(const struct wf_win *win)
{
    return memchr(win->scratch, NOT_SHARED, (size_t)win->comm->size) != NULL;
}

static int share_and_agree(struct wf_win *win)
{
    struct wf_memory memory = {.comm = win->comm, .space = WF_SPACE_RMA};
    enum outcome mine = OWN;
    bool here = false, any = wf_mates_find_sharing_nodes(win, &here);
    bool of_program = wf_win_is_of_program(win), tells = !of_program;
    int rc = MPI_SUCCESS;

    if (of_program) /* the program's blocks are those of the first engine */
        memory.wf = wf_home(win->wf);
    if (here && !(win->map = wf_mates_make(win)))
        mine = of_program ? NOT_SHARED : NO_MEMORY;
    if (win->map) {
        memory.ranks = win->map->ranks;
        memory.count = (int)win->map->mates;
    }
    if (any) {
        rc = share_segments(win, &memory, &mine);
        if (rc == MPI_SUCCESS)
            rc = tell_outcome(win, mine);
        /* No message comes before a failed map is gone. */
        if (rc == MPI_SUCCESS)
            tells |= has_failed_member(win);
    }
    if (rc == MPI_SUCCESS && mine != NO_MEMORY)
        mine = take_memory(win, &memory);
    if (rc == MPI_SUCCESS && tells)
        rc = tell_outcome(win, mine);
    wf_memory_settle(&memory);
    if (rc == MPI_SUCCESS && !of_program)
        rc = report_outcome(win, memory.why);
    return rc;
}

void *wf_map_allocate_scratch(const struct wf_comm *comm)
{
    return calloc((size_t)comm->size, sizeof(struct segment_offer));
}

int wf_map_share_memory(struct wf_win *win)
{
    int rc = MPI_SUCCESS;

    if (win->flavor == MPI_WIN_FLAVOR_SHARED)
        rc = check_one_node(win);
    else if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return MPI_SUCCESS;
    return rc ? rc : share_and_agree(win);
}

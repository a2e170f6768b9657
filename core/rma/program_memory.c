/* Memory of the program as that of a window: see program_memory.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/program_memory.h"

#include <sys/mman.h>

#include "comm/blocks.h"
#include "process/ranks.h"
#include "progress/engines.h"

/* Returns what all processes call the process of this rank: the name of its
 * first rank. */
static uint64_t name_process(const struct wf_rank *rank)
{
    return wf_job_name(&rank->job, rank->ranks ? rank->ranks->first : rank->id);
}

void wf_program_memory_pin(struct wf_win *win, struct wf_win_member *me)
{
    struct wf_instance *home = wf_home(win->wf);

    me->process = name_process(win->wf->rank);
    if (!wf_win_is_of_program(win) || !win->size)
        return;
    wf_engine_switch(win->wf, home);
    win->block = wf_block_pin(home->rank, win->base, (size_t)win->size);
    wf_engine_switch(home, win->wf);
    if (win->block)
        me->flags |= WF_MEMBER_BLOCK;
}

void wf_program_memory_unpin(struct wf_win *win)
{
    struct wf_instance *home = wf_home(win->wf);

    if (!win->block)
        return;
    wf_engine_switch(win->wf, home);
    wf_block_unpin(home->rank, win->block);
    wf_engine_switch(home, win->wf);
    win->block = NULL;
}

bool wf_program_memory_is_reachable(const struct wf_win_member *const *members,
                                    int count)
{
    bool one_process = true, in_blocks = true, some = false;

    for (int i = 0; i < count; i++) {
        one_process &= members[i]->process == members[0]->process;
        in_blocks &= !members[i]->size || members[i]->flags & WF_MEMBER_BLOCK;
        some |= members[i]->size > 0;
    }
    return some && (one_process || in_blocks);
}

void wf_program_memory_offer(const struct wf_win *win,
                             struct wf_program_memory *offer)
{
    const struct wf_block *b = win->block;

    offer->address = (uintptr_t)win->base;
    if (!b || !wf_memory_make_key(&offer->key, b->core, &b->mem))
        return;
    offer->block = (uintptr_t)b->mem.base;
    offer->block_bytes = b->mem.len;
}

/* Returns whether the bytes that a member has published lie in its block. */
static bool is_inside(const struct wf_program_memory *offer, uint64_t size)
{
    uint64_t at = offer->address - offer->block;

    return offer->block_bytes <= SIZE_MAX / 2 && at <= offer->block_bytes &&
           size <= offer->block_bytes - at;
}

/* Maps the block of a mate; NULL: that is not possible. */
static char *map_block(struct wf_win *win, uint32_t mate,
                       const struct wf_program_memory *offer,
                       struct wf_memory *why)
{
    struct wf_win_map *m = win->map;
    struct wf_memory block = {.comm = win->comm,
                              .wf = why->wf,
                              .ranks = &m->ranks[mate],
                              .count = 1,
                              .space = WF_SPACE_RMA,
                              .bytes = (size_t)offer->block_bytes};

    block.offer = (struct wf_memory_offer){.address = offer->block,
                                           .bytes = offer->block_bytes,
                                           .fd = -1,
                                           .key = {offer->key}};
    wf_memory_accept(&block);
    if (!block.base)
        wf_memory_give_reason(why, "%s", block.why);
    m->blocks[mate].iov_base = block.base;
    m->blocks[mate].iov_len = block.bytes;
    return block.base;
}

bool wf_program_memory_map(struct wf_win *win, uint32_t mate,
                           const struct wf_program_memory *offer,
                           struct wf_memory *why)
{
    const struct wf_win_map *m = win->map;
    const struct wf_win_member *me = &win->members[win->comm->rank];
    const struct wf_win_member *other = &win->members[m->ranks[mate]];
    char *block;

    if (!other->size)
        return true; /* there is nothing to be reached */
    if (other->process == me->process) {
        m->memory[mate] = (char *)(uintptr_t)offer->address;
        return true;
    }
    if (!is_inside(offer, other->size))
        return wf_memory_give_reason(why, "rank %d offers no memory",
                                     m->ranks[mate]);
    block = map_block(win, mate, offer, why);
    if (block)
        m->memory[mate] = block + (offer->address - offer->block);
    return block != NULL;
}

void wf_program_memory_unmap(struct wf_win_map *m)
{
    for (uint32_t i = 0; m->blocks && i < m->mates; i++)
        if (m->blocks[i].iov_base)
            munmap(m->blocks[i].iov_base, m->blocks[i].iov_len);
}

/* Memory of the program as that of a window: MPI_Win_create.
 *
 * The members of a node have it mapped where each of them can reach that of all
 * others:
 *
 *   ranks of one process   at its address, whatever memory it is
 *   else                   in a block of MPI_Alloc_mem (comm/blocks.h), which
 *                          the others map
 *
 *   each member    pins its block, and publishes which of both holds
 *   all            know for which nodes there is a segment with headers (map.c)
 *   mates          offer their blocks beside it, and map those of the others
 *
 * So a window that cannot be mapped costs nothing. Each mapping is the window's
 * own, and stays as long as it, whatever becomes of the connection or of the
 * block. The block is pinned until MPI_Win_free.
 *
 * LOCK  the API section of the window's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_PROGRAM_MEMORY_H
#define WF_RMA_PROGRAM_MEMORY_H

#include "comm/memory.h"
#include "rma/map.h"

/* The offer of a member: its window memory, and the block in which it lies. */
struct wf_program_memory {
    uint64_t address, block, block_bytes;
    struct wf_memory_key key;
};

/* Pins the block in which the window memory of this process lies, if there is
 * one, and adds to what this process publishes. */
void wf_program_memory_pin(struct wf_win *, struct wf_win_member *me);
/* Ends that: the window is freed, or nobody has mapped the block. */
void wf_program_memory_unpin(struct wf_win *);

/* Returns whether these members, which are on one node, can have each other's
 * memory mapped. */
bool wf_program_memory_is_reachable(const struct wf_win_member *const *,
                                    int count);

void wf_program_memory_offer(const struct wf_win *, struct wf_program_memory *);
/* Maps the memory of a mate, as it offers it. False: it cannot be mapped, and
 * *why says why. */
bool wf_program_memory_map(struct wf_win *, uint32_t mate,
                           const struct wf_program_memory *,
                           struct wf_memory *why);
/* Unmaps what is mapped of the mates' memory. */
void wf_program_memory_unmap(struct wf_win_map *);

#endif

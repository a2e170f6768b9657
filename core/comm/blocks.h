/* Blocks of memory that transports gave to the program for MPI_Alloc_mem, and
 * that peers may map.
 *
 *   allocated --freed by the program--> spare --> allocated, by the next call
 *                                             \-> returned to the transport
 *
 * A transport makes a block by several system calls, and the kernel clears its
 * pages: milliseconds for a large one. So what the program frees is kept for
 * the next call of that size, within WF_SPARE_BYTES; the oldest ones go first,
 * and all if a transport can make none any more.
 *
 * Windows pin the blocks in which their memory lies. A block that the program
 * frees meanwhile stays as it is until the last pin ends: other processes, and
 * other ranks of this one, operate on it.
 *
 * LOCK  the API section of the rank's first engine
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_BLOCKS_H
#define WF_COMM_BLOCKS_H

#include "process/rank.h"

struct wf_block {
    struct wf_block *next;
    struct weft_core *core; /* whose memory it is */
    weft_mem mem;
    uint32_t pins;
    bool freed; /* by the program, while it was pinned */
};

/* Allocates whole pages from a transport; NULL: it cannot. */
void *wf_block_allocate(struct wf_instance *, size_t bytes);
/* Frees a block, for the program; false: this address is of none. */
bool wf_block_free(struct wf_rank *, const void *base);
/* Returns the block in which all of these bytes lie, pinned once more; NULL:
 * there is none. */
struct wf_block *wf_block_pin(struct wf_rank *, const void *base, size_t bytes);
void wf_block_unpin(struct wf_rank *, struct wf_block *);
/* Returns all blocks to their transports. */
void wf_blocks_fini(struct wf_rank *);

#endif

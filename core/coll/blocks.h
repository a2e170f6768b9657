/* Reduction by blocks: every rank gets its block from every other and reduces
 * them, segment by segment.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_BLOCKS_H
#define WF_COLL_BLOCKS_H

#include "base.h"

struct wf_coll_blocks;

/* Reduces the blocks as described there. */
void wf_coll_reduce_blocks(struct wf_coll_blocks *);

/* Receives the segments that the `reduced` callbacks of the other ranks send,
 * into their blocks of a's rbuf. These blocks may overlap src, because a rank
 * sends a segment only after it has received this rank's contribution to it. */
void wf_coll_recv_reduced(struct wf_coll_blocks *);

#endif

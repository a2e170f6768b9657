/* The sizes of a segment and of a staging ring, which are the same for all
 * members: they follow from the number of members alone.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_SIZES_H
#define WF_SHMCOLL_SIZES_H

#include "coll/shm/shmcoll.h"

enum { PAGE = 4096 /* segments are whole pages */ };

static inline uint32_t block_bytes_for(int size)
{
    uint32_t block = WF_SHMCOLL_BLOCK_MOST;

    WF_ASSERT(size > 1 && size <= WF_SHMCOLL_RANKS_MAX);
    while (block * (uint32_t)size * WF_SHMCOLL_BLOCKS_MAX >
           WF_SHMCOLL_ALL_BLOCKS)
        block /= 2;
    return block;
}

static inline uint32_t chunk_bytes_for(int size)
{
    uint32_t chunk = WF_SHMCOLL_CHUNK_MOST;

    while (chunk * (uint32_t)size * WF_SHMCOLL_CHUNKS_MIN >
           WF_SHMCOLL_ALL_CHUNKS)
        chunk /= 2;
    return chunk;
}

/* Returns the bytes of each member's chunks before the ring wraps. */
static inline uint32_t ring_bytes_for(int size)
{
    uint32_t ring = WF_SHMCOLL_ALL_RINGS / (uint32_t)size,
             chunk = chunk_bytes_for(size);

    return ring > chunk ? ring / chunk * chunk : chunk;
}

static inline uint32_t chunk_count_for(int size)
{
    uint32_t chunks = ring_bytes_for(size) / chunk_bytes_for(size);

    return chunks > WF_SHMCOLL_CHUNKS_MIN ? chunks : WF_SHMCOLL_CHUNKS_MIN;
}

static inline size_t head_bytes(int size)
{
    return sizeof(struct wf_shmcoll_segment) +
           (size_t)size * sizeof(struct wf_shmcoll_member);
}

/* Returns the bytes of the segment without the broadcast pool, in whole pages:
 * of a page that is unmapped in part, the thread sanitizer remembers its
 * writers, and reports them for the next mapping at that address. */
static inline size_t segment_bytes(int size)
{
    size_t bytes =
        head_bytes(size) + (size_t)size * WF_SHMCOLL_BLOCKS_MAX *
                               wf_shmcoll_block_stride(block_bytes_for(size));

    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

#endif

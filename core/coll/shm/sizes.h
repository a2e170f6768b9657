/* The sizes of a segment and of a staging ring, which are the same for all
 * members: they follow from the number of members alone.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_SIZES_H
#define WF_SHMCOLL_SIZES_H

#include "coll/shm/shmcoll.h"

enum {
    ALL_BLOCKS_BYTES = 2 << 20,
    BLOCK_MAX = 16 << 10, /* bytes */
    /* bytes of a staging ring with three chunks for each member */
    ALL_CHUNKS_BYTES = 12 << 20,
    ALL_RINGS_BYTES = 4 << 20, /* bytes of a ring that chunks wrap around */
    CHUNK_MAX = 256 << 10,
    PAGE = 4096 /* segments are whole pages */
};

static inline uint32_t block_bytes_for(int size)
{
    uint32_t block = BLOCK_MAX;

    WF_ASSERT(size > 1 && size <= WF_SHMCOLL_RANKS_MAX);
    while (block * (uint32_t)size * WF_SHMCOLL_BLOCKS_MAX > ALL_BLOCKS_BYTES)
        block /= 2;
    return block;
}

static inline uint32_t chunk_bytes_for(int size)
{
    uint32_t chunk = CHUNK_MAX;

    while (chunk * (uint32_t)size * WF_SHMCOLL_CHUNKS_MIN > ALL_CHUNKS_BYTES)
        chunk /= 2;
    return chunk;
}

/* Returns the bytes of each member's chunks before the ring wraps. */
static inline uint32_t ring_bytes_for(int size)
{
    uint32_t ring = ALL_RINGS_BYTES / (uint32_t)size,
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

/* The claims that divide the pieces of a transfer between both sides.
 *
 *   pieces    0 1 2 3 4 5 . . . . . . n-3 n-2 n-1
 *             sender -->                 <-- receiver
 *
 *   word      bits  0-23  pieces taken from the front
 *             bits 24-47  pieces taken from the back
 *             bits 48-63  operation
 *
 * INVARIANT  Each piece is taken once, by one side, and only the side that has
 * taken it moves it. The word is in shared memory, so the pieces that are
 * handed out exist whatever it contains; a peer that writes nonsense there
 * harms its own message only.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_CLAIMS_H
#define WF_SHM_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tuning.h"
#include "weft_assert.h"

#define SHM_PIECES_MOST   ((1u << 24) - 1)
#define SHM_CLAIMS_CLOSED UINT64_MAX /* no operation has pieces left */

enum shm_end { SHM_FRONT = 0, SHM_BACK = 24 };

/* The word of operation op before anything is taken. */
static inline uint64_t shm_claims(uint32_t op)
{
    return (uint64_t)op << 48;
}

static inline uint32_t shm_claimed(uint64_t word, enum shm_end end)
{
    return (uint32_t)(word >> end) & SHM_PIECES_MOST;
}

/* The number of pieces of operation op that neither side has taken. */
static inline uint32_t shm_unclaimed(uint64_t word, uint32_t op, uint32_t all)
{
    uint32_t taken = shm_claimed(word, SHM_FRONT) + shm_claimed(word, SHM_BACK);
    return word >> 48 == (op & 0xffff) && taken < all ? all - taken : 0;
}

/* Takes up to `most` pieces from one end. Returns their number, and the index
 * of the first. */
static inline uint32_t shm_claim(_Atomic uint64_t *word, uint32_t op,
                                 uint32_t all, uint32_t most, enum shm_end end,
                                 uint32_t *first)
{
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    uint32_t n;
    WEFT_ASSERT(all <= SHM_PIECES_MOST &&
                (end == SHM_FRONT || end == SHM_BACK));
    do {
        uint32_t left = shm_unclaimed(seen, op, all);
        n = left < most ? left : most;
        if (n == 0)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(
        word, &seen, seen + ((uint64_t)n << end), memory_order_relaxed,
        memory_order_relaxed));
    *first = end == SHM_FRONT ? shm_claimed(seen, SHM_FRONT)
                              : all - shm_claimed(seen, SHM_BACK) - n;
    return n;
}

/* The number of pieces that one side moves by the kernel at a time. A call
 * costs as much as copying ten KB, so the number grows while the other side is
 * away (`run` pieces so far), and shrinks towards the end, where it may be
 * back. */
static inline uint32_t shm_block_pieces(uint32_t chunk, uint32_t run,
                                        uint32_t left)
{
    WEFT_ASSERT(chunk > 0);
    uint32_t most = SHM_BLOCK_MOST / chunk;
    uint32_t n = SHM_BLOCK / chunk > run ? SHM_BLOCK / chunk : run;
    if (n > most)
        n = most;
    if (n > left / 2)
        n = left / 2;
    return n ? n : 1;
}

#endif

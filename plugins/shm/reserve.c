/* Reserving the rings of a pair, for a number of messages on their way: see
 * weft_ops.reserve.
 *
 *   slots      the large ring, which follows at the end of a pass: so many
 *              messages go first
 *   payload    the cell ring; above a quarter of that the bulk ring, with the
 *              large one if there is one
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm.h"

static int refuse_messages(weft_peer *p, uint32_t messages, uint64_t bytes,
                           const char *option, uint64_t value)
{
    weft_ep *ep = p->ep;

    ep->host->log(ep->core, 3,
                  "%u messages of %llu bytes do not fit in its ring: raise %s "
                  "(%llu)",
                  messages, (unsigned long long)bytes, option,
                  (unsigned long long)value);
    return WEFT_ENOTSUP;
}

/* Says whether so many payloads fit in a byte ring, wherever they begin: an end
 * that is too short for one is skipped. */
static bool fits_ring(uint64_t ring, uint32_t messages, uint64_t bytes)
{
    uint64_t each = shm_bytes_taken((uint32_t)bytes);

    return each <= ring / 2 && messages < ring / each;
}

/* Reserves the bulk ring. Returns whether it has room. */
static bool reserve_bulk_for(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    if (!fits_ring(p->out.bulk.size, messages, bytes))
        wf_shm_grow_bulk(p, UINT64_MAX);
    return wf_shm_reserve_bulk(p, p->out.bulk.size) && !p->fault &&
           fits_ring(p->out.bulk.size, messages, bytes);
}

static int reserve_payload(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    const struct shm_geometry *g = &p->geometry;

    if (bytes <= SHM_INLINE)
        return WEFT_OK;
    if (bytes <= shm_cell_max(g))
        return fits_ring(g->cells, messages, bytes)
                   ? WEFT_OK
                   : refuse_messages(p, messages, bytes, "cell", g->cells);
    return reserve_bulk_for(p, messages, bytes)
               ? WEFT_OK
               : refuse_messages(p, messages, bytes, "chunks", g->chunks);
}

/* The slots of one message: one for each chunk. */
static uint64_t slots_of(const struct shm_geometry *g, uint64_t bytes)
{
    return bytes <= shm_cell_max(g) ? 1 : (bytes + g->chunk - 1) / g->chunk;
}

int wf_shm_reserve(weft_peer *p, uint32_t messages, uint64_t bytes)
{
    const struct shm_geometry *g = &p->geometry;
    struct shm_out *out = &p->out;
    int r;

    if (p->state == SHM_IDLE)
        wf_shm_dial(p);
    if (p->state == SHM_DOWN || p->fault)
        return WEFT_ELINK;
    if (p->state != SHM_UP)
        return WEFT_EAGAIN;
    if (messages * slots_of(g, bytes) > g->slots)
        return refuse_messages(p, messages, bytes, "ring", g->slots);
    r = reserve_payload(p, messages, bytes);
    if (r == WEFT_OK && !out->large)
        wf_shm_populate_segment(p);
    if (r != WEFT_OK || out->mask + 1 == g->slots)
        return r;
    wf_shm_announce_large_ring(p);
    return (int)(out->end - out->next);
}

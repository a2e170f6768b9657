/* Sending beside the endpoint's other work: short messages of threads that are
 * not inside the core (weft_ops.send_beside).
 *
 * DESIGN  The core lets one thread in at a time, and none while it sends
 * itself. Whatever else touches the sending direction calls shm_close_out
 * first: progress for a peer that is busy or at fault, get, the goodbye. So all
 * of `out` belongs to this thread meanwhile, and of the peer it reads only what
 * changes behind shm_close_out.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ring.h"

/* Looks for free slots outside of the endpoint's other work. Counts that cannot
 * be true are left to wf_shm_refresh_room. */
static bool find_room_beside(weft_peer *p)
{
    struct shm_out *out = &p->out;
    if (p->state != SHM_UP || p->fault || out->tx || out->bye)
        return false;
    uint32_t slots =
        atomic_load_explicit(&out->line->slots, memory_order_acquire);
    if (!shm_accept_count(&out->tail, shm_head(out), slots) ||
        shm_used(out) > out->mask)
        return false;
    out->fast_end = shm_free_end(out);
    return true;
}

/* wf_shm_send_words of a thread that does nothing else here. */
int wf_shm_send_beside(const void *data, uint64_t h0, weft_peer *p, uint64_t h1,
                       uint64_t h2)
{
    struct shm_out *out = &p->out;
    if (shm_unlikely(out->next >= out->fast_end) && !find_room_beside(p))
        return WEFT_EAGAIN;
    struct shm_slot *s = shm_slot_next(out);
    if (!shm_little() ||
        !shm_copy_inline(s->body + 16, data, (uint32_t)(h0 >> 32)))
        return WEFT_EAGAIN;
    s->env[0] = shm_le64(h1);
    s->env[1] = shm_le64(h2);
    shm_prefetch_for_write(s + SHM_AHEAD_OUT);
    shm_store_word(out, s, h0, SHM_HEAD);
    if (shm_unlikely(out->next == out->end))
        wf_shm_wrap_out(p);
    shm_wake_peer(p);
    return WEFT_OK;
}

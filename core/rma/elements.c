/* The basic elements of a typed buffer, in order, as runs in memory.
 *
 * DESIGN  Elements of a predefined type lie one extent apart, and so do those
 * of a derived type without holes: one run. Otherwise the memory segments of
 * the stream are listed (datatype/segments.h). A segment has whole elements,
 * `size` bytes apart, because constructors place elements as a whole; only
 * where the element has a hole inside (short and int of MPI_SHORT_INT) its
 * parts may be in two segments, and a run is one element at its first byte.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/elements.h"

#include "datatype/derived.h"
#include "datatype/segments.h"

const struct wf_type *wf_rma_find_basic(const struct wf_type *t)
{
    const struct wf_type *found = NULL, *last = NULL, *basic;
    struct wf_type_block b;
    int64_t blocks;

    if (t->predefined)
        return t;
    blocks = wf_type_block_count(t);
    if (blocks > 1 && t->priv->combiner != MPI_COMBINER_STRUCT)
        blocks = 1; /* the others have the same type */
    for (int64_t i = 0; i < blocks; i++) {
        if (!wf_type_block(t, i, &b) || b.type->size == 0 || b.type == last ||
            (b.n == 0 && t->priv->combiner == MPI_COMBINER_STRUCT))
            continue;
        last = b.type;
        basic = wf_rma_find_basic(b.type);
        if (!basic || (found && found->predefined != basic->predefined))
            return NULL;
        found = basic;
    }
    return found;
}

uint64_t wf_rma_count_elements(const struct wf_rma_side *s,
                               const struct wf_type *basic)
{
    return s->count * (uint64_t)s->type->size / (uint64_t)basic->size;
}

/* Goes to the run at the beginning of the next segment. */
static bool begin_segment(struct wf_rma_elements *e)
{
    const struct iovec *v;

    if (e->next == e->n) {
        e->next = 0;
        e->n = wf_type_list_segments(e->side.type, e->side.buf, e->side.count,
                                     e->listed, e->segments, WF_RMA_SEGMENTS);
        if (e->n == 0) {
            e->left = 0;
            return false;
        }
    }
    v = &e->segments[e->next++];
    e->at = v->iov_base;
    if (e->split) {
        /* the element that begins here, wherever its other part is */
        e->left = 1;
        e->listed += (uint64_t)e->size;
        e->n = e->next = 0;
        return true;
    }
    if (v->iov_len % (size_t)e->size != 0) {
        e->broken = true;
        e->left = 0;
        return false;
    }
    e->left = v->iov_len / (size_t)e->size;
    e->listed += v->iov_len;
    return true;
}

void wf_rma_elements_begin(struct wf_rma_elements *e,
                           const struct wf_rma_side *side,
                           const struct wf_type *basic)
{
    wf_rma_elements_begin_at(e, side, basic, 0);
}

void wf_rma_elements_begin_at(struct wf_rma_elements *e,
                              const struct wf_rma_side *side,
                              const struct wf_type *basic, uint64_t element)
{
    e->side = *side;
    e->listed = element * (uint64_t)basic->size;
    e->next = e->n = 0;
    e->split = e->broken = false;
    e->size = basic->size;
    if (side->type->predefined || wf_type_is_contiguous(side->type)) {
        e->at = wf_type_data(side->type, side->buf);
        e->left = wf_rma_count_elements(side, basic);
        e->step = side->type->predefined ? basic->extent : basic->size;
        e->at += (int64_t)element * e->step;
        e->left -= element;
        e->listed = side->count * (uint64_t)side->type->size;
        return;
    }
    e->step = basic->size;
    e->split = basic->true_extent != basic->size;
    (void)begin_segment(e);
}

bool wf_rma_elements_next_run(struct wf_rma_elements *e)
{
    if (e->listed == e->side.count * (uint64_t)e->side.type->size &&
        e->next == e->n)
        return false;
    return begin_segment(e);
}

/* The basic elements of a typed buffer, in order, as runs in memory.
 *
 * A type of one-sided communication consists of elements of one predefined
 * type (MPI-5.0 s12.3.4). A run is `left` of them, `step` bytes apart.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_ELEMENTS_H
#define WF_RMA_ELEMENTS_H

#include "datatype/type.h"

/* A typed buffer: one side of an operation. */
struct wf_rma_side {
    void *buf;
    struct wf_type *type;
    uint64_t count;
};

enum { WF_RMA_SEGMENTS = 16 /* of memory that are listed at a time */ };

struct wf_rma_elements {
    char *at;      /* the next element */
    uint64_t left; /* elements of this run */
    int64_t step;  /* between two of them */
    /* private */
    struct wf_rma_side side;
    uint64_t listed, bytes; /* of the packed stream: listed so far, and all */
    int64_t size;           /* data bytes of an element */
    bool split;             /* an element has a hole inside */
    bool broken; /* the type, which another process has described, does not
                    consist of such elements; it ends there */
    int next, n;
    struct iovec segments[WF_RMA_SEGMENTS];
};

/* Returns the predefined type of all elements; NULL: they differ, or there is
 * none. */
const struct wf_type *wf_rma_find_basic(const struct wf_type *);

/* Returns the number of elements of this basic type; of none 0. */
uint64_t wf_rma_count_elements(const struct wf_rma_side *,
                               const struct wf_type *basic);

/* Begins at the first element; there is one. */
void wf_rma_elements_begin(struct wf_rma_elements *, const struct wf_rma_side *,
                           const struct wf_type *basic);
/* Begins at another element than the first; there is one. */
void wf_rma_elements_begin_at(struct wf_rma_elements *,
                              const struct wf_rma_side *,
                              const struct wf_type *basic, uint64_t element);
/* Goes to the next run; false: the last one was that. */
bool wf_rma_elements_next_run(struct wf_rma_elements *);

/* Leaves n elements of the run behind. */
static inline void wf_rma_elements_advance(struct wf_rma_elements *e,
                                           uint64_t n)
{
    WF_ASSERT(n <= e->left);
    e->at += (int64_t)n * e->step;
    e->left -= n;
    if (e->left == 0)
        (void)wf_rma_elements_next_run(e);
}

#endif

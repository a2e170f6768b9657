/* One operation on a run of elements of one basic type, in the way that the
 * type has (atomic.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_UPDATE_H
#define WF_RMA_UPDATE_H

#include "datatype/op_kernels.h"
#include "datatype/type.h"
#include "rma/stripe.h"

/* An operation on elements of one basic type, and n of them in a row. */
struct wf_rma_update {
    const struct wf_rma_domain *domain;
    const struct wf_type *basic;
    wf_op_kernel *kernel; /* NULL: MPI_REPLACE, MPI_NO_OP */
    uint32_t code;        /* enum wf_op_code */
    uint32_t units;       /* that the kernel counts in an element */
    bool words;           /* the type's rule */
    uint64_t n;
    char *target, *result; /* result: NULL if nobody asks */
    const char *origin;
    int64_t target_step, origin_step, result_step;
};

/* Returns whether locations of this predefined type that are aligned have the
 * processor's atomic operations; all others have stripes. */
bool wf_rma_uses_words(const struct wf_rma_domain *, const struct wf_type *);

/* Returns whether elements of this size have them, if their type may: all that
 * compare and swap takes does. */
static inline bool wf_rma_has_word_size(const struct wf_rma_domain *d,
                                        int64_t size)
{
    return !d->bulk && size > 0 && size <= 8 && !(size & (size - 1));
}

static inline bool wf_rma_is_aligned(const void *at, int64_t size)
{
    return ((uintptr_t)at & ((uintptr_t)size - 1)) == 0;
}

/* Runs the operation on the n elements; n is 0 or undefined afterwards. */
void wf_rma_update_run(struct wf_rma_update *);

#endif

/* Accumulates: operations that are atomic for each element to all others of
 * these functions on the same location, whichever process calls them.
 *
 * RULES  A basic type has one way for good, so that no two ways ever meet at a
 * location (MPI-5.0 s12.7.1 makes only accesses by the same predefined type
 * atomic to each other):
 *
 *   integers, logicals, characters and bytes  the processor's atomic
 *   of 1, 2, 4 and 8 bytes                    operations, or a loop of compare
 *                                             and swap
 *   all other types; in a window that is      plain loops under the stripe of
 *   `bulk` those above, too                   the location (stripe.h)
 *
 * A location whose address is no multiple of the element's size is under its
 * stripe by all rules: alignment is the same in every process.
 *
 * MEASURED (Zen 5, 64 KB)  A sum of doubles under stripes takes 0.6 us, by one
 * compare and swap per element 37 us; a single one takes about 10 ns either
 * way. So floating point has stripes. Integers have atomic operations, because
 * counters and locks of programs are integers: their fetch_and_op from many
 * processes at once is the processor's own rate, and no holder can be off its
 * CPU. Their 64 KB take 37 us then; `bulk` is for windows whose program says
 * that it accumulates arrays (mpi_accumulate_granularity).
 *
 * ERRORS  MPI_ERR_TYPE, MPI_ERR_COUNT and MPI_ERR_OP, with nothing changed.
 * Only predefined operations are allowed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_ATOMIC_H
#define WF_RMA_ATOMIC_H

#include "rma/elements.h"
#include "rma/stripe.h"

struct wf_op;

/* Computes target[i] = target[i] op origin[i] for each element. The caller has
 * checked that the target is inside the window. Of MPI_NO_OP nothing is
 * done. */
int wf_rma_accumulate(const struct wf_rma_domain *, const struct wf_op *,
                      const struct wf_rma_side *target,
                      const struct wf_rma_side *origin);

/* The same, and the elements that were there before go to `result`. Of
 * MPI_NO_OP the origin is not looked at. */
int wf_rma_get_accumulate(const struct wf_rma_domain *, const struct wf_op *,
                          const struct wf_rma_side *target,
                          const struct wf_rma_side *origin,
                          const struct wf_rma_side *result);

/* Some elements of a side: `count` of a basic type from the `first` on. */
struct wf_rma_part {
    struct wf_rma_side side;
    const struct wf_type *basic;
    uint64_t first, count;
};

/* The same for a part of the target, with its elements on the other sides,
 * which may be NULL. The caller has checked types and counts; a target whose
 * type another process has described ends with MPI_ERR_TYPE where it does not
 * consist of such elements. */
int wf_rma_accumulate_part(const struct wf_rma_domain *, const struct wf_op *,
                           const struct wf_rma_part *target,
                           const struct wf_rma_side *origin,
                           const struct wf_rma_side *result);

/* The same for one element of a predefined type. */
int wf_rma_fetch_and_op(const struct wf_rma_domain *, const struct wf_op *,
                        const struct wf_type *, void *target,
                        const void *origin, void *result);

/* Three elements of one predefined type that an operation reads. */
struct wf_rma_swap {
    const void *origin, *compare;
    void *result;
};

/* Replaces one element by that of the origin if it has the bits of `compare`;
 * `result` gets the element that was there. Integers, logicals and bytes. */
int wf_rma_compare_and_swap(const struct wf_rma_domain *,
                            const struct wf_type *, void *target,
                            const struct wf_rma_swap *);

/* The same for an element of so many bytes, whose type the caller has
 * checked. */
void wf_rma_swap_bytes(const struct wf_rma_domain *, void *target, size_t,
                       const struct wf_rma_swap *);

/* Return MPI_SUCCESS if the operation is allowed on elements of this basic type
 * in one-sided communication; if the type is one of compare and swap. */
int wf_rma_check_op(const struct wf_op *, const struct wf_type *basic);
int wf_rma_check_swap_type(const struct wf_type *);

#endif

/* The effect of operations by message on memory of this process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_APPLY_H
#define WF_RMA_APPLY_H

#include "rma/win.h"

struct wf_rma_swap;
struct wf_type;

/* The place of an operation's data in memory of this process. */
struct wf_rma_place {
    char *at;
    struct wf_type *type; /* NULL: it is one block */
    uint64_t count;       /* elements of type */
    uint64_t bytes;       /* in all */
};

/* Finds a place in the window, and checks that all of it lies there. Returns an
 * error class, without recording anything. */
int wf_rma_find_place(struct wf_win *, uint64_t position, struct wf_type *,
                      uint64_t count, uint64_t bytes, struct wf_rma_place *);

/* Copies bytes of the place's data, from `offset` on. */
void wf_rma_write(const struct wf_rma_place *, uint64_t offset,
                  const void *data, uint64_t n);
void wf_rma_read(const struct wf_rma_place *, uint64_t offset, void *out,
                 uint64_t n);
/* A piece of the data of an accumulate. */
struct wf_rma_piece {
    uint64_t offset;  /* in all data */
    const void *data; /* packed, and need not be aligned; NULL: MPI_NO_OP */
    void *result;     /* packed: what was there before; NULL: nobody asks */
    uint64_t n;
    uint32_t op;
    struct wf_type *basic;
};

/* Apply a piece of an accumulate, and a compare and swap, atomically to those
 * of processes that have mapped the memory. Return an error class. */
int wf_rma_accumulate_piece(struct wf_win *, const struct wf_rma_place *,
                            const struct wf_rma_piece *);
int wf_rma_swap_place(struct wf_win *, const struct wf_rma_place *,
                      const struct wf_rma_swap *);
/* Returns whether an accumulate may have this operation and this type. */
bool wf_rma_op_is_valid(uint32_t op, const struct wf_type *basic);

#endif

/* A reduction operation is predefined, or made by the user.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OP_H
#define WF_OP_H

#include "object/handle.h"

struct wf_op {
    struct wf_object object;
    uint32_t predefined; /* ABI value of a predefined operation, else 0 */
    bool commutes;
    struct wf_polyfn user;
};

void wf_op_get(struct wf_op *);
void wf_op_put(struct wf_op *);

/* Computes inout[i] = in[i] op inout[i] for count elements (MPI-5.0 s6.9.5
 * argument order: in comes from the lower rank). Returns an MPI error class;
 * MPI_ERR_OP when a predefined op is not defined on the type. User functions
 * run outside the API section of the instance, which the caller holds; NULL: it
 * holds none. */
int wf_op_apply(struct wf_instance *, struct wf_op *, const void *in,
                void *inout, uint64_t count, struct wf_type *);
/* Returns whether a predefined operation is defined on a type, apart from
 * REPLACE and NO_OP. */
bool wf_op_is_defined(const struct wf_op *, const struct wf_type *);
/* Returns MPI_SUCCESS, or MPI_ERR_OP with a text that names op and type: op is
 * not defined on type, or core.strict withholds it. Without an instance only
 * the former counts. */
int wf_op_check(const struct wf_op *, const struct wf_type *,
                const struct wf_instance *);
/* Returns whether operations on the type are withheld by core.strict: those on
 * MPI_CHAR, which the standard does not define, and other libraries do. */
bool wf_op_is_withheld(const struct wf_instance *, const struct wf_type *);

struct wf_op *wf_op_of(MPI_Op handle);

MPI_Op wf_op_handle(struct wf_op *);

#endif

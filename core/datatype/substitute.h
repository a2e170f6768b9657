/* This file makes a datatype like another one, of other basic types.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_SUBSTITUTE_H
#define WF_DATATYPE_SUBSTITUTE_H

#include "base.h"

struct wf_instance;
struct wf_type;

/* Computes the bytes that a value of a predefined type has. Returns an error
 * class. */
typedef int wf_type_resizer(void *arg, const struct wf_type *, int64_t *bytes);

/* Makes the datatype whose basic types have other sizes and no holes, by the
 * same constructors: displacements that count extents scale, those in bytes
 * stay (MPI-5.0 s14.5.1). Its elements are bytes. */
int wf_type_substitute(struct wf_instance *, const struct wf_type *,
                       wf_type_resizer *, void *arg, struct wf_type **out);

/* Computes the bytes of data of one element with those sizes. */
int wf_type_resized_size(const struct wf_type *, wf_type_resizer *, void *arg,
                         int64_t *bytes);

#endif

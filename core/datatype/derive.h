/* Size, bounds and layout are derived here from the constructor record.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_DERIVE_H
#define WF_DATATYPE_DERIVE_H

#include "base.h"

struct wf_type;

/* Derives everything else from the record: size, bounds, layout. On failure the
 * type is destroyed. On success *out is the handle's object. */
int wf_type_derive(struct wf_type *, struct wf_type **out);

/* Records that there is no memory for a datatype, and returns
 * MPI_ERR_NO_MEM. */
int wf_type_report_no_memory(void);

/* Facts that predefined and derived types keep in different places. */
int64_t wf_type_elements(const struct wf_type *);
int64_t wf_type_external(const struct wf_type *);
uint32_t wf_type_align(const struct wf_type *);

/* Returns whether external32 changes more than the order of the bytes. */
bool wf_type_needs_conversion(const struct wf_type *);

#endif

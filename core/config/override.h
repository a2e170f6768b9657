/* Settings from the environment: WEFT_SET, WEFT_ROUTE, WEFT_LOG, and a warning
 * for every WEFT_ variable that Weft does not read.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_OVERRIDE_H
#define WF_CONFIG_OVERRIDE_H

#include "base.h"

struct wf_config;

/* Apply WEFT_SET and WEFT_LOG, once the file is read, and warn about unknown
 * WEFT_ variables. */
void wf_override_apply(struct wf_config *);

/* Warn if the environment holds a setting of another MPI. */
void wf_override_warn_of_other_mpi(struct wf_config *);

/* Apply settings separated by ; newline or blank, as in WEFT_SET. */
void wf_override_settings(struct wf_config *, const char *origin,
                          const char *text);

#endif

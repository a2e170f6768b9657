/* Data sieving.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_SIEVE_H
#define WF_IO_SIEVE_H

#include "io/access.h"

/* Performs an access by the pieces' extents (sieve.c). */
bool wf_access_should_sieve(const struct wf_access *);
int wf_access_sieve(struct wf_access *);

#endif

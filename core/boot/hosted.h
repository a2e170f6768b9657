/* Boots of the ranks of one process: one connection to the launcher, or none,
 * behind as many boots as there are ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_HOSTED_H
#define WF_BOOT_HOSTED_H

#include <stdbool.h>

#include "boot/boot.h"

/* count boots, for the ranks up->rank and following, over the launcher's boot,
 * which passes over; up NULL: these ranks are the whole job. 0 or WEFT_E*. */
int wf_boot_hosted_create(struct wf_boot *up, uint32_t count,
                          struct wf_boot **ranks);
/* Does this rank live in the process of that boot's? */
bool wf_boot_hosted_has(const struct wf_boot *, uint32_t rank);
/* This rank will not publish a card any more. Not once it has called
 * finalize. */
void wf_boot_hosted_gone(struct wf_boot *);

#endif

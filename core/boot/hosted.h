/* The boots of the ranks of one process: each rank has its own, and all share
 * the one connection to the launcher, if there is one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_HOSTED_H
#define WF_BOOT_HOSTED_H

#include <stdbool.h>

#include "boot/boot.h"

/* Create `count` boots, for up->rank and the ranks that follow it. They own
 * `up`, the launcher's boot, from now on; NULL: these ranks are the whole job.
 * 0 or WEFT_E*. */
int wf_boot_hosted_create(struct wf_boot *up, uint32_t count,
                          struct wf_boot **ranks);
/* Lends a value that a rank of this process has put, for as long as the boot is
 * open; waits for a card. Returns false if there is none here. */
bool wf_boot_hosted_lend(struct wf_boot *, const char *key, const void **value,
                         size_t *n);
/* Whether a rank lives in the same process as the rank of this boot. */
bool wf_boot_hosted_has(const struct wf_boot *, uint32_t rank);
/* Returns the boot that has the connection to the launcher, for use by one rank
 * until unlock: this one, unless its process has several ranks; or NULL. */
struct wf_boot *wf_boot_hosted_lock_up(struct wf_boot *);
void wf_boot_hosted_unlock_up(struct wf_boot *);
/* Note that this rank failed to start and will publish no business card. It
 * must not have called finalize. */
void wf_boot_hosted_gone(struct wf_boot *);

#endif

/* The bootstrap providers, as boot.c chooses among them.
 *
 * Each open fills *out on success; otherwise err holds a sentence and a
 * negative WEFT_E* is returned.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PROVIDERS_H
#define WF_BOOT_PROVIDERS_H

#include "boot/boot.h"

int wf_boot_pmi1_open(struct wf_boot **out, char *err, size_t err_len);
int wf_boot_static_open(const struct wf_config *, struct wf_boot **out,
                        char *err, size_t err_len);
int wf_boot_singleton_open(struct wf_boot **out, char *err, size_t err_len);

/* Is this process one of several started by a launcher that Weft cannot talk
 * to? Then err says which, and the result is negative. */
int wf_boot_foreign(char *err, size_t err_len);

/* A name that no other job of this machine has: "prefix-pid-random". */
void wf_boot_unique_name(char out[64], const char *prefix);
/* A whole decimal number in the environment; -1 if unset, -2 if not one. */
long wf_boot_env_number(const char *name);

#endif

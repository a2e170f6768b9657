/* The bootstrap providers, among which boot.c chooses.
 *
 * Each open function fills *out on success; otherwise err holds a sentence and
 * a negative WEFT_E* is returned.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PROVIDERS_H
#define WF_BOOT_PROVIDERS_H

#include "boot/boot.h"

int wf_boot_pmi1_open(struct wf_boot **out, char *err, size_t err_len);
int wf_boot_static_open(const struct wf_config *, struct wf_boot **out,
                        char *err, size_t err_len);
int wf_boot_singleton_open(struct wf_boot **out, char *err, size_t err_len);

/* Check for a launcher that Weft cannot talk to. If this process is one of
 * several that such a launcher started, err says which, and the result is
 * negative; else it is 0. */
int wf_boot_refuse_foreign(char *err, size_t err_len);

/* Make a name that no other job of this machine has: "prefix-pid-random". */
void wf_boot_unique_name(char out[64], const char *prefix);
/* Read a decimal number from the environment; -1: unset, -2: not a number. */
long wf_boot_env_number(const char *name);

#endif

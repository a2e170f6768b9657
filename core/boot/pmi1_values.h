/* Put and get: values that the launcher keeps under keys. They are base64, and
 * are cut into chunks if they exceed its limit. The key itself holds the text,
 * or "*n" when the text is in key.0 ... key.(n-1).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMI1_VALUES_H
#define WF_BOOT_PMI1_VALUES_H

#include "base.h"

struct wf_boot;
struct wf_pmi1;

/* Put and get a value: wf_boot_ops. */
int wf_pmi1_put(struct wf_boot *, const char *key, const void *value, size_t n);
int wf_pmi1_get(struct wf_boot *, const char *key, void **value, size_t *n);

/* Get the text under a key; it is valid until the next request. */
int wf_pmi1_get_text(struct wf_pmi1 *, const char *key, const char **text,
                     size_t *len);

#endif

/* Values that ranks of one process have put: see hosted.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_VALUES_H
#define WF_BOOT_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "os/atomic.h"

struct wf_blob {
    void *bytes;
    size_t n;
    bool secret;           /* bytes are from wf_secret_alloc */
    bool absent;           /* it will not be put */
    wf_atomic_u32 changes; /* of a card: it came, or is absent; futex word */
};

struct wf_named {
    struct wf_named *next;
    char *key;
    struct wf_blob value;
};

/* Fills a blob with a copy of the bytes. 0 or WEFT_ENOMEM. */
int wf_blob_fill(struct wf_blob *, const void *bytes, size_t n);

/* Copies a blob to memory that the caller frees, and wipes. */
int wf_blob_copy(const struct wf_blob *, void **value, size_t *n);

/* Puts a value in front of the list. 0 or WEFT_ENOMEM. */
int wf_named_put(struct wf_named **list, const char *key, const void *value,
                 size_t n);

/* Returns the newest value of that key, or NULL. */
const struct wf_blob *wf_named_find(const struct wf_named *list,
                                    const char *key);
void wf_named_free(struct wf_named *list);

#endif

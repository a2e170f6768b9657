/* Values that ranks of one process have put: see values.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/values.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "os/secret.h"

int wf_blob_fill(struct wf_blob *to, const void *bytes, size_t n)
{
    to->bytes = to->secret ? wf_secret_alloc(n ? n : 1) : malloc(n ? n : 1);
    if (!to->bytes)
        return WEFT_ENOMEM;
    memcpy(to->bytes, bytes, n);
    to->n = n;
    return 0;
}

int wf_blob_copy(const struct wf_blob *b, void **value, size_t *n)
{
    struct wf_blob out = {.secret = false};

    if (wf_blob_fill(&out, b->bytes, b->n) < 0)
        return WEFT_ENOMEM;
    *value = out.bytes;
    *n = out.n;
    return 0;
}

int wf_named_put(struct wf_named **list, const char *key, const void *value,
                 size_t n)
{
    struct wf_named *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    e->key = strdup(key);
    e->value.secret = strcmp(key, "weft.key") == 0;
    if (!e->key || wf_blob_fill(&e->value, value, n) < 0) {
        free(e->key);
        free(e);
        return WEFT_ENOMEM;
    }
    e->next = *list;
    *list = e;
    return 0;
}

const struct wf_blob *wf_named_find(const struct wf_named *list,
                                    const char *key)
{
    for (const struct wf_named *e = list; e; e = e->next)
        if (strcmp(e->key, key) == 0)
            return &e->value;
    return NULL;
}

static void free_bytes(struct wf_blob *b)
{
    if (b->secret)
        wf_secret_free(b->bytes, b->n ? b->n : 1);
    else
        free(b->bytes);
}

void wf_named_free(struct wf_named *list)
{
    while (list) {
        struct wf_named *next = list->next;

        free(list->key);
        free_bytes(&list->value);
        free(list);
        list = next;
    }
}

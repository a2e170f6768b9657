/* Put and get: values that the launcher keeps under keys. They are base64, and
 * are cut into chunks if they exceed its limit. The key itself holds the text,
 * or "*n" when the text is in key.0 ... key.(n-1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/pmi1_values.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/pmi1.h"
#include "boot/pmi_line.h"
#include "os/base64.h"
#include "report/error.h"

enum {
    FIRST_ROOM = 64, /* bytes: more than a job key, which comes once */
    PMI_CHUNKS_MAX = 4096
};

static int put_text(struct wf_pmi1 *p, const char *key, const char *text,
                    size_t n)
{
    char *reply;
    int rc = wf_pmi1_ask(p, &reply, "put_result",
                         "cmd=put kvsname=%s key=%s value=%.*s\n", p->kvsname,
                         key, (int)n, text);
    if (rc == 0 && wf_pmi1_refused(reply))
        return wf_fail(WEFT_EPROTO, "PMI put of %s was refused: %.200s", key,
                       reply);
    return rc < 0 ? wf_pmi1_fail(p, rc, "put") : 0;
}

static int put_in_chunks(struct wf_pmi1 *p, const char *key, const char *text,
                         size_t n)
{
    char part[PMI_KEY_MAX + 16], count[16];
    size_t chunks = 0;
    for (size_t at = 0; at < n; at += p->value_max, chunks++) {
        size_t len = n - at < p->value_max ? n - at : p->value_max;
        snprintf(part, sizeof(part), "%s.%zu", key, chunks);
        int rc = put_text(p, part, text + at, len);
        if (rc < 0)
            return rc;
    }
    snprintf(count, sizeof(count), "*%zu", chunks);
    return put_text(p, key, count, strlen(count));
}

int wf_pmi1_put(struct wf_boot *boot, const char *key, const void *value,
                size_t n)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    size_t len = wf_base64_len(n);
    if (strlen(key) + 6 > p->key_max || len / p->value_max >= PMI_CHUNKS_MAX)
        return wf_fail(WEFT_ENOTSUP,
                       "%s with %zu bytes is too long for the launcher", key,
                       n);
    char *text = malloc(len + 1);
    if (!text)
        return WEFT_ENOMEM;
    wf_base64_encode(text, value, n);
    int rc = len <= p->value_max ? put_text(p, key, text, len)
                                 : put_in_chunks(p, key, text, len);
    explicit_bzero(text, len);
    free(text);
    return rc;
}

int wf_pmi1_get_text(struct wf_pmi1 *p, const char *key, const char **text,
                     size_t *len)
{
    char *reply;
    int rc = wf_pmi1_ask(p, &reply, "get_result", "cmd=get kvsname=%s key=%s\n",
                         p->kvsname, key);
    if (rc < 0)
        return wf_pmi1_fail(p, rc, "get");
    if (wf_pmi1_refused(reply))
        return WEFT_EUNREACH;
    if (!wf_pmi_field(reply, "value", text, len)) {
        *text = "";
        *len = 0;
    }
    return 0;
}

/* Wipe and free a text, which may be that of the job key. */
static void wipe_text(char *text, size_t n)
{
    if (text)
        explicit_bzero(text, n);
    free(text);
}

/* Append the text under one key to a growing string. */
static int append_text(struct wf_pmi1 *p, const char *key, char **all,
                       size_t *n)
{
    const char *text;
    size_t len;
    int rc = wf_pmi1_get_text(p, key, &text, &len);
    if (rc < 0)
        return rc;
    char *grown = malloc(*n + len + 1);
    if (!grown)
        return WEFT_ENOMEM;
    if (*n)
        memcpy(grown, *all, *n);
    memcpy(grown + *n, text, len);
    wipe_text(*all, *n);
    *all = grown;
    *n += len;
    return 0;
}

struct value {
    void *bytes;
    size_t n;
};

static int get_chunks(struct wf_pmi1 *p, const char *key, const char *count,
                      char **all, size_t *n)
{
    char part[PMI_KEY_MAX + 16];
    long chunks = strtol(count, NULL, 10);
    if (chunks < 1 || chunks > PMI_CHUNKS_MAX)
        return WEFT_EPROTO;
    for (long i = 0; i < chunks; i++) {
        snprintf(part, sizeof(part), "%s.%ld", key, i);
        int rc = append_text(p, part, all, n);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* value->bytes holds FIRST_ROOM bytes. */
static int decode_value(const char *text, size_t len, struct value *value)
{
    size_t room = len / 4 * 3 + 3;
    if (room > FIRST_ROOM) {
        free(value->bytes);
        value->bytes = malloc(room);
    }
    if (!value->bytes)
        return WEFT_ENOMEM;
    long got = wf_base64_decode(value->bytes, text, len);
    if (got < 0) {
        explicit_bzero(value->bytes, room);
        return WEFT_EPROTO;
    }
    value->n = (size_t)got;
    return 0;
}

/* Decode the value of a key from its text, and get further chunks if there are
 * any. The text is wiped in place, because it may be the job key. */
static int take_text(struct wf_pmi1 *p, const char *key, char *text, size_t len,
                     struct value *out)
{
    char *all = NULL, count[16] = "";
    int rc;
    if (len == 0 || text[0] != '*') {
        rc = decode_value(text, len, out);
        explicit_bzero(text, len);
        return rc;
    }
    if (len >= sizeof(count))
        return WEFT_EPROTO;
    memcpy(count, text + 1, len - 1);
    len = 0;
    rc = get_chunks(p, key, count, &all, &len);
    if (rc == 0)
        rc = decode_value(all, len, out);
    wipe_text(all, len);
    return rc;
}

int wf_pmi1_get(struct wf_boot *boot, const char *key, void **value, size_t *n)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);
    const char *text;
    size_t len;
    if (strlen(key) >= PMI_KEY_MAX)
        return WEFT_EINVAL;
    /* Allocate first: mpirun gives the job key once. */
    struct value got = {malloc(FIRST_ROOM), 0};
    int rc = got.bytes ? wf_pmi1_get_text(p, key, &text, &len) : WEFT_ENOMEM;
    if (rc == 0)
        rc = take_text(p, key, (char *)(uintptr_t)text, len, &got);
    if (rc < 0) {
        free(got.bytes);
        return rc;
    }
    *value = got.bytes;
    *n = got.n;
    return 0;
}

/* The info keys of real-time channels: see channel.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/channel_info.h"

#include <stdio.h>

#include "comm/channel.h"
#include "config/value.h"
#include "object/error.h"
#include "object/info.h"

#define KEY_CHANNEL "weft_channel"
#define KEY_BYTES   "weft_channel_bytes"
#define KEY_RATE    "weft_channel_rate"

static const char *const keys[] = {KEY_CHANNEL, KEY_BYTES, KEY_RATE};
enum { KEYS = sizeof keys / sizeof *keys };

static int refuse_value(const char *key, const char *value, const char *remedy)
{
    return wf_error(MPI_ERR_INFO_VALUE, "info key '%s' has the value '%s': %s",
                    key, value, remedy);
}

static int read_switch(const struct wf_info *info, bool *on)
{
    const char *value = wf_info_find(info, KEY_CHANNEL);
    int yes = 0;

    if (value && !wf_value_bool(value, &yes))
        return refuse_value(KEY_CHANNEL, value, "give true or false");
    *on = yes;
    return MPI_SUCCESS;
}

static int read_bytes(const struct wf_info *info, uint64_t *bytes)
{
    const char *value = wf_info_find(info, KEY_BYTES);

    *bytes = WF_CHANNEL_BYTES;
    if (!value || (wf_value_size(value, bytes) && *bytes <= UINT32_MAX))
        return MPI_SUCCESS;
    return refuse_value(KEY_BYTES, value,
                        "give the bytes of the largest message, such as 64 or "
                        "4K");
}

static int read_rate(const struct wf_info *info, uint64_t *rate)
{
    const char *value = wf_info_find(info, KEY_RATE);
    int64_t n = WF_CHANNEL_RATE;
    bool valid = !value || wf_value_int(value, &n);

    *rate = (uint64_t)n;
    if (valid && n > 0 && n <= UINT32_MAX)
        return MPI_SUCCESS;
    return refuse_value(KEY_RATE, value,
                        "give the starts per second from one member to "
                        "another, at least 1");
}

int wf_channel_read(const struct wf_info *info, struct wf_channel_terms *t)
{
    int rc = read_switch(info, &t->wanted);

    if (rc == MPI_SUCCESS)
        rc = read_bytes(info, &t->bytes);
    if (rc == MPI_SUCCESS)
        rc = read_rate(info, &t->rate);
    return rc;
}

int wf_channel_check(const struct wf_info *info)
{
    struct wf_channel_terms ignored;

    return wf_channel_read(info, &ignored);
}

bool wf_channel_has_key(const char *key)
{
    for (int i = 0; i < KEYS; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

void wf_channel_remove_keys(struct wf_info *info)
{
    for (int i = 0; i < KEYS; i++)
        wf_info_remove(info, keys[i]);
}

static void put_number(struct wf_info *info, const char *key, uint64_t n)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    wf_info_put(info, key, text); /* without memory it is not told */
}

void wf_channel_put_keys(struct wf_info *info, const struct wf_channel_terms *t)
{
    wf_info_put(info, KEY_CHANNEL, "true");
    put_number(info, KEY_BYTES, t->bytes);
    put_number(info, KEY_RATE, t->rate);
}

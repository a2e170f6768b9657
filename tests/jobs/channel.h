/* For job programs about real-time channels: making one, and asking what is in
 * force.
 *
 * The environment says what the run expects (CHANNEL_EXPECT): "yes", all is
 * reserved; "no", the fabric cannot.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef JOB_CHANNEL_H
#define JOB_CHANNEL_H

#include "check.h"

static inline int expects_channel(void)
{
    const char *text = getenv("CHANNEL_EXPECT");
    return !text || !strcmp(text, "yes");
}

/* The value of a key of a communicator, or an empty text. */
static inline void value_of_key(MPI_Comm c, const char *key, char *value,
                                int room)
{
    MPI_Info info;
    int found = 0;

    value[0] = 0;
    CHECK(MPI_Comm_get_info(c, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, key, &room, value, &found) == MPI_SUCCESS);
    if (!found)
        value[0] = 0;
    MPI_Info_free(&info);
}

static inline int has_value(MPI_Comm c, const char *key, const char *expected)
{
    char value[80];
    value_of_key(c, key, value, sizeof value);
    return !strcmp(value, expected);
}

static inline int is_channel(MPI_Comm c)
{
    return has_value(c, "weft_channel", "true");
}

/* Duplicate with these values; NULL: without the key. */
static inline int dup_with_keys(MPI_Comm c, const char *on, const char *bytes,
                                const char *rate, MPI_Comm *out)
{
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    if (on)
        MPI_Info_set(info, "weft_channel", on);
    if (bytes)
        MPI_Info_set(info, "weft_channel_bytes", bytes);
    if (rate)
        MPI_Info_set(info, "weft_channel_rate", rate);
    rc = MPI_Comm_dup_with_info(c, info, out);
    MPI_Info_free(&info);
    return rc;
}

static inline MPI_Comm make_channel(MPI_Comm c)
{
    MPI_Comm out = MPI_COMM_NULL;
    CHECK(dup_with_keys(c, "true", NULL, NULL, &out) == MPI_SUCCESS);
    return out;
}

#endif

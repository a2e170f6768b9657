/* A key, and the numbers of which texts for its MACs consist: for auth.c, which
 * makes the handshake, and auth_key.c, which derives keys.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_AUTH_INSIDE_H
#define WF_BOOT_AUTH_INSIDE_H

#include "boot/auth.h"

enum { WF_AUTH_MAC = 32, WF_AUTH_NAME_MAX = 64 };

struct wf_auth_key {
    struct wf_auth_key *next; /* another one of the same job: process/job.h */
    unsigned char secret[WF_AUTH_KEY_BYTES];
    unsigned char job[WF_AUTH_NAME_MAX]; /* zero padded */
    uint64_t datagram[2];                /* key of mac64() */
    uint64_t id;  /* says in a handshake which key it is */
    uint32_t tag; /* of the job: process/job.h */
};

static inline void wf_auth_put_u32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

static inline uint32_t wf_auth_get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline void wf_auth_put_u64(unsigned char *p, uint64_t v)
{
    wf_auth_put_u32(p, (uint32_t)v);
    wf_auth_put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint64_t wf_auth_get_u64(const unsigned char *p)
{
    return wf_auth_get_u32(p) | (uint64_t)wf_auth_get_u32(p + 4) << 32;
}

/* A name travels as tag and index. */
static inline void wf_auth_put_name(unsigned char *p, uint64_t name)
{
    wf_auth_put_u32(p, (uint32_t)(name >> 32));
    wf_auth_put_u32(p + 4, (uint32_t)name);
}

static inline uint64_t wf_auth_get_name(const unsigned char *p)
{
    return (uint64_t)wf_auth_get_u32(p) << 32 | wf_auth_get_u32(p + 4);
}

/* Fill with random bytes. WEFT_ESYS: there are none. */
int wf_auth_fill_random(void *, size_t);

#endif

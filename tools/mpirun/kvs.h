/* A struct kvs is the key-value space of one job.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_KVS_H
#define WF_MPIRUN_KVS_H

#include <stddef.h>

struct kvs;
struct kvs *wf_kvs_create(void);
void wf_kvs_destroy(struct kvs *);
/* Store a copy of key and value; a second put replaces the value. Returns 0, or
 * -1 without memory. */
int wf_kvs_put(struct kvs *, const char *key, const char *value, size_t n);
/* Returns the value, or NULL. It is valid until the next put. */
const char *wf_kvs_get(const struct kvs *, const char *key);

#endif

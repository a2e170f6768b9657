/* The settings on which the processes of a job must agree, and the origins of
 * values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_SHARED_H
#define WF_CONFIG_SHARED_H

#include "base.h"

struct wf_config;

/* The origin of a value: "mpi.ini:12", "WEFT_SET", or "default". section is
 * "core", "transport NAME" or "route NAME". *value becomes the text, or NULL
 * when the value is the default. */
const char *wf_config_origin(const struct wf_config *, const char *section,
                             const char *key, const char **value);

/* A hash over everything on which the processes of a job must agree: the keys
 * marked SAME in options.def, the transports, the routes, the rules of
 * [collectives], and as key "machine" the byte order and the size of a long. */
uint64_t wf_config_hash(const struct wf_config *);

/* Call `take` for each key and value that the hash covers, so that the first
 * difference can be named. set: leave out keys of [core] that have their
 * defaults. */
void wf_config_shared(const struct wf_config *, bool set,
                      void (*take)(void *user, const char *key,
                                   const char *value),
                      void *user);

/* The default of a key ("core.eager"), or NULL: keys of routes and
 * transports have none. */
const char *wf_config_default(const char *key);

#endif

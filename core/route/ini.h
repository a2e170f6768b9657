/* The reader of mpi.ini: from bytes to sections and settings with places.
 *
 * Knows the grammar (docs/mpi-ini.md), not one section or key by name, except
 * `include`. Errors do not stop it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INI_H
#define WF_INI_H

#include <stddef.h>

#include "route/problem.h"

enum { WF_INI_LINE_MAX = 4096 };

struct wf_ini_events {
    /* [kind name]; name is "" where there is none. at: the bracket. */
    void (*section)(void *user, const struct wf_place *at, const char *kind,
                    const char *name);
    /* key = value in the section before it. value_col: where it starts. */
    void (*setting)(void *user, const struct wf_place *at, const char *key,
                    const char *value, int value_col);
    /* include = path, before the first section. */
    void (*include)(void *user, const struct wf_place *at, const char *path);
};

/* Read n bytes of text. file names them in places and must outlive those.
 * Texts given to events are valid during the call. */
void wf_ini_read(const char *file, const char *text, size_t n,
                 const struct wf_ini_events *, void *user,
                 struct wf_problems *);

#endif

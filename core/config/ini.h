/* The reader of mpi.ini: it turns bytes into sections and settings, each with
 * its place in the file.
 *
 * It knows the grammar (docs/user/mpi-ini.md), but no section or key by name,
 * except `include`. Errors do not stop it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INI_H
#define WF_INI_H

#include <stddef.h>

#include "config/problem.h"

enum { WF_INI_LINE_MAX = 4096 };

/* The callbacks of the reader. */
struct wf_ini_events {
    /* A line "[kind name]" was read; name is "" if there is none. `at` is the
     * place of the bracket. */
    void (*section)(void *user, const struct wf_place *at, const char *kind,
                    const char *name);
    /* A line "key = value" was read, in the section before it. value_col is the
     * column where the value starts. */
    void (*setting)(void *user, const struct wf_place *at, const char *key,
                    const char *value, int value_col);
    /* A line "include = path" was read, before the first section. */
    void (*include)(void *user, const struct wf_place *at, const char *path);
};

/* Read n bytes of text. `file` names them in places and must outlive those.
 * Texts given to the callbacks are valid during the call. */
void wf_ini_read(const char *file, const char *text, size_t n,
                 const struct wf_ini_events *, void *user,
                 struct wf_problems *);

#endif

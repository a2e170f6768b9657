/* The search for the file of a plugin: of a transport (loader.h), or of a
 * bootstrap (bootstrap.h).
 *
 * The search goes through the path, if the section gives one, the directories
 * of WEFT_PLUGIN_PATH and of [core] plugin_path, lib/weft of the installation
 * of the library, and that of the launcher. No directory is scanned; only named
 * plugins are looked for.
 *
 * INVARIANT  Only descriptors of wf_trust_open() are loaded.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ADI_SEARCH_H
#define WF_ADI_SEARCH_H

#include "base.h"

struct wf_config;

/* A search, and what became of it. The caller sets the first members; the
 * others begin as 0. */
struct wf_search {
    char symbol[96], name[64]; /* the file is weft_NAME.so */
    const char *path;          /* the only file that counts, or NULL */
    char **left; /* receives the name of a file instead of loading it; NULL */
    /* Check the record that the symbol names. 0, or WEFT_EINVAL with the fault
     * in why. */
    int (*check)(const void *record, const char *name, const char *from,
                 char *why, size_t n);
    const void *found;
    char tried[2048]; /* the attempts, for a message */
    size_t used;
    bool there; /* a file ended the search that cannot be used */
    int lack;   /* ENOMEM or EMFILE: why a file could not be loaded */
};

/* Run the search; s->found is the record, or NULL. The program must have the
 * loader of os/dl.h. */
void wf_search_run(struct wf_search *, const struct wf_config *);

/* Copy a name with "_" for "-": "udp-reliable" and "udp_reliable" are equal. */
void wf_search_copy_name(char *out, size_t n, const char *name);

#endif

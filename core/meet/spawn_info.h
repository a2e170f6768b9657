/* A command of MPI_Comm_spawn_multiple, as its launcher gets it: the reserved
 * info keys of MPI-5.0 s11.8.4.
 *
 *   wdir, host, path, arch   passed on; without wdir, the directory of the root
 *   env                      passed on: lines of NAME=VALUE
 *   soft                     numbers of processes that will do, as 2,4:16:4
 *   file                     lines of KEY = VALUE: further keys
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_SPAWN_INFO_H
#define WF_MEET_SPAWN_INFO_H

#include "boot/spawn.h"

struct wf_info;

enum { WF_SPAWN_KEYS = 5 };

struct wf_spawn_entry {
    struct wf_info *info; /* its own copy */
    struct weft_boot_pair pairs[WF_SPAWN_KEYS];
    char *directory;
    int most; /* processes that are asked for */
};

/* Makes a command of its arguments at the root; info may be NULL. The entry
 * holds its texts, and is to be freed also after an error. Returns an MPI error
 * class. */
int wf_spawn_command_make(struct weft_boot_command *, struct wf_spawn_entry *,
                          const char *program, char *const *argv, int most,
                          const struct wf_info *info);
void wf_spawn_entry_free(struct wf_spawn_entry *);

#endif

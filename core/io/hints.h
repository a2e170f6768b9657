/* Hints of files (MPI-5.0 s14.2.8), and those that ROMIO has.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_HINTS_H
#define WF_IO_HINTS_H

#include "base.h"
#include "io/access.h"

struct wf_file;
struct wf_info;

/* Whether something is done. */
enum wf_hint_use { WF_HINT_DISABLE, WF_HINT_AUTOMATIC, WF_HINT_ENABLE };

/* The hints that Weft looks at, by their values in force. */
struct wf_file_hints {
    struct wf_sieve sieve;
    uint8_t cb_read, cb_write; /* enum wf_hint_use */
    uint64_t cb_buffer_size;   /* bytes */
    int cb_nodes;              /* aggregators; 0: chosen by Weft */
    int permissions;           /* of a file that is made */
};

/* Takes the hints of the program into those of a file. */
int wf_file_set_hints(struct wf_file *, const struct wf_info *);

#endif

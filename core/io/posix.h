/* Files of the operating system: what posix.c and lock.c share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_POSIX_H
#define WF_IO_POSIX_H

#include "io/fs.h"

struct wf_posix_file {
    struct wf_fs_file file;
    int fd;    /* it keeps its number when the file is opened again */
    int flags; /* of open, to open it again by */
    char path[];
};

static inline struct wf_posix_file *wf_posix_file(struct wf_fs_file *f)
{
    return (struct wf_posix_file *)f;
}

/* The functions of wf_fs_posix that are not in posix.c: lock.c, identify.c. */
int wf_posix_identify(struct wf_fs_file *, struct wf_fs_identity *);
int wf_posix_lock(struct wf_fs_file *, enum wf_fs_lock, uint64_t first,
                  uint64_t bytes);
int wf_posix_unlock(struct wf_fs_file *, uint64_t first, uint64_t bytes);

#endif

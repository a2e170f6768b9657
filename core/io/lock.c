/* Locks of byte ranges. They belong to the open file description, so that
 * neither other threads nor a library that closes the same file lose them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "io/fs_error.h"
#include "io/posix.h"
#include "object/error.h"

/* Sets or clears a lock. Returns an errno. A range that ends behind the largest
 * offset goes to the end of all files. */
static int set_lock(struct wf_posix_file *f, short type, uint64_t first,
                    uint64_t bytes)
{
    struct flock range = {.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)first,
                          .l_len = (off_t)bytes};
    int r;

    if (first > INT64_MAX)
        return EINVAL;
    if (bytes > INT64_MAX - first)
        range.l_len = 0;
    do
        r = fcntl(f->fd, F_OFD_SETLKW, &range);
    while (r < 0 && errno == EINTR);
    return r < 0 ? errno : 0;
}

/* Returns whether an errno means that the file system has no locks. */
static bool means_no_locks(int error)
{
    return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

static int report_lock(const struct wf_posix_file *f, int error,
                       const char *what)
{
    if (means_no_locks(error))
        return wf_error(MPI_ERR_IO,
                        "no byte range of '%s' can be %s (%s): the file system "
                        "has no locks, or its lock service does not run. They "
                        "keep atomic mode and updates of strided data correct; "
                        "if processes never write close to each other, "
                        "core.io_locks = never does without",
                        f->path, what, strerror(error));
    return wf_error(wf_fs_error_class(error),
                    "a byte range of '%s' cannot be %s: %s", f->path, what,
                    strerror(error));
}

/* A lock of a file that is open for reading, or for writing, only can be
 * shared, or exclusive, only: the other kind excludes as much or more. */
static short lock_type(const struct wf_posix_file *f, enum wf_fs_lock kind)
{
    int access = f->flags & O_ACCMODE;

    if (access == O_RDONLY)
        return F_RDLCK;
    return kind == WF_FS_SHARED && access == O_RDWR ? F_RDLCK : F_WRLCK;
}

int wf_posix_lock(struct wf_fs_file *file, enum wf_fs_lock kind, uint64_t first,
                  uint64_t bytes)
{
    struct wf_posix_file *f = wf_posix_file(file);
    int error;

    if (file->locks == WF_FS_LOCKS_NEVER)
        return MPI_SUCCESS;
    error = set_lock(f, lock_type(f, kind), first, bytes);
    return error ? report_lock(f, error, "locked") : MPI_SUCCESS;
}

int wf_posix_unlock(struct wf_fs_file *file, uint64_t first, uint64_t bytes)
{
    struct wf_posix_file *f = wf_posix_file(file);
    int error;

    if (file->locks == WF_FS_LOCKS_NEVER)
        return MPI_SUCCESS;
    error = set_lock(f, F_UNLCK, first, bytes);
    return error ? report_lock(f, error, "unlocked") : MPI_SUCCESS;
}

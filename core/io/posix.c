/* Files of the operating system, by POSIX calls.
 *
 * DESIGN  A transfer is repeated until it is complete: Linux moves at most
 * 0x7ffff000 bytes by one call, a file system may move less at any time, and a
 * signal may come between. It returns less only at the end of the file, or with
 * an error, and says how much in either case. A file that its server has
 * forgotten (ESTALE) is opened again, once in a call.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "io/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/fs_error.h"
#include "object/error.h"

enum {
    AT_ONCE_MOST = 0x7ffff000, /* bytes that Linux moves by one call */
    BLOCKS_MOST = 1024         /* IOV_MAX of Linux */
};

/* ---- open and close ------------------------------------------------------ */

static int report_path(const char *path, int error, const char *what)
{
    return wf_error(wf_fs_error_class(error), "'%s' cannot be %s: %s", path,
                    what, strerror(error));
}

static int report_file(const struct wf_posix_file *f, int error,
                       const char *what)
{
    return report_path(f->path, error, what);
}

static int flags_of(int amode)
{
    int flags = amode & MPI_MODE_RDWR     ? O_RDWR
                : amode & MPI_MODE_WRONLY ? O_WRONLY
                                          : O_RDONLY;

    if (amode & MPI_MODE_CREATE)
        flags |= O_CREAT;
    if (amode & MPI_MODE_EXCL)
        flags |= O_EXCL;
    return flags | O_CLOEXEC | O_NOCTTY;
}

/* Opens a file that is not a directory. Returns an errno. */
static int open_descriptor(const char *path, int flags, int mode, int *fd)
{
    struct stat st;

    do
        *fd = open(path, flags, mode);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0)
        return errno;
    if (fstat(*fd, &st) == 0 && !S_ISDIR(st.st_mode))
        return 0;
    close(*fd);
    return EISDIR;
}

static int open_file(const struct wf_fs_open *how, struct wf_fs_file **out)
{
    size_t n = strlen(how->path) + 1;
    struct wf_posix_file *f = malloc(sizeof *f + n);
    int flags = flags_of(how->amode), error;

    if (!f)
        return wf_error(MPI_ERR_NO_MEM, "no memory to open '%s'", how->path);
    error = open_descriptor(how->path, flags, how->permissions, &f->fd);
    if (error) {
        free(f);
        return report_path(how->path, error, "opened");
    }
    f->file = (struct wf_fs_file){&wf_fs_posix, WF_FS_LOCKS_AUTO};
    f->flags = flags & ~(O_CREAT | O_EXCL);
    memcpy(f->path, how->path, n);
    *out = &f->file;
    return MPI_SUCCESS;
}

/* The descriptor is closed even where close() reports an error. */
static int close_file(struct wf_fs_file *file)
{
    struct wf_posix_file *f = wf_posix_file(file);
    int error = close(f->fd) < 0 && errno != EINTR ? errno : 0;
    int rc = error ? report_file(f, error, "closed without loss of data")
                   : MPI_SUCCESS;

    free(f);
    return rc;
}

static int remove_file(const char *path)
{
    return unlink(path) < 0 ? report_path(path, errno, "deleted") : MPI_SUCCESS;
}

/* Opens a file again that its server has forgotten, under the same number, so
 * that other threads may go on. Returns an errno. */
static int open_again(struct wf_posix_file *f)
{
    int fd, error = open_descriptor(f->path, f->flags, 0, &fd);

    if (error)
        return error;
    if (dup3(fd, f->fd, O_CLOEXEC) < 0)
        error = errno;
    close(fd);
    return error;
}

/* Returns whether a call that has failed is to be made again; if not, errno
 * says why. `tried` lives as long as the operation. */
static bool may_repeat(struct wf_posix_file *f, int error, bool *tried)
{
    if (error == EINTR)
        return true;
    if (error != ESTALE || *tried)
        return false;
    *tried = true;
    errno = open_again(f);
    return errno == 0;
}

/* ---- transfers ----------------------------------------------------------- */

enum direction { READ, WRITE };

/* The rest of a transfer. */
struct rest {
    const struct iovec *blocks;
    int n;
    size_t skip; /* bytes of the first block that are transferred */
};

static void advance_rest(struct rest *r, size_t bytes)
{
    r->skip += bytes;
    while (r->n && r->skip >= r->blocks->iov_len) {
        r->skip -= r->blocks->iov_len;
        r->blocks++;
        r->n--;
    }
}

static ssize_t move_block(const struct wf_posix_file *f, enum direction way,
                          const struct rest *r, off_t offset)
{
    char *at = (char *)r->blocks->iov_base + r->skip;
    size_t n = r->blocks->iov_len - r->skip;

    if (n > AT_ONCE_MOST)
        n = AT_ONCE_MOST;
    return way == READ ? pread(f->fd, at, n, offset)
                       : pwrite(f->fd, at, n, offset);
}

/* Moves what one call can. Where more than a call can move is asked for, Linux
 * moves less. */
static ssize_t move_some(const struct wf_posix_file *f, enum direction way,
                         const struct rest *r, off_t offset)
{
    int n = r->n < BLOCKS_MOST ? r->n : BLOCKS_MOST;

    if (n == 1 || r->skip)
        return move_block(f, way, r, offset);
    return way == READ ? preadv(f->fd, r->blocks, n, offset)
                       : pwritev(f->fd, r->blocks, n, offset);
}

static int report_transfer(const struct wf_posix_file *f, enum direction way,
                           int error, uint64_t at)
{
    return wf_error(error ? wf_fs_error_class(error) : MPI_ERR_IO,
                    "%s '%s' at byte %llu: %s",
                    way == READ ? "reading" : "writing", f->path,
                    (unsigned long long)at,
                    error ? strerror(error) : "the file system takes no more");
}

/* Moves all, call by call. first: the outcome of the first call, with its
 * errno; NULL: none was made. */
static WF_COLD int transfer_rest(struct wf_posix_file *f, enum direction way,
                                 struct rest *r, uint64_t offset,
                                 uint64_t *done, const ssize_t *first)
{
    bool tried = false;
    ssize_t n;

    *done = 0;
    for (advance_rest(r, 0); r->n; advance_rest(r, (size_t)n)) {
        if (offset > INT64_MAX - *done)
            return report_transfer(f, way, EFBIG, offset);
        n = first ? *first : move_some(f, way, r, (off_t)(offset + *done));
        first = NULL;
        while (n < 0 && may_repeat(f, errno, &tried))
            n = move_some(f, way, r, (off_t)(offset + *done));
        if (n < 0)
            return report_transfer(f, way, errno, offset + *done);
        if (n == 0)
            return way == READ ? MPI_SUCCESS
                               : report_transfer(f, way, 0, offset + *done);
        *done += (uint64_t)n;
    }
    return MPI_SUCCESS;
}

/* One block that one call moves, as it mostly is, costs no more than that. */
static inline int transfer_blocks(struct wf_fs_file *file, enum direction way,
                                  const struct iovec *v, int count,
                                  uint64_t offset, uint64_t *done)
{
    struct wf_posix_file *f = wf_posix_file(file);
    struct rest r = {v, count, 0};
    bool plain = count == 1 && v->iov_len - 1 < AT_ONCE_MOST;
    ssize_t n;

    if (wf_likely(plain && offset <= INT64_MAX)) {
        n = way == READ ? pread(f->fd, v->iov_base, v->iov_len, (off_t)offset)
                        : pwrite(f->fd, v->iov_base, v->iov_len, (off_t)offset);
        *done = (uint64_t)n;
        return wf_likely(*done == v->iov_len)
                   ? MPI_SUCCESS
                   : transfer_rest(f, way, &r, offset, done, &n);
    }
    return transfer_rest(f, way, &r, offset, done, NULL);
}

static int read_blocks(struct wf_fs_file *f, const struct iovec *blocks, int n,
                       uint64_t offset, uint64_t *done)
{
    return transfer_blocks(f, READ, blocks, n, offset, done);
}

static int write_blocks(struct wf_fs_file *f, const struct iovec *blocks, int n,
                        uint64_t offset, uint64_t *done)
{
    return transfer_blocks(f, WRITE, blocks, n, offset, done);
}

/* ---- the file as a whole ------------------------------------------------- */

static int find_size(struct wf_fs_file *file, uint64_t *bytes)
{
    struct wf_posix_file *f = wf_posix_file(file);
    bool tried = false;
    struct stat st;
    off_t end;
    int r;

    do
        r = fstat(f->fd, &st);
    while (r < 0 && may_repeat(f, errno, &tried));
    if (r < 0)
        return report_file(f, errno, "asked for its size");
    end = S_ISBLK(st.st_mode) ? lseek(f->fd, 0, SEEK_END) : st.st_size;
    *bytes = end < 0 ? 0 : (uint64_t)end;
    return MPI_SUCCESS;
}

static int set_size(struct wf_fs_file *file, uint64_t bytes)
{
    struct wf_posix_file *f = wf_posix_file(file);
    bool tried = false;
    int r;

    if (bytes > INT64_MAX)
        return report_file(f, EFBIG, "set to this size");
    do
        r = ftruncate(f->fd, (off_t)bytes);
    while (r < 0 && may_repeat(f, errno, &tried));
    return r < 0 ? report_file(f, errno, "set to this size") : MPI_SUCCESS;
}

static int allocate_storage(struct wf_fs_file *file, uint64_t bytes)
{
    struct wf_posix_file *f = wf_posix_file(file);
    bool tried = false;
    int error;

    if (bytes > INT64_MAX)
        return report_file(f, EFBIG, "given storage");
    if (bytes == 0)
        return MPI_SUCCESS;
    do
        error = posix_fallocate(f->fd, 0, (off_t)bytes);
    while (error && may_repeat(f, error, &tried));
    return error ? report_file(f, error, "given storage") : MPI_SUCCESS;
}

/* A file that has no storage, as a pipe, gives EINVAL. */
static int sync_file(struct wf_fs_file *file)
{
    struct wf_posix_file *f = wf_posix_file(file);
    bool tried = false;
    int r;

    do
        r = fsync(f->fd);
    while (r < 0 && may_repeat(f, errno, &tried));
    return r < 0 && errno != EINVAL && errno != EROFS
               ? report_file(f, errno, "brought to its storage")
               : MPI_SUCCESS;
}

const struct wf_fs wf_fs_posix = {
    .name = "posix",
    .open = open_file,
    .close = close_file,
    .preadv = read_blocks,
    .pwritev = write_blocks,
    .size = find_size,
    .truncate = set_size,
    .allocate = allocate_storage,
    .sync = sync_file,
    .lock = wf_posix_lock,
    .unlock = wf_posix_unlock,
    .remove = remove_file,
    .identify = wf_posix_identify,
};

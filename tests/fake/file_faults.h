/* A file system of faults: the calls by which Weft accesses files, as this
 * program makes them fail. Linked with -Wl,--wrap=CALL for each of
 * FILE_FAULTS_CALLS (tests/CMakeLists.txt).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef FILE_FAULTS_H
#define FILE_FAULTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* The faults; all 0: none. */
static struct {
    _Atomic unsigned calls;     /* calls so far, also without faults */
    _Atomic unsigned transfers; /* those of pread, pwrite and their relatives */
    unsigned every; /* every n-th call fails ... */
    int error;      /* ... with this errno */
    unsigned times; /* so often at most; 0: always */
    _Atomic unsigned failed;
    size_t most;       /* bytes that one call moves at most */
    int64_t fails_at;  /* no transfer goes past this byte of the file ... */
    int at_error; /* ... and there it has this errno; 0: it moves nothing */
    bool has_fails_at;
    bool writes_only; /* the two above are about writes */
    int lock_error;   /* of fcntl that locks */
    _Atomic size_t asked_most; /* bytes that one call was asked to move */
} file_faults;

static inline bool file_fault_is_due(void)
{
    unsigned n = atomic_fetch_add(&file_faults.calls, 1) + 1;

    if (!file_faults.every || n % file_faults.every)
        return false;
    if (file_faults.times && file_faults.failed >= file_faults.times)
        return false;
    file_faults.failed++;
    errno = file_faults.error;
    return true;
}

/* Returns how many of n bytes at an offset may be moved; -1: errno is set. */
static inline ssize_t file_fault_limit(size_t n, off_t offset, bool writes)
{
    atomic_fetch_add(&file_faults.transfers, 1);
    if (n > file_faults.asked_most)
        file_faults.asked_most = n;
    if (file_fault_is_due())
        return -1;
    if (file_faults.most && n > file_faults.most)
        n = file_faults.most;
    if (!file_faults.has_fails_at || (file_faults.writes_only && !writes) ||
        offset + (off_t)n <= file_faults.fails_at)
        return (ssize_t)n;
    if (offset < file_faults.fails_at)
        return file_faults.fails_at - offset;
    errno = file_faults.at_error;
    return file_faults.at_error ? -1 : 0;
}

/* Cuts blocks to n bytes; returns how many are left in `out`. */
static inline int file_fault_cut(const struct iovec *v, int count, size_t n,
                                 struct iovec *out)
{
    int used = 0;

    for (; used < count && n > 0; used++) {
        out[used] = v[used];
        if (out[used].iov_len > n)
            out[used].iov_len = n;
        n -= out[used].iov_len;
    }
    return used;
}

static inline size_t file_fault_bytes(const struct iovec *v, int count)
{
    size_t n = 0;

    for (int i = 0; i < count; i++)
        n += v[i].iov_len;
    return n;
}

#define FILE_FAULT_CALL(result, name, parameters, ...)                         \
    result __real_##name parameters;                                           \
    result __wrap_##name parameters;                                           \
    result __wrap_##name parameters                                            \
    __VA_ARGS__

FILE_FAULT_CALL(ssize_t, pread, (int fd, void *buf, size_t n, off_t at), {
    ssize_t most = file_fault_limit(n, at, false);
    return most <= 0 ? most : __real_pread(fd, buf, (size_t)most, at);
})

FILE_FAULT_CALL(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at),
{
    ssize_t most = file_fault_limit(n, at, true);
    return most <= 0 ? most : __real_pwrite(fd, buf, (size_t)most, at);
})

FILE_FAULT_CALL(ssize_t, preadv,
                (int fd, const struct iovec *v, int count, off_t at),
{
    struct iovec cut[IOV_MAX];
    ssize_t most = file_fault_limit(file_fault_bytes(v, count), at, false);
    return most <= 0 ? most
                     : __real_preadv(fd, cut,
                                     file_fault_cut(v, count, (size_t)most,
                                                    cut), at);
})

FILE_FAULT_CALL(ssize_t, pwritev,
                (int fd, const struct iovec *v, int count, off_t at),
{
    struct iovec cut[IOV_MAX];
    ssize_t most = file_fault_limit(file_fault_bytes(v, count), at, true);
    return most <= 0 ? most
                     : __real_pwritev(fd, cut,
                                      file_fault_cut(v, count, (size_t)most,
                                                     cut), at);
})

FILE_FAULT_CALL(int, ftruncate, (int fd, off_t n), {
    return file_fault_is_due() ? -1 : __real_ftruncate(fd, n);
})

FILE_FAULT_CALL(int, posix_fallocate, (int fd, off_t at, off_t n), {
    return file_fault_is_due() ? errno : __real_posix_fallocate(fd, at, n);
})

FILE_FAULT_CALL(int, fsync, (int fd), {
    return file_fault_is_due() ? -1 : __real_fsync(fd);
})

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list more;
    void *arg;

    va_start(more, command);
    arg = va_arg(more, void *);
    va_end(more);
    if (command != F_OFD_SETLKW)
        return __real_fcntl(fd, command, arg);
    if (file_faults.lock_error) {
        errno = file_faults.lock_error;
        return -1;
    }
    return file_fault_is_due() ? -1 : __real_fcntl(fd, command, arg);
}

static inline void no_file_faults(void)
{
    memset((void *)&file_faults, 0, sizeof file_faults);
}

#endif

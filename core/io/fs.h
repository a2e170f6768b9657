/* File systems: the one interface by which files of MPI are reached.
 *
 *   wf_fs            what a file system can do: a table of functions
 *   wf_fs_file       a file that is open in this process, by that table
 *
 * core/io/posix.c implements it; nothing else of Weft calls the operating
 * system to access a file of the program.
 *
 * ERRORS  Each function returns MPI_SUCCESS or an error class, and records the
 * cause, with the name of the file, on the calling thread.
 *
 * THREADS  preadv, pwritev, sync, lock, unlock and size of one file may run in
 * several threads at a time. They wait for the disk, so no section is held
 * around them where other threads must go on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FS_H
#define WF_IO_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct wf_fs;

/* A kind of file system, as far as accesses depend on it. */
enum wf_fs_kind {
    WF_FS_LOCAL,   /* one host; its page cache is what all processes see */
    WF_FS_NFS,     /* hosts have caches of their own: close-to-open */
    WF_FS_PARALLEL /* hosts share it, coherently: Lustre, GPFS, BeeGFS ... */
};

struct wf_fs_identity {
    enum wf_fs_kind kind;
    const char *name; /* "tmpfs", "nfs"; "unknown" */
    uint64_t block;   /* bytes by which accesses of processes are best aligned:
                         a power of two */
};

/* How byte ranges are locked (core.io_locks, or the hint io_locks). */
enum wf_fs_locks {
    WF_FS_LOCKS_AUTO, /* a file system that has no locks is an error */
    WF_FS_LOCKS_NEVER /* lock and unlock do nothing */
};

enum wf_fs_lock { WF_FS_SHARED, WF_FS_EXCLUSIVE };

/* An open file. Its maker owns what follows in memory. */
struct wf_fs_file {
    const struct wf_fs *fs;
    enum wf_fs_locks locks; /* AUTO when it is opened; its user may set it */
};

/* How a file is opened. */
struct wf_fs_open {
    const char *path; /* copied */
    int amode;        /* MPI_MODE_RDONLY, WRONLY, RDWR, CREATE, EXCL; the other
                         bits are for its user */
    int permissions;  /* of a file that is created; the umask applies */
};

struct wf_fs {
    const char *name;

    int (*open)(const struct wf_fs_open *, struct wf_fs_file **out);
    /* Frees the file, also where it reports an error: data that were not
     * written. */
    int (*close)(struct wf_fs_file *);

    /* Read into, or write from, n blocks of memory of any length one run of the
     * file from `offset`. *done: the bytes that were transferred, also where an
     * error is returned. A read is short, without an error, at the end of the
     * file only; a write that is short is an error. The blocks are only read.
     * A transfer may have any number of bytes and blocks. */
    int (*preadv)(struct wf_fs_file *, const struct iovec *, int n,
                  uint64_t offset, uint64_t *done);
    int (*pwritev)(struct wf_fs_file *, const struct iovec *, int n,
                   uint64_t offset, uint64_t *done);

    int (*size)(struct wf_fs_file *, uint64_t *bytes);
    /* Sets the size: cuts off what is behind it, or adds zeros. */
    int (*truncate)(struct wf_fs_file *, uint64_t bytes);
    /* Makes the file at least this long, and has storage for all of that. */
    int (*allocate)(struct wf_fs_file *, uint64_t bytes);
    /* Brings what was written to the storage. */
    int (*sync)(struct wf_fs_file *);

    /* Locks a range of the file against other processes, and waits for it. A
     * lock belongs to the wf_fs_file: another one of the same process is
     * excluded, too. bytes == 0: to the end of all files. */
    int (*lock)(struct wf_fs_file *, enum wf_fs_lock, uint64_t first,
                uint64_t bytes);
    int (*unlock)(struct wf_fs_file *, uint64_t first, uint64_t bytes);

    int (*remove)(const char *path);
    /* Tells what kind of file system the file is on. */
    int (*identify)(struct wf_fs_file *, struct wf_fs_identity *);
};

/* Files of the operating system (posix.c). */
extern const struct wf_fs wf_fs_posix;

#endif

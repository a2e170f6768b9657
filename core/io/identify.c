/* The kinds of file systems, by the magic numbers of statfs(2).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

#include "io/fs_error.h"
#include "io/posix.h"
#include "object/error.h"

enum { BLOCK_LEAST = 4096, BLOCK_MOST = 1 << 24 };

static const struct {
    uint32_t magic;
    enum wf_fs_kind kind;
    const char *name;
} known[] = {
    {0x01021994, WF_FS_LOCAL, "tmpfs"},
    {0x0000ef53, WF_FS_LOCAL, "ext4"},
    {0x58465342, WF_FS_LOCAL, "xfs"},
    {0x9123683e, WF_FS_LOCAL, "btrfs"},
    {0x2fc12fc1, WF_FS_LOCAL, "zfs"},
    {0xf2f52010, WF_FS_LOCAL, "f2fs"},
    {0x794c7630, WF_FS_LOCAL, "overlay"},
    {0x858458f6, WF_FS_LOCAL, "ramfs"},
    {0x00006969, WF_FS_NFS, "nfs"},
    {0xfe534d42, WF_FS_NFS, "smb"},
    {0xff534d42, WF_FS_NFS, "cifs"},
    {0x01021997, WF_FS_NFS, "9p"},
    {0x5346414f, WF_FS_NFS, "afs"},
    {0x65735546, WF_FS_NFS, "fuse"},
    {0x0bd00bd0, WF_FS_PARALLEL, "lustre"},
    {0x47504653, WF_FS_PARALLEL, "gpfs"},
    {0x00c36400, WF_FS_PARALLEL, "ceph"},
    {0x19830326, WF_FS_PARALLEL, "beegfs"},
    {0x20030528, WF_FS_PARALLEL, "orangefs"},
    {0xaad7aaea, WF_FS_PARALLEL, "panfs"},
    {0x01161970, WF_FS_PARALLEL, "gfs2"},
    {0x7461636f, WF_FS_PARALLEL, "ocfs2"},
};

/* The largest power of two that is not above n, within bounds. */
static uint64_t round_block(uint64_t n)
{
    uint64_t block = BLOCK_LEAST;

    while (block < BLOCK_MOST && 2 * block <= n)
        block *= 2;
    return block;
}

int wf_posix_identify(struct wf_fs_file *file, struct wf_fs_identity *out)
{
    struct wf_posix_file *f = wf_posix_file(file);
    struct statfs fs;
    int r;

    do
        r = fstatfs(f->fd, &fs);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return wf_error(wf_fs_error_class(errno),
                        "the file system of '%s' is not known: %s", f->path,
                        strerror(errno));
    *out = (struct wf_fs_identity){WF_FS_LOCAL, "unknown",
                                   round_block((uint64_t)fs.f_bsize)};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].magic == (uint32_t)fs.f_type) {
            out->kind = known[i].kind;
            out->name = known[i].name;
        }
    return MPI_SUCCESS;
}

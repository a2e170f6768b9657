/* The error class of each errno that a call on a file may give.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/fs_error.h"

#include <errno.h>

#include "io/fs.h"
#include "object/error.h"

static const struct {
    int error, class;
} classes[] = {
    {ENOENT, MPI_ERR_NO_SUCH_FILE},
    {ENOTDIR, MPI_ERR_NO_SUCH_FILE},
    {ENXIO, MPI_ERR_NO_SUCH_FILE},
    {ENODEV, MPI_ERR_NO_SUCH_FILE},
    {EEXIST, MPI_ERR_FILE_EXISTS},
    {EACCES, MPI_ERR_ACCESS},
    {EPERM, MPI_ERR_ACCESS},
    {ENOSPC, MPI_ERR_NO_SPACE},
    {EFBIG, MPI_ERR_NO_SPACE},
    {EDQUOT, MPI_ERR_QUOTA},
    {EROFS, MPI_ERR_READ_ONLY},
    {EBUSY, MPI_ERR_FILE_IN_USE},
    {ETXTBSY, MPI_ERR_FILE_IN_USE},
    {EBADF, MPI_ERR_FILE},
    {EISDIR, MPI_ERR_BAD_FILE},
    {ELOOP, MPI_ERR_BAD_FILE},
    {ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {EOPNOTSUPP, MPI_ERR_UNSUPPORTED_OPERATION},
    {ESPIPE, MPI_ERR_UNSUPPORTED_OPERATION},
    {ENOMEM, MPI_ERR_NO_MEM},
};

int wf_fs_error_class(int error)
{
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].error == error)
            return classes[i].class;
    return MPI_ERR_IO; /* EIO, ESTALE, ETIMEDOUT, EMFILE, ENOLCK ... */
}

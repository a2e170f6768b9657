/* openat that fails when the system lacks memory or descriptors, for programs
 * that are linked with --wrap=openat.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_OPENAT_FAILS_H
#define WF_TEST_OPENAT_FAILS_H

#include <errno.h>
#include <fcntl.h>

static int openat_fails_at; /* the n-th call from now on; 0: none */
static int openat_error;

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    if (openat_fails_at == 0 || --openat_fails_at > 0)
        return __real_openat(dir, path, flags);
    errno = openat_error;
    return -1;
}

#endif

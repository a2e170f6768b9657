/* The scope of Yama as this program plays it to the transport. Linked with
 * -Wl,--wrap=open.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef YAMA_SCOPE_H
#define YAMA_SCOPE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char scope; /* 0: there is no Yama */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    char line[2] = {scope, '\n'};
    va_list more;
    int access, fd;

    va_start(more, flags);
    access = va_arg(more, int);
    va_end(more);
    if (strcmp(path, "/proc/sys/kernel/yama/ptrace_scope") != 0)
        return __real_open(path, flags, access);
    if (!scope)
        return errno = ENOENT, -1;
    fd = memfd_create("scope", MFD_CLOEXEC);
    if (write(fd, line, sizeof line) != sizeof line ||
        lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

#endif

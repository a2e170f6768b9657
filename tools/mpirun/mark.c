/* A process that executes a program has no environment from the time when it
 * has given up its memory until the new program has its arguments. The
 * scheduler may keep it there for as long as the machine is busy.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mark.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tells what the file contains. The mark begins and ends with a zero byte; the
 * file is read in pieces, each with the end of the one before, so it may have
 * any length. An empty file tells nothing. */
static enum wf_mark look_for_mark(int fd, const char *mark, size_t mark_size)
{
    char text[65536] = {0}; /* as if a variable had ended before the first */
    size_t kept = 1;
    bool any = false;
    ssize_t got;

    while ((got = read(fd, text + kept, sizeof(text) - kept)) > 0) {
        size_t n = kept + (size_t)got;
        if (memmem(text, n, mark, mark_size))
            return WF_MARK_THERE;
        kept = n < mark_size ? n : mark_size - 1;
        memmove(text, text + n - kept, kept);
        any = true;
    }
    return any ? WF_MARK_MISSING : WF_MARK_UNKNOWN;
}

/* Opens /proc/<pid>/<name>. */
static int open_file_of(const char *pid, const char *name)
{
    char path[48];
    snprintf(path, sizeof(path), "/proc/%.10s/%s", pid, name);
    return open(path, O_RDONLY);
}

/* Returns whether the process, whose environment was empty, has memory and not
 * that environment: none yet, or another one by now. A thread of the kernel and
 * a process that has ended have no memory. */
static bool is_executing(const char *pid)
{
    char text[2048];
    int fd = open_file_of(pid, "stat");
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    unsigned long long memory = 0, begin = 0, end = 0;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    char *at = strrchr(text, ')'); /* ends the second of the fields */
    for (int field = 3; at && field <= 51; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 23) /* vsize */
            memory = strtoull(at, NULL, 10);
        if (at && field == 50) /* env_start */
            begin = strtoull(at, NULL, 10);
        if (at && field == 51) /* env_end */
            end = strtoull(at, NULL, 10);
    }
    return memory > 0 && (end == 0 || end != begin);
}

enum wf_mark wf_mark_find(const char *pid, const char *mark, size_t mark_size)
{
    int fd = open_file_of(pid, "environ");
    if (fd < 0)
        return WF_MARK_MISSING;
    enum wf_mark m = look_for_mark(fd, mark, mark_size);
    close(fd);
    return m == WF_MARK_UNKNOWN && !is_executing(pid) ? WF_MARK_MISSING : m;
}

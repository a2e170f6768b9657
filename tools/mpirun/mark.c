/* A process that executes a program has no environment from the time when it
 * has given up its memory until the new program has its arguments. The
 * scheduler may keep it there for as long as the machine is busy.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mark.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc_stat.h"

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

/* Returns whether the process, whose environment was empty, has memory and not
 * that environment: none yet, or another one by now. */
static bool is_executing(pid_t pid)
{
    struct wf_proc_stat s;

    return wf_proc_stat_read(pid, &s) && s.memory > 0 &&
           (s.environ_end == 0 || s.environ_end != s.environ_begin);
}

enum wf_mark wf_mark_find(pid_t pid, const char *mark, size_t mark_size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return WF_MARK_MISSING;
    enum wf_mark m = look_for_mark(fd, mark, mark_size);
    close(fd);
    return m == WF_MARK_UNKNOWN && !is_executing(pid) ? WF_MARK_MISSING : m;
}

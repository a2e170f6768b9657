/* A line of /proc/<pid>/stat is "pid (name) state parent ...": numbers, but for
 * the name, which may contain any character, and the state.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "proc_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARENT = 4, MEMORY = 23, ENVIRON_BEGIN = 50, ENVIRON_END = 51 };

/* Reads the line up to its end, or as much as the text has room for. */
static bool read_line(pid_t pid, char *text, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

bool wf_proc_stat_read(pid_t pid, struct wf_proc_stat *s)
{
    char text[2048];
    unsigned long long number[ENVIRON_END + 1] = {0};

    if (pid <= 0 || !read_line(pid, text, sizeof(text)))
        return false;
    char *at = strrchr(text, ')'); /* ends the second of the fields */
    if (!at || at[1] != ' ' || !at[2])
        return false;
    s->state = at[2];
    at += 3;
    for (int field = PARENT; field <= ENVIRON_END; field++)
        number[field] = strtoull(at, &at, 10);
    s->parent = (pid_t)number[PARENT];
    s->memory = number[MEMORY];
    s->environ_begin = number[ENVIRON_BEGIN];
    s->environ_end = number[ENVIRON_END];
    return true;
}

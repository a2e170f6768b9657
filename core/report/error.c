/* The cause of the last error on this thread, and the log.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/trust.h"
#include "process/rank.h"

static _Thread_local struct {
    struct wf_error_record record;
    bool fresh; /* recorded and not raised yet */
} last;

/* Append the limit and the remedy to a text that contains the system's message
 * about too many open files, which has neither. */
static void add_remedy(char *text, size_t size)
{
    struct rlimit files;
    size_t n = strlen(text);

    if (!strstr(text, strerror(EMFILE)) || strstr(text, "RLIMIT_NOFILE"))
        return;
    if (strstr(text, strerror(ENFILE)))
        snprintf(text + n, size - n,
                 " (raise the system's limit, fs.file-max)");
    else if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        snprintf(text + n, size - n,
                 " (RLIMIT_NOFILE is %llu: raise it with ulimit -n)",
                 (unsigned long long)files.rlim_cur);
}

void wf_fail_with_args(void *owner, int status, const char *fmt, va_list args)
{
    last.record.status = status;
    last.record.owner = owner;
    vsnprintf(last.record.text, sizeof last.record.text, fmt, args);
    add_remedy(last.record.text, sizeof last.record.text);
    last.fresh = true;
}

int wf_fail(int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    wf_fail_with_args(NULL, status, fmt, args);
    va_end(args);
    return status;
}

int wf_fail_on(void *owner, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    wf_fail_with_args(owner, status, fmt, args);
    va_end(args);
    return status;
}

void wf_error_clear(void)
{
    last.record.text[0] = 0;
    last.fresh = false;
}

struct wf_error_record *wf_error_last(void)
{
    return &last.record;
}

void wf_error_forget(void)
{
    last.record.status = 0;
}

void wf_error_disown(const void *owner)
{
    if (last.record.owner == owner)
        last.record.owner = NULL;
}

bool wf_error_take_fresh(void)
{
    bool fresh = last.fresh;

    last.fresh = false;
    return fresh;
}

/* Returns the log level for messages before there is a configuration. */
static int log_level_of_environment(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const char *text = wf_trust_getenv("WEFT_LOG");
    for (int i = 0; text && i < 4; i++)
        if (!strcmp(text, names[i]))
            return i;
    return WF_LOG_WARN;
}

/* Write a line by one call, so that lines of several processes do not mix. */
static void write_line(const char *line, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDERR_FILENO, line, n);
        if (done <= 0)
            return; /* there is no way to report it */
        line += done;
        n -= (size_t)done;
    }
}

void wf_log(struct wf_instance *wf, int level, const char *fmt, ...)
{
    int limit = wf && wf->rank->options ? wf->rank->log_level
                                        : log_level_of_environment();
    if (level > limit)
        return;
    char line[1024];
    int n = wf ? snprintf(line, sizeof line, "weft[%u]: ", wf->rank->id)
               : snprintf(line, sizeof line, "weft: ");
    va_list args;
    va_start(args, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, args);
    va_end(args);
    if (m < 0)
        return;
    add_remedy(line, sizeof line - 1);
    size_t len = strlen(line);
    line[len++] = '\n';
    write_line(line, len);
}

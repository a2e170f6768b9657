/* A function that may end its process is run in a child.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CHILD_H
#define CHILD_H

#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Run `what` in a child. Returns the signal that ended it; `said` is what it
 * has written to stderr. */
static int run_in_child(void (*what)(void), char *said, size_t room)
{
    int fds[2], status;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        what();
        _exit(0);
    }
    close(fds[1]);
    while ((n = read(fds[0], said + used, room - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#endif

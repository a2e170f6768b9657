/* A launcher for a process that was started without one: see own_launcher.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "boot/own_launcher.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot/pmi1.h"
#include "boot/pmi_line.h"
#include "layout.h"
#include "os/library.h"
#include "os/prefix.h"
#include "os/trust.h"
#include "report/error.h"

extern char **environ;

/* Find the mpirun to start. */
static int find_mpirun(const char *given, char *path, size_t n)
{
    const char *library = wf_library_dir();

    if (!wf_trust_caller())
        return wf_fail(WEFT_ENOTSUP, "a set-user-ID or set-group-ID program "
                                     "starts no launcher");
    if (given && (size_t)snprintf(path, n, "%s", given) < n) {
        if (access(path, X_OK) == 0)
            return 0;
        return wf_fail(WEFT_ENOTSUP, "core.launcher: %s: %s", given,
                       strerror(errno));
    }
    if (library && wf_prefix_resolve(library, WF_MPIRUN_FROM_LIB, path, n) &&
        access(path, X_OK) == 0)
        return 0;
    return wf_fail(WEFT_ENOTSUP,
                   "this process was started without mpirun, and the mpirun of "
                   "this library is not found%s%s: core.launcher names it",
                   library ? " at " : "", library ? path : "");
}

/* Execute it with this descriptor as its input. It forks and leaves. */
static int execute_mpirun(const char *path, int fd)
{
    char *argv[] = {(char *)"mpirun", (char *)"--singleton", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, fd, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    error = posix_spawn(&pid, path, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return wf_fail(WEFT_ESYS, "cannot start %s: %s", path, strerror(error));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ; /* ECHILD: the program ignores SIGCHLD */
    return 0;
}

static int greet_launcher(struct wf_pmi1 *p, const char *path)
{
    char *reply;
    int rc = wf_pmi1_ask(p, &reply, "response_to_init",
                         "cmd=init pmi_version=1 pmi_subversion=1\n");

    if (rc == 0 && !wf_pmi1_refused(reply))
        return 0;
    return wf_fail(WEFT_ESYS,
                   "%s does not serve this process; it must be of "
                   "the same version of Weft",
                   path);
}

static int finalize_launcher(struct wf_boot *boot)
{
    char *reply;

    (void)wf_pmi1_ask(wf_pmi1_of(boot), &reply, "finalize_ack",
                      "cmd=finalize\n");
    return 0;
}

static void close_launcher(struct wf_boot *boot)
{
    struct wf_pmi1 *p = wf_pmi1_of(boot);

    wf_pmi_channel_close(&p->channel);
    free(p->base.given_up_by);
    free(p);
}

static const struct wf_boot_ops launcher_ops = {
    .name = "own launcher",
    .finalize = finalize_launcher,
    .close = close_launcher,
};

int wf_own_launcher_start(const char *given, struct wf_boot **out)
{
    struct wf_pmi1 *p;
    char path[PATH_MAX] = "";
    int pair[2], rc = find_mpirun(given, path, sizeof path);

    if (rc < 0)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return wf_fail(WEFT_ESYS, "no socket to a launcher: %s",
                       strerror(errno));
    p = calloc(1, sizeof *p);
    rc = p ? wf_pmi_channel_adopt(&p->channel, pair[0]) : WEFT_ENOMEM;
    if (rc == 0) {
        p->base.ops = &launcher_ops;
        p->base.awaits = 1; /* it is Weft's */
        p->value_max = PMI_VALUE_MAX;
        rc = execute_mpirun(path, pair[1]);
    } else {
        close(pair[0]);
        (void)wf_fail(rc, "no memory for a launcher");
    }
    close(pair[1]);
    if (rc == 0)
        rc = greet_launcher(p, path);
    if (rc == 0) {
        *out = &p->base;
        return 0;
    }
    if (p)
        wf_pmi_channel_close(&p->channel);
    free(p);
    return rc;
}

/* This file starts the ranks.
 *
 * It uses vfork: the child borrows mpirun's memory until exec, so that starting
 * a rank does not cost a copy of the page tables, and its errno comes back in a
 * variable. Between vfork and exec the child makes system calls and nothing
 * else.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent.h"
#include "binding.h"
#include "job.h"
#include "link.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

/* ---- one rank --------------------------------------------------------- */

struct launch {
    const struct job *job;
    const struct rank *rank;
    int fds[3], pmi;
    char **env, **sh; /* sh: arguments for a script without "#!" */
    pid_t parent;
    volatile int error;
    const char *volatile what;
};

static void child_fail(struct launch *l, const char *what)
{
    l->error = errno;
    l->what = what;
    _exit(STATUS_NOT_FOUND);
}

/* Execute the program in the child. Its PATH and directory are already
 * known. */
static void exec_program(struct launch *l)
{
    const struct app *app = l->rank->app;
    const struct wf_cpus *cpus = l->rank->cpus;
    if (l->rank->own_group)
        (void)setpgid(0, 0);
    /* the child dies with mpirun, and now if mpirun has died already */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != l->parent)
        _exit(STATUS_NOT_FOUND);
    (void)setrlimit(RLIMIT_NOFILE, &l->job->old_files);
    if (cpus &&
        sched_setaffinity(0, sizeof(*cpus), (const cpu_set_t *)cpus) < 0)
        child_fail(l, "its processors");
    for (int i = 0; i < 3; i++)
        if (l->fds[i] != i && dup2(l->fds[i], i) < 0)
            child_fail(l, "its standard descriptors");
    if (fcntl(l->pmi, F_SETFD, 0) < 0)
        child_fail(l, "its PMI descriptor");
    if (l->rank->state_page >= 0)
        (void)fcntl(l->rank->state_page, F_SETFD, 0);
    if (app->wdir && chdir(app->wdir) < 0)
        child_fail(l, app->wdir);
    (void)sigprocmask(SIG_SETMASK, &l->job->old_mask, NULL);
    execve(app->program, app->argv, l->env);
    if (errno == ENOEXEC)
        execve("/bin/sh", l->sh, l->env);
    child_fail(l, app->program);
}

/* Returns the words: /bin/sh program args */
static char **shell_words(const struct app *app)
{
    size_t n = 0;
    while (app->argv[n])
        n++;
    char **words = calloc(n + 2, sizeof(*words));
    if (!words)
        return NULL;
    words[0] = (char *)"/bin/sh";
    words[1] = app->program;
    for (size_t i = 1; i < n; i++)
        words[i + 1] = app->argv[i];
    return words;
}

static void close_child_ends(struct launch *l)
{
    for (int i = 0; i < 3; i++)
        if (l->fds[i] > 2 && (i != 2 || l->fds[2] != l->fds[1]))
            close(l->fds[i]);
    if (l->pmi >= 0)
        close(l->pmi);
}

static int open_pmi(struct job *job, struct rank *r, int *child_fd)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    *child_fd = pair[1];
    r->pmi_open = true;
    return wf_job_watch(job, &r->pmi, pair[0], EPOLLIN,
                        job->up ? wf_agent_pmi_ready : wf_pmi_ready);
}

/* Call vfork, alone in its function: no variable of another function can be
 * clobbered. */
static __attribute__((noinline)) pid_t vfork_child(struct launch *l)
{
    pid_t pid = vfork();
    if (pid == 0)
        exec_program(l);
    return pid;
}

static void say_failure(struct job *job, const struct launch *l, pid_t pid)
{
    int error = pid < 0 ? errno : l->error;
    int status = pid < 0             ? 1
                 : error == ENOENT   ? STATUS_NOT_FOUND
                                     : STATUS_NOT_EXECUTABLE;
    wf_job_fail(job, status, "cannot start rank %d: %s: %s", l->rank->id,
                pid < 0 ? "fork" : l->what, strerror(error));
}

static int start_process(struct job *job, struct rank *r, char **app_env,
                         char **sh)
{
    struct launch l = {.job = job, .rank = r, .sh = sh, .parent = getpid(),
                       .pmi = -1};
    int rc = -1;
    if (wf_io_rank(job, r, l.fds) < 0 || open_pmi(job, r, &l.pmi) < 0) {
        wf_job_fail(job, 1, "cannot start rank %d: %s%s", r->id,
                    strerror(errno),
                    errno == EMFILE ? "; mpirun needs more of them for each "
                                      "rank: raise ulimit -Hn"
                                    : "");
        goto out;
    }
    wf_state_report_open(r);
    l.env = wf_env_of_rank(app_env, job, r, l.pmi, l.fds[2]);
    pid_t pid = vfork_child(&l);
    if (pid < 0 || l.error) {
        say_failure(job, &l, pid);
        goto out;
    }
    r->pid = pid;
    job->alive++;
    wf_guard_note(job, r, r->own_group ? -pid : pid);
    if (job->set.verbose && !job->up)
        wf_job_say(job, "rank %d is %s, pid %d", r->id, r->app->argv[0], pid);
    if (job->set.report_bindings)
        wf_binding_report(job, r);
    rc = 0;
out:
    wf_env_free(l.env);
    close_child_ends(&l);
    return rc;
}

/* ---- all -------------------------------------------------------------- */

static int start_app(struct job *job, struct app *app)
{
    char **env = wf_env_of_app(job, app), **sh = shell_words(app);
    int rc = sh ? 0 : -1;

    for (int i = 0; i < job->count && rc == 0; i++)
        if (job->ranks[i].app == app && job->ranks[i].host->here)
            rc = start_process(job, &job->ranks[i], env, sh);
    free(sh);
    wf_env_free(env);
    return rc;
}

/* Count the ranks of other hosts as alive, unless this is an agent, which
 * counts only its own. */
static void expect_remote(struct job *job)
{
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->host->here)
            continue;
        r->pmi_open = true;
        job->alive++;
        wf_io_attach(job, r);
        if (r->reads_input)
            wf_stdin_add_remote(job, r);
    }
}

int wf_spawn_all(struct job *job)
{
    int rc = wf_links_start(job);
    if (!job->up)
        expect_remote(job);
    for (int a = 0; a < job->app_count && rc == 0; a++)
        rc = start_app(job, &job->apps[a]);
    wf_foreign_start(job);
    return rc;
}

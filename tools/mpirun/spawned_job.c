/* This file runs a child job in its own launcher: see child_job.h.
 *
 * The process is a copy of its parent: the settings of the command line are
 * there, and the rest of the parent's job is left alone.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "spawned_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "binding.h"
#include "child_job.h"
#include "job.h"
#include "kvs.h"
#include "pmi_key.h"
#include "pmi_names.h"
#include "spawn_request.h"

struct parent {
    struct channel channel; /* first */
    bool answered;
    char said[1024]; /* the first message */
};

/* ---- leaving the parent's affairs ---------------------------------------- */

static void close_others(int fd)
{
    struct rlimit limit = {0, 0};

    if (syscall(SYS_close_range, 3, fd - 1, 0) == 0 &&
        syscall(SYS_close_range, fd + 1, ~0u, 0) == 0)
        return;
    getrlimit(RLIMIT_NOFILE, &limit); /* not in every kernel */
    for (int i = 3; i < (int)limit.rlim_cur; i++)
        if (i != fd)
            close(i);
}

/* Become a launcher of its own: it gets the signals that its parent passes on,
 * dies with it, and holds none of its descriptors. Returns the channel's. */
static int leave_parent(struct job *of_parent, int fd, pid_t parent)
{
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    wf_pmi_forget_key(of_parent);
    if (fd == 3) /* so that both ranges of close_others exist */
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 4);
    close_others(fd);
    (void)wf_io_leave_input();
    (void)setrlimit(RLIMIT_NOFILE, &of_parent->old_files);
    (void)sigprocmask(SIG_SETMASK, &of_parent->old_mask, NULL);
    return fd;
}

/* ---- the job of the request ---------------------------------------------- */

static void copy_settings(struct job *job, const struct job *of_parent)
{
    struct settings *set = &job->set;

    *set = of_parent->set;
    set->place = (struct placement){0};
    set->stdin_rank = STDIN_NONE;
    set->report_bindings = false;
    set->report_pid = NULL;
    set->check_net = NULL;
    set->names = NULL;
    set->timeout = 0; /* the parent's ends all jobs */
}

/* Set the variables of the info key "env", lines of NAME=VALUE. */
static void set_variables(struct app *app, const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n"), name = strcspn(lines, "=");
        if (name > 0 && name < n) {
            char *text = wf_job_check_memory(strndup(lines, n));
            text[name] = '\0';
            wf_env_change(&app->env, text, text + name + 1);
        }
        lines += n + (lines[n] != '\0');
    }
}

/* Returns whether processes can run on this machine that need this info key
 * "arch". */
static bool is_our_kind(const char *arch)
{
    struct utsname us;

    return !arch || (uname(&us) == 0 && strcmp(us.machine, arch) == 0);
}

static int make_app(struct job *job, const struct spawn_command *c)
{
    struct app *app = &job->apps[job->app_count++];
    const char *arch = wf_spawn_info(c, "arch");

    app->count = app->processes = c->count;
    app->each = 1;
    app->first = app->first_process = job->count;
    app->argv = c->argv;
    app->wdir = wf_spawn_info(c, "wdir");
    app->path = wf_spawn_info(c, "path");
    set_variables(app, wf_spawn_info(c, "env"));
    job->count += c->count;
    job->size = job->count;
    if (is_our_kind(arch))
        return 0;
    wf_job_fail(job, 1, "%s: no host of architecture '%s'", c->argv[0], arch);
    return -1;
}

/* Add a host that the info key "host" names; returns its index, or -1. */
static int add_host(struct job *job, const char *name, size_t n)
{
    if (!wf_host_add(&job->hosts, name, n, 1))
        return -1;
    for (int i = 0; i < job->hosts.count; i++) {
        const struct host *h = &job->hosts.all[i];
        if (strlen(h->name) == n && strncasecmp(h->name, name, n) == 0)
            return i;
    }
    for (int i = 0; i < job->hosts.count; i++) /* another name of this host */
        if (job->hosts.all[i].here)
            return i;
    return -1;
}

/* Choose the hosts of a command: those of its info key "host", in turn. */
static int choose_hosts(struct job *job, struct app *app, const char *names)
{
    size_t most = names ? strlen(names) + 1 : 0;

    app->on = names ? calloc(most, sizeof *app->on) : NULL;
    for (const char *at = names; at && *at;) {
        size_t n = strcspn(at, ", ");
        int host = n ? add_host(job, at, strcspn(at, ":, ")) : 0;
        if (host < 0 || !app->on)
            return -1;
        if (n)
            app->on[app->on_count++] = host;
        at += n + (at[n] != '\0');
    }
    return 0;
}

/* Take the hosts that the parent has and that can be reached. */
static int copy_hosts(struct job *job, const struct job *of_parent)
{
    const struct host_list *from = &of_parent->hosts;

    job->hosts.all = calloc((size_t)from->count, sizeof *job->hosts.all);
    for (int i = 0; job->hosts.all && i < from->count; i++) {
        if (from->all[i].lost)
            continue;
        job->hosts.all[job->hosts.count] = from->all[i];
        job->hosts.all[job->hosts.count++].link = NULL;
    }
    return job->hosts.count ? 0 : -1;
}

static int make_hosts(struct job *job, const struct job *of_parent,
                      const struct spawn_request *q)
{
    bool named = false;

    for (int i = 0; i < q->command_count; i++)
        named = named || wf_spawn_info(&q->commands[i], "host");
    if (!named)
        return copy_hosts(job, of_parent);
    job->set.nodes = 0;
    for (int i = 0; i < q->command_count; i++) {
        const char *names = wf_spawn_info(&q->commands[i], "host");
        if (!names)
            names = of_parent->hosts.all[0].name;
        if (choose_hosts(job, &job->apps[i], names) < 0)
            return -1;
    }
    return job->hosts.count ? 0 : -1;
}

static int make_job(struct job *job, const struct job *of_parent,
                    const struct spawn_request *q)
{
    job->apps = calloc((size_t)q->command_count, sizeof *job->apps);
    for (int i = 0; job->apps && i < q->command_count; i++)
        if (make_app(job, &q->commands[i]) < 0)
            return -1;
    if (!job->apps || make_hosts(job, of_parent, q) < 0 ||
        wf_map_make(job) < 0) {
        wf_job_fail(job, 1, "no host, or no memory");
        return -1;
    }
    return wf_resolve_all(job) == 0 && wf_binding_all(job) ? 0 : -1;
}

/* ---- the channel --------------------------------------------------------- */

static struct parent *parent_of(const struct job *job)
{
    return (struct parent *)job->parent;
}

void wf_spawned_send(struct job *job, enum frame_type type, const char *text)
{
    wf_channel_send(job, job->parent, type, 0, 0, text, strlen(text));
}

bool wf_spawned_keeps(const struct job *job, const char *text)
{
    struct parent *p = parent_of(job);

    if (p->answered)
        return false;
    if (!p->said[0])
        snprintf(p->said, sizeof p->said, "%s", text);
    return true;
}

void wf_spawned_check(struct job *job)
{
    struct parent *p = parent_of(job);

    if (!p || p->answered || job->phase != PHASE_RUN || job->exit_code >= 0)
        return;
    for (int i = 0; i < job->count; i++)
        if (!job->ranks[i].pid && !job->ranks[i].ended)
            return;
    p->answered = true;
    wf_spawned_send(job, FRAME_STARTED, "");
    if (p->said[0])
        wf_job_say(job, "%s", p->said);
}

static void take_from_parent(struct job *job, struct channel *c,
                             struct frame *f)
{
    char *text = f->type == FRAME_NAME ? strndup(f->data, f->len) : NULL;
    char *answer = text ? strchr(text, ' ') : NULL;

    if (answer) {
        *answer++ = '\0';
        wf_name_deliver(job, text, answer);
    }
    free(text);
}

static void on_parent_gone(struct job *job, struct channel *c, const char *why)
{
    wf_end_begin(job, SIGTERM);
}

static int open_channel(struct job *job, int fd)
{
    struct parent *p = wf_job_check_memory(calloc(1, sizeof *p));
    int out;

    p->channel.take = take_from_parent;
    p->channel.ended = on_parent_gone;
    job->parent = &p->channel;
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    out = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return job->epoll < 0 || out < 0
               ? -1
               : wf_channel_open(job, &p->channel, fd, out);
}

/* ---- the whole ----------------------------------------------------------- */

/* Refuse the request, unless the ranks have been started. */
static void refuse_request(struct job *job)
{
    struct parent *p = parent_of(job);

    if (!p->answered)
        wf_spawned_send(job, FRAME_FAILED,
                        p->said[0] ? p->said : "the processes have ended");
}

_Noreturn void wf_spawned_run(struct job *of_parent, struct spawn_request *q,
                              int number, int fd, pid_t parent)
{
    struct job job = {
        .first_failed = -1, .died_after_finalize = -1, .exit_code = -1};
    int status = 1;

    fd = leave_parent(of_parent, fd, parent);
    wf_child_label(of_parent, number, job.label);
    job.spawned = q;
    job.is_spawned = true;
    if (open_channel(&job, fd) < 0)
        exit(1);
    copy_settings(&job, of_parent);
    if (make_job(&job, of_parent, q) == 0)
        status = wf_job_run(&job);
    refuse_request(&job);
    exit(wf_job_check_output(&job, status));
}

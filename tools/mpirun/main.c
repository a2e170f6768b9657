/* mpirun starts the ranks of one job and stays until all have ended.
 *
 *   options -> map -> resolve programs -> guard -> agents, ranks -> loop ->
 *   clean up -> status
 *
 * One thread sleeps in epoll_wait until a rank speaks PMI, writes a tagged
 * line or ends, a signal arrives, or a deadline passes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "binding.h"
#include "child_job.h"
#include "job.h"
#include "link.h"
#include "name_client.h"
#include "name_server.h"
#include "options.h"
#include "os/secret.h"
#include "output_lines.h"
#include "probe.h"
#include "singleton.h"
#include "spawned_job.h"

uint64_t wf_job_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void *wf_job_check_memory(void *p)
{
    if (!p) {
        fputs("mpirun: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

void wf_job_say(const struct job *job, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (job->parent && wf_spawned_keeps(job, text))
        return;
    /* one write per line */
    if (job->label[0])
        fprintf(stderr, "mpirun: job %s: %s\n", job->label, text);
    else if (job->up && job->hosts.count)
        fprintf(stderr, "mpirun: host %s: %s\n", job->hosts.all[0].name, text);
    else
        fprintf(stderr, "mpirun: %s\n", text);
}

void wf_job_fail(struct job *job, int status, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (job->up)
        wf_agent_fail(job, status, text);
    else
        wf_job_say(job, "%s", text);
    if (job->exit_code < 0)
        job->exit_code = status;
}

int wf_job_watch(struct job *job, struct event_source *s, int fd,
                 uint32_t events,
                 void (*ready)(struct job *, struct event_source *))
{
    struct epoll_event e = {events, {.ptr = s}};
    s->fd = fd;
    s->ready = ready;
    return epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &e);
}

void wf_job_unwatch(struct job *job, struct event_source *s)
{
    if (s->fd < 0)
        return;
    epoll_ctl(job->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    close(s->fd);
    s->fd = -1;
}

/* ---- the loop --------------------------------------------------------- */

static int milliseconds_left(const struct job *job)
{
    uint64_t next = job->deadline, now = wf_job_now();
    uint64_t lines = wf_lines_next(job);
    if (job->timeout && (!next || job->timeout < next))
        next = job->timeout;
    if (job->report_deadline && (!next || job->report_deadline < next))
        next = job->report_deadline;
    if (job->settle_deadline && (!next || job->settle_deadline < next))
        next = job->settle_deadline;
    if (job->foreign_deadline && (!next || job->foreign_deadline < next))
        next = job->foreign_deadline;
    if (job->agent_wake && (!next || job->agent_wake < next))
        next = job->agent_wake;
    if (lines && (!next || lines < next))
        next = lines;
    if (wf_links_next(job) && (!next || wf_links_next(job) < next))
        next = wf_links_next(job);
    if (wf_name_client_next(job) && (!next || wf_name_client_next(job) < next))
        next = wf_name_client_next(job);
    if (wf_name_server_next(job) && (!next || wf_name_server_next(job) < next))
        next = wf_name_server_next(job);
    if (!next)
        return -1;
    if (next <= now)
        return 0;
    uint64_t ms = (next - now + 999999) / 1000000;
    return ms > 1000000 ? 1000000 : (int)ms;
}

void wf_job_run_once(struct job *job)
{
    struct epoll_event events[64];
    int n = epoll_wait(job->epoll, events, 64, milliseconds_left(job));
    for (int i = 0; i < n; i++) {
        struct event_source *s = events[i].data.ptr;
        if (s->fd >= 0) /* not closed by an earlier event of this round */
            s->ready(job, s);
    }
    wf_secret_wipe_stack(); /* they may have handled the job key, or a port */
    wf_lines_pass_all(job);
    wf_links_deadline(job);
    wf_foreign_deadline(job);
    wf_state_report_deadline(job);
    wf_end_deadline(job);
    wf_spawned_check(job);
    wf_name_client_check(job);
    wf_name_server_check(job);
}

static bool is_over(const struct job *job)
{
    return job->phase == PHASE_LOST ||
           (job->alive == 0 && !job->settle_deadline && !wf_children_run(job));
}

static void run_loop(struct job *job)
{
    while (!is_over(job))
        wf_job_run_once(job);
    job->deadline = job->timeout = 0;
    wf_links_close(job);
    while (wf_links_open(job)) /* agents clean up on their hosts */
        wf_job_run_once(job);
    wf_links_free(job);
    wf_guard_finish(job);
    wf_io_drain(job);
    /* a slow reader of our output gets the rest unless mpirun is interrupted */
    int interrupts = job->interrupts;
    while (wf_io_pending(job) && job->interrupts == interrupts) {
        wf_job_run_once(job);
        wf_io_drain(job);
    }
}

/* ---- start ------------------------------------------------------------ */

/* Raise the limit of descriptors, of which each rank needs one to three; ranks
 * get the old limit back. */
static void raise_limit(struct job *job)
{
    getrlimit(RLIMIT_NOFILE, &job->old_files);
    struct rlimit all = job->old_files;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

static int name_job(struct job *job)
{
    uint64_t r;
    if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
        return -1;
    snprintf(job->name, sizeof(job->name), "weft-%ld-%016llx", (long)getpid(),
             (unsigned long long)r);
    return 0;
}

int wf_job_prepare(struct job *job)
{
    snprintf(job->mark, sizeof(job->mark), "%s/%d", job->name,
             job->up ? job->hosts.all[0].node : -1);
    raise_limit(job);
    return wf_guard_start(job);
}

static int prepare_job(struct job *job)
{
    if (wf_io_open(job) < 0)
        return -1;
    if (!job->epoll)
        job->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (job->epoll < 0 || name_job(job) < 0 || wf_signal_open(job) < 0 ||
        wf_pmi_serve(job) < 0)
        return -1;
    return wf_job_prepare(job);
}

static void read_timeout(struct job *job)
{
    const char *text = getenv("MPIEXEC_TIMEOUT");
    if (job->parent) /* the first launcher ends all jobs */
        return;
    if (job->set.timeout == 0 && text)
        job->set.timeout = strtod(text, NULL);
    if (job->set.timeout > 0)
        job->timeout = wf_job_now() + (uint64_t)(job->set.timeout * 1e9);
}

static int report_pid(const struct job *job)
{
    const char *to = job->set.report_pid;
    bool out = strcmp(to, "-") == 0, err = strcmp(to, "+") == 0;
    FILE *f = out ? stdout : err ? stderr : fopen(to, "w");

    if (f && fprintf(f, "%ld\n", (long)getpid()) > 0 && fflush(f) == 0 &&
        (out || err || fclose(f) == 0))
        return 0;
    wf_job_say(job, "--report-pid %s: %s", to, strerror(errno));
    return -1;
}

/* Look up and show everything that precedes the start. Returns -1 to go on, or
 * the status. */
static int prepare_files(struct job *job)
{
    int status = wf_resolve_all(job);

    if (status)
        return status;
    if (!wf_binding_all(job))
        return OPTION_USAGE;
    if (job->set.place.dry_run) {
        wf_map_show(job, stdout);
        return wf_links_print(job, stdout) < 0 ? 1 : 0;
    }
    if (job->set.place.show_map)
        wf_map_show(job, stderr);
    return job->set.report_pid && report_pid(job) < 0 ? 1 : -1;
}

static int start_ranks(struct job *job)
{
    return job->singleton ? wf_singleton_attach(job) : wf_spawn_all(job);
}

int wf_job_run(struct job *job)
{
    if (prepare_job(job) < 0) {
        wf_job_say(job, "cannot start: %s", strerror(errno));
        return 1;
    }
    read_timeout(job);
    if (wf_output_open(job) < 0 || wf_name_server_start(job) < 0 ||
        start_ranks(job) < 0) {
        if (job->exit_code < 0)
            job->exit_code = 1;
        wf_end_begin(job, SIGTERM);
    }
    wf_spawned_check(job);
    wf_stdin_start(job);
    run_loop(job);
    wf_repeated_message_report(job);
    wf_end_report(job);
    wf_output_close(job);
    wf_pmi_close(job);
    wf_name_server_stop(job);
    int status = wf_end_status(job);
    wf_children_free(job);
    return status;
}

static int launch_job(struct job *job, int argc, char **argv)
{
    int status = wf_option_parse(job, argc, argv);
    if (status >= 0)
        return status;
    status = prepare_files(job);
    if (status >= 0)
        return status;
    wf_env_check(job);
    if (job->set.verbose)
        wf_env_hint(job);
    return wf_job_run(job);
}

int wf_job_check_output(const struct job *job, int status)
{
    bool failed = job->output_lost;

    if (fflush(stdout) != 0) {
        wf_job_say(job, "cannot write to standard output: %s", strerror(errno));
        failed = true;
    }
    if (ferror(stderr))
        failed = true; /* nobody is left to tell why */
    return failed && status == 0 ? EX_IOERR : status;
}

/* The job lives as long as the process: exit, not return, keeps it in scope. */
int main(int argc, char **argv)
{
    struct job job = {
        .first_failed = -1, .died_after_finalize = -1, .exit_code = -1};

    if ((argc == 2 || argc == 3) && strcmp(argv[1], "--agent") == 0)
        exit(wf_agent_run(&job, argv[2]));
    if (argc == 2 && strcmp(argv[1], "--singleton") == 0)
        exit(wf_singleton_run(&job));
    if (argc == 2 && strcmp(argv[1], "--idle") == 0)
        return pause();
    if (argc == 3 && strcmp(argv[1], "--net-probe") == 0)
        exit(wf_probe_run(argv[2]));
    exit(wf_job_check_output(&job, launch_job(&job, argc, argv)));
}

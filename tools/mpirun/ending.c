/* This file decides how a job ends.
 *
 *            first failure, abort,          grace over        still there
 *            timeout, SIGTERM
 *     RUN ------------------------> ENDING ----------> KILLED ----------> LOST
 *
 *   RUN     every rank may run; the job ends when all have ended
 *   ENDING  ranks were told to end; what they return no longer counts
 *   KILLED  SIGKILL was sent
 *   LOST    a process does not even die of SIGKILL (stuck in the kernel): say
 *           so and leave
 *
 * mpirun does not wait for a rank that has completed MPI_Finalize: if a status
 * or a signal ends it later, that is reported and returned, and the other ranks
 * run on.
 *
 * The exit status is that of the lowest rank that failed by itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent.h"
#include "child_job.h"
#include "job.h"
#include "link.h"
#include "mpi.h"

enum { GRACE_S = 5, LOST_S = 2, SETTLE_S = 1, STATUS_LOST = 255 };

static uint64_t in_seconds(unsigned s)
{
    return wf_job_now() + (uint64_t)s * 1000000000u;
}

void wf_end_begin(struct job *job, int sig)
{
    if (job->phase != PHASE_RUN)
        return;
    job->phase = PHASE_ENDING;
    job->deadline = in_seconds(GRACE_S);
    wf_signal_all(job, sig);
    if (sig == SIGTERM)
        wf_signal_all(job, SIGCONT); /* a stopped rank must hear it too */
}

static void end_others(struct job *job)
{
    if (job->set.keep_going || job->phase != PHASE_RUN)
        return;
    if (job->interrupts) {
        /* all ranks got the interrupt and clean up in their own time */
        job->phase = PHASE_ENDING;
        job->deadline = in_seconds(GRACE_S);
    } else {
        wf_end_begin(job, SIGTERM);
    }
}

/* ---- whose fault it is --------------------------------------------------- */

static void name_process(const struct job *job, const struct rank *r,
                         char *text, size_t size)
{
    bool elsewhere = wf_host_elsewhere(&job->hosts) && !job->set.nodes;

    snprintf(text, size, "rank %d (%s, pid %d%s%s)", r->id, r->app->argv[0],
             r->last_pid, elsewhere ? ", host " : "",
             elsewhere ? r->host->name : "");
}

static void say_how(const struct job *job, const struct rank *r)
{
    char who[512];

    if (job->set.quiet || job->user_ended)
        return;
    name_process(job, r, who, sizeof who);
    if (r->aborts)
        wf_job_say(job, "%s aborted the job with code %d", who, r->abort_code);
    else if (WIFSIGNALED(r->wait_status))
        wf_job_say(job, "%s was killed by signal %d (%s)%s", who,
                   WTERMSIG(r->wait_status),
                   strsignal(WTERMSIG(r->wait_status)),
                   WCOREDUMP(r->wait_status) ? ", core dumped" : "");
    else if (WEXITSTATUS(r->wait_status))
        wf_job_say(job, "%s exited with status %d", who,
                   WEXITSTATUS(r->wait_status));
    else
        wf_job_say(job, "%s exited without MPI_Finalize", who);
}

/* Returns how likely this rank is the cause: 0 means it is none. A rank that
 * aborts because it has lost another one is the least likely. */
static int weigh_cause(const struct rank *r)
{
    if (r->aborts)
        return r->abort_code == MPI_ERR_PROC_ABORTED ? 1 : 3;
    if (!r->failed || r->pmi_finalized)
        return 0;
    return WIFSIGNALED(r->wait_status) ? 4 : 2;
}

/* Find the process that has caused the end. In a job that goes on when ranks
 * fail, only an abort counts later. */
static struct rank *find_cause(struct job *job)
{
    struct rank *best = NULL;

    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (job->first_failed >= 0 && !r->aborts)
            continue;
        if (weigh_cause(r) > (best ? weigh_cause(best) : 0))
            best = r;
    }
    return best;
}

/* Report the first failure of the job and end the other processes. */
static void judge_failure(struct job *job)
{
    struct rank *r = find_cause(job);

    job->settle_deadline = 0;
    if (r) {
        job->first_failed = r->index;
        say_how(job, r);
        r->failed = true;
    }
    if (r && r->aborts) {
        /* a status has eight bits, and 0 would mean success */
        job->exit_code = r->abort_code & 0xff ? r->abort_code & 0xff
                                              : r->abort_code != 0;
        wf_end_begin(job, SIGTERM);
    } else {
        end_others(job);
        wf_pmi_check_waiting(job); /* of a job that goes on */
    }
}

/* Handle a failure: ask the agents first, because they may know of an earlier
 * one. */
static void consider_failure(struct job *job)
{
    if (job->settle_deadline || job->phase != PHASE_RUN)
        return;
    job->hosts_unsettled = 0;
    for (int i = 0; job->first_failed < 0 && i < job->hosts.count; i++)
        job->hosts_unsettled += wf_link_is_up(&job->hosts.all[i]);
    if (!job->hosts_unsettled) {
        judge_failure(job);
        return;
    }
    job->settle_deadline = in_seconds(SETTLE_S);
    wf_links_send(job, FRAME_SETTLE, NULL, 0);
}

void wf_end_settled(struct job *job)
{
    if (job->settle_deadline && --job->hosts_unsettled <= 0)
        judge_failure(job);
}

void wf_end_fail(struct job *job, struct rank *r, const char *why)
{
    if (!job->user_ended && !job->set.quiet && job->phase == PHASE_RUN)
        wf_job_say(job, "rank %d (%s) %s", r->id, r->app->argv[0], why);
    if (r->status == 0)
        r->status = 1;
    r->failed = true;
    if (job->first_failed < 0)
        job->first_failed = r->index;
    end_others(job);
}

void wf_end_abort(struct job *job, struct rank *r, int code)
{
    if (job->phase != PHASE_RUN || r->aborts)
        return;
    r->aborts = true;
    r->abort_code = code;
    r->last_pid = r->pid;
    consider_failure(job);
}

static void leave_job(struct job *job, struct rank *r)
{
    r->last_pid = r->pid ? r->pid : r->last_pid;
    r->pid = 0;
    r->ended = true;
    job->alive--;
    if (!r->host->here) {
        wf_pmi_take(job, r, NULL, 0);
        wf_stdin_drop_reader(job, r);
        wf_io_end(job, r);
    }
}

void wf_end_lost(struct job *job, const char *why)
{
    int first = -1;

    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (!r->host->lost || r->ended)
            continue;
        first = first < 0 ? r->index : first;
        r->failed = job->phase == PHASE_RUN;
        r->status = STATUS_LOST;
        leave_job(job, r);
    }
    if (first < 0 || job->phase != PHASE_RUN)
        return;
    if (!job->user_ended && !job->set.quiet)
        wf_job_say(job, "%s", why);
    job->settle_deadline = 0;
    job->first_failed = job->first_failed < 0 ? first : job->first_failed;
    end_others(job);
    wf_pmi_check_waiting(job);
}

/* ---- processes that end -------------------------------------------------- */

static void note_end(struct job *job, struct rank *r, int status)
{
    /* its last messages, finalize or abort, are read first */
    if (r->host->here) {
        wf_pmi_ready(job, &r->pmi);
        wf_foreign_ended(job, r);
        wf_guard_note(job, r, 0);
    }
    leave_job(job, r);
    r->wait_status = status;
    r->status = wf_exit_code(status);
    if (job->set.verbose)
        wf_job_say(job, "rank %d ended with status %d", r->id, r->status);
    bool early = r->pmi_init && !r->pmi_finalized;
    if (job->phase != PHASE_RUN || r->aborts || (r->status == 0 && !early))
        return;
    if (r->status == 0)
        r->status = 1;
    r->failed = true;
}

static struct rank *rank_of(struct job *job, pid_t pid)
{
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].pid == pid && job->ranks[i].host->here)
            return &job->ranks[i];
    return NULL;
}

/* Find the first process that failed before, or with let_go after,
 * MPI_Finalize. */
static struct rank *find_failed(const struct job *job, bool let_go)
{
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].failed && job->ranks[i].pmi_finalized == let_go)
            return &job->ranks[i];
    return NULL;
}

/* Decide what follows when all processes that have ended are known. */
static void follow_end(struct job *job)
{
    struct rank *last = find_failed(job, true);

    if (find_failed(job, false))
        consider_failure(job);
    else if (last && job->first_failed < 0 && job->died_after_finalize < 0) {
        job->died_after_finalize = last->index;
        say_how(job, last);
    }
    wf_pmi_check_waiting(job);
}

void wf_end_remote_process(struct job *job, struct rank *r, int status)
{
    if (r->ended)
        return;
    note_end(job, r, status);
    follow_end(job);
}

void wf_end_reap(struct job *job)
{
    int status, before = job->alive;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct rank *r = rank_of(job, pid);
        if (r && job->up)
            wf_agent_ended(job, r, status);
        else if (r)
            note_end(job, r, status);
        else if (!wf_link_reaped(job, pid, status) &&
                 !wf_child_reaped(job, pid, status))
            wf_guard_handle_exit(job, pid);
    }
    if (job->alive < before && !job->up)
        follow_end(job);
}

void wf_end_deadline(struct job *job)
{
    uint64_t now = wf_job_now();
    if (job->settle_deadline && now >= job->settle_deadline)
        judge_failure(job);
    if (job->timeout && now >= job->timeout && job->phase == PHASE_RUN) {
        job->timeout = 0;
        job->exit_code = 124;
        wf_children_signal(job, SIGTERM);
        if (!job->set.quiet) {
            wf_job_say(job,
                       "--timeout: %g s are over, %d of %d ranks still run",
                       job->set.timeout, job->alive, job->count);
            wf_state_report_begin(job, true);
        } else {
            wf_end_begin(job, SIGTERM);
        }
    }
    if (!job->deadline || now < job->deadline)
        return;
    if (job->alive == 0) { /* child jobs have deadlines of their own */
        job->deadline = 0;
        return;
    }
    if (job->phase == PHASE_KILLED) {
        wf_job_say(job, "%d processes do not end after SIGKILL; they are "
                       "blocked in the kernel and left behind", job->alive);
        job->phase = PHASE_LOST;
        job->deadline = 0;
        return;
    }
    job->phase = PHASE_KILLED;
    job->deadline = in_seconds(LOST_S);
    wf_signal_all(job, SIGKILL);
}

int wf_end_status(const struct job *job)
{
    if (job->exit_code >= 0)
        return job->exit_code;
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].failed)
            return job->ranks[i].status;
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].status)
            return job->ranks[i].status;
    return wf_children_status(job);
}

/* Print at most two lines besides the one that said what happened first. */
void wf_end_report(const struct job *job)
{
    int others = 0, last = -1, status = 0;
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].failed && i != job->first_failed &&
            i != job->died_after_finalize && !job->ranks[i].host->lost) {
            others++;
            last = job->ranks[i].id;
            status = job->ranks[i].status;
        }
    if (!job->set.quiet && !job->user_ended && others == 1)
        wf_job_say(job, "rank %d failed too, status %d", last,
                   status);
    else if (!job->set.quiet && !job->user_ended && others)
        wf_job_say(job, "%d other ranks failed too", others);
    for (int i = 0; job->set.all_exit_codes && i < job->count; i++)
        fprintf(stderr, "[%d] %d\n", job->ranks[i].id, job->ranks[i].status);
}

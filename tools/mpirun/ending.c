/* How a job ends.
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
 * The status is that of the lowest rank that failed by itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "job.h"

enum { GRACE_S = 5, LOST_S = 2 };

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

/* A rank failed by itself: the others would wait for it. */
static void failed(struct job *job, struct rank *r)
{
    r->failed = true;
    if (job->cause < 0)
        job->cause = r->index;
}

static void end_others(struct job *job)
{
    if (job->set.keep_going || job->phase != PHASE_RUN)
        return;
    if (job->interrupts) {
        /* all had the interrupt: let them clean up in their own time */
        job->phase = PHASE_ENDING;
        job->deadline = in_seconds(GRACE_S);
    } else {
        wf_end_begin(job, SIGTERM);
    }
}

void wf_end_fail(struct job *job, struct rank *r, const char *why)
{
    if (!job->user_ended && !job->set.quiet && job->phase == PHASE_RUN)
        wf_job_say(job, "rank %d (%s) %s", r->id, r->app->argv[0], why);
    if (r->status == 0)
        r->status = 1;
    failed(job, r);
    end_others(job);
}

void wf_end_abort(struct job *job, struct rank *r, int code)
{
    if (job->phase != PHASE_RUN)
        return;
    if (!job->set.quiet)
        wf_job_say(job, "rank %d (%s, pid %d) aborted the job with code %d",
                   r->id, r->app->argv[0], r->pid, code);
    job->exit_code = code & 0xff;
    job->cause = r->index;
    wf_end_begin(job, SIGTERM);
}

static void say_how(const struct job *job, const struct rank *r, pid_t pid,
                    int status)
{
    if (job->set.quiet || job->user_ended)
        return;
    if (WIFSIGNALED(status))
        wf_job_say(job, "rank %d (%s, pid %d) was killed by signal %d (%s)%s",
                   r->id, r->app->argv[0], pid, WTERMSIG(status),
                   strsignal(WTERMSIG(status)),
                   WCOREDUMP(status) ? ", core dumped" : "");
    else if (WEXITSTATUS(status))
        wf_job_say(job, "rank %d (%s, pid %d) exited with status %d", r->id,
                   r->app->argv[0], pid, WEXITSTATUS(status));
    else
        wf_job_say(job, "rank %d (%s, pid %d) exited without MPI_Finalize",
                   r->id, r->app->argv[0], pid);
}

static void reaped(struct job *job, struct rank *r, int status)
{
    pid_t pid = r->pid;
    /* what it said before it died comes first: finalize, or abort */
    wf_pmi_ready(job, &r->pmi);
    r->pid = 0;
    r->ended = true;
    r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                    : WEXITSTATUS(status);
    job->alive--;
    wf_guard_note(job, r->index, 0);
    if (job->set.verbose)
        wf_job_say(job, "rank %d ended with status %d", r->id, r->status);
    bool early = r->pmi_init && !r->pmi_finalized;
    if (job->phase != PHASE_RUN || (r->status == 0 && !early))
        return;
    if (job->cause < 0)
        say_how(job, r, pid, status);
    if (r->status == 0)
        r->status = 1;
    failed(job, r);
}

static struct rank *rank_of(struct job *job, pid_t pid)
{
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].pid == pid)
            return &job->ranks[i];
    return NULL;
}

/* Everyone who has ended by now; only then is it decided what follows, so that
 * ranks that failed together are all known. */
void wf_end_reap(struct job *job)
{
    int status, before = job->alive;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct rank *r = rank_of(job, pid);
        if (r)
            reaped(job, r, status);
    }
    if (job->cause >= 0)
        end_others(job);
    if (job->alive < before)
        wf_pmi_check_waiting(job);
}

void wf_end_deadline(struct job *job)
{
    uint64_t now = wf_job_now();
    if (job->timeout && now >= job->timeout && job->phase == PHASE_RUN) {
        job->timeout = 0;
        job->exit_code = 124;
        if (!job->set.quiet) {
            wf_job_say(job, "--timeout: %g s are over, %d of %d ranks still run",
                       job->set.timeout, job->alive, job->count);
            wf_where_begin(job, true);
        } else {
            wf_end_begin(job, SIGTERM);
        }
    }
    if (!job->deadline || now < job->deadline)
        return;
    if (job->phase == PHASE_KILLED) {
        wf_job_say(job, "%d processes do not end even by SIGKILL", job->alive);
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
    return 0;
}

/* At most two lines more than the one that said what happened first. */
void wf_end_report(const struct job *job)
{
    int others = 0, last = -1, status = 0;
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].failed && i != job->cause) {
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

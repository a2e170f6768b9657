/* This file handles signals to mpirun and sends signals to the ranks.
 *
 *   SIGUSR1  prints what every rank does; SIGUSR1 and SIGUSR2 go to those
 *            processes of the ranks that catch or block them, and end none
 *   SIGINT   to the ranks; the second time they get SIGTERM and a second,
 *            the third time SIGKILL
 *   SIGTERM  to the ranks, SIGKILL after the grace time
 *   SIGTSTP  to the ranks, then mpirun stops;  SIGCONT  to the ranks
 *   others   to the ranks
 *
 * All signals are blocked and read from a descriptor, so that the loop sees
 * them in order and nothing runs in a handler. Signals that were ignored when
 * mpirun started (nohup, background jobs) stay ignored.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent.h"
#include "child_job.h"
#include "job.h"
#include "link.h"

static const int forwarded[] = {SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH};

static void signal_rank(const struct rank *r, int sig)
{
    if (r->own_group) {
        kill(-r->pid, sig);
    } else {
        wf_descendants_signal(r->pid, sig, 0);
        kill(r->pid, sig);
    }
}

/* Send a signal to the ranks. from_terminal: mpirun's own process group has got
 * it already. */
static void forward_signal(struct job *job, int sig, bool from_terminal)
{
    char number = (char)sig;
    for (int i = 0; i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (r->pid && r->host->here && !(from_terminal && !r->own_group))
            signal_rank(r, sig);
    }
    wf_links_send(job, FRAME_SIGNAL, &number, 1);
    if (sig == SIGINT || sig == SIGTERM || sig == SIGKILL)
        wf_links_cancel(job);
}

void wf_signal_all(struct job *job, int sig)
{
    forward_signal(job, sig, false);
}

static void on_interrupt(struct job *job, bool from_terminal)
{
    job->user_ended = true;
    job->interrupts++;
    if (job->interrupts == 1) {
        forward_signal(job, SIGINT, from_terminal);
    } else if (job->interrupts == 2) {
        job->phase = PHASE_ENDING;
        wf_signal_all(job, SIGTERM);
        job->deadline = wf_job_now() + 1000000000u;
    } else {
        job->deadline = wf_job_now(); /* the next step is SIGKILL */
    }
}

static void on_stop(struct job *job, bool from_terminal)
{
    forward_signal(job, SIGTSTP, from_terminal);
    kill(getpid(), SIGSTOP);
}

/* Send SIGUSR1 or SIGUSR2 to the processes that handle it; others would end by
 * it. */
static void notify_ranks(struct job *job, int sig)
{
    char number = (char)sig;
    for (int i = 0; i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (r->pid && r->host->here)
            wf_descendants_notify(r->pid, sig);
    }
    wf_links_send(job, FRAME_SIGNAL, &number, 1);
}

void wf_signal_pass(struct job *job, int sig)
{
    if (sig == SIGUSR1 || sig == SIGUSR2)
        notify_ranks(job, sig);
    else
        forward_signal(job, sig, false);
}

static void on_signal(struct job *job, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo;
    bool from_terminal = info->ssi_code == SI_KERNEL;
    if (sig != SIGCHLD && job->up) {
        wf_agent_signal(job, sig);
        return;
    }
    if (sig != SIGCHLD)
        wf_children_signal(job, sig);
    switch (sig) {
    case SIGCHLD:
        wf_end_reap(job);
        break;
    case SIGINT:
        on_interrupt(job, from_terminal);
        break;
    case SIGTERM:
        job->user_ended = true;
        wf_end_begin(job, SIGTERM);
        break;
    case SIGTSTP:
        on_stop(job, from_terminal);
        break;
    case SIGUSR1:
    case SIGUSR2:
        notify_ranks(job, sig);
        if (sig == SIGUSR1)
            wf_state_report_begin(job, false);
        break;
    default:
        forward_signal(job, sig, from_terminal && sig != SIGCONT);
    }
}

static void on_ready(struct job *job, struct event_source *s)
{
    struct signalfd_siginfo info[16];
    ssize_t n = read(s->fd, info, sizeof(info));
    for (ssize_t i = 0; i < n / (ssize_t)sizeof(info[0]); i++)
        on_signal(job, &info[i]);
}

int wf_signal_open(struct job *job)
{
    sigset_t handled, blocked;
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &dfl, NULL); /* ignored, there would be no status */
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGTSTP);
    sigaddset(&handled, SIGCONT);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(&handled, forwarded[i]);
    blocked = handled;
    sigaddset(&blocked, SIGPIPE); /* write says EPIPE */
    sigaddset(&blocked, SIGXFSZ); /* and EFBIG */
    sigaddset(&blocked, SIGTTIN); /* sent to our group when a rank reads */
    sigaddset(&blocked, SIGTTOU);
    sigprocmask(SIG_BLOCK, &blocked, &job->old_mask);
    int fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -1
                  : wf_job_watch(job, &job->signals, fd, EPOLLIN, on_ready);
}

/* This file serves a process that was started without mpirun: see singleton.h.
 *
 * To this launcher the process is the one rank of a job that runs already. It
 * is not a child of mpirun, gets no signals from it, and its end is the end of
 * the connection.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "singleton.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child_job.h"
#include "job.h"
#include "options.h"

enum { STATUS_FAILED = 1 };

/* Keep the connection, and leave standard input to nobody. Returns the
 * connection, or -1. */
static int take_connection(void)
{
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 3), type;
    socklen_t n = sizeof type;

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0)
        return -1;
    return wf_io_leave_input() < 0 ? -1 : fd;
}

int wf_singleton_attach(struct job *job)
{
    struct rank *r = &job->ranks[0];

    r->pmi_open = true;
    job->alive = 1;
    return wf_job_watch(job, &r->pmi, job->singleton, EPOLLIN, wf_pmi_ready);
}

void wf_singleton_end(struct job *job, struct rank *r)
{
    if (!job->singleton || r->ended)
        return;
    r->ended = true;
    job->alive = 0;
    if (r->pmi_finalized)
        return;
    job->user_ended = true; /* nobody is told who killed whom */
    wf_children_signal(job, SIGTERM);
}

/* Returns the host where the process runs, which need not be one of an
 * allocation. */
static struct host *make_own_host(const struct job *job)
{
    struct host *h = wf_job_check_memory(calloc(1, sizeof *h));

    *h = job->hosts.all[0];
    h->here = true;
    h->link = NULL;
    return h;
}

int wf_singleton_run(struct job *job)
{
    char *words[] = {(char *)"mpirun", (char *)"-n", (char *)"1",
                     (char *)"singleton", NULL};
    pid_t pid;
    int status;

    job->singleton = take_connection();
    if (job->singleton < 0) {
        fputs("mpirun: --singleton is for the library, which gives a socket as "
              "standard input\n",
              stderr);
        return OPTION_USAGE;
    }
    pid = fork();
    if (pid != 0)
        return pid < 0 ? STATUS_FAILED : 0;
    (void)setsid();
    status = wf_option_parse(job, 4, words);
    if (status >= 0)
        return status;
    job->ranks[0].host = make_own_host(job);
    return wf_job_run(job);
}

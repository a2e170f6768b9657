/* The guard is a small process that outlives mpirun only to clean up after it.
 *
 * PR_SET_PDEATHSIG ends a rank when mpirun is killed, but not the processes
 * that the rank has started. The guard waits on a pipe whose other end only
 * mpirun holds. When that end closes without a byte, the guard kills every
 * process group of the job and every process that has this launcher's mark in
 * its environment (PMI_GUARD: job and node, because an agent may be on the same
 * machine).
 *
 * It holds no other descriptor, has a session of its own, and blocks every
 * signal that can be blocked.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "job.h"
#include "mark.h"
#include "pmi_key.h"

struct guard {
    pid_t pid;
    int fd;               /* closes with mpirun */
    /* [count], shared: the targets of kill(); 0: none */
    volatile pid_t *targets;
    size_t size;
};

/* Returns how many processes were killed, or could not be told from others. */
static int kill_marked(const char *mark, size_t mark_size)
{
    int count = 0;
    DIR *dir = opendir("/proc");
    struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid <= 1 || pid == getpid())
            continue;
        enum wf_mark m = wf_mark_find(pid, mark, mark_size);
        if (m == WF_MARK_UNKNOWN ||
            (m == WF_MARK_THERE && kill(pid, SIGKILL) == 0))
            count++;
    }
    if (dir)
        closedir(dir);
    return count;
}

/* Kill all processes of the job. A process that is about to execute another
 * program shows no environment, and the listing of /proc may miss the child of
 * a process that forks, so cleaning up ends only when nothing was found several
 * times in a row. */
static void clean_up(const struct job *job, const struct guard *g)
{
    enum { ROUNDS = 500, QUIET_ROUNDS = 10 };
    char mark[96];
    struct timespec pause = {0, 20000000};
    int quiet = 0;
    size_t mark_size = (size_t)snprintf(mark, sizeof(mark), "%cPMI_GUARD=%s", 0,
                                        job->mark) + 1;
    for (int i = 0; i < job->count; i++)
        if (g->targets[i])
            kill(g->targets[i], SIGKILL);
    for (int round = 0; round < ROUNDS && quiet < QUIET_ROUNDS; round++) {
        quiet = kill_marked(mark, mark_size) > 0 ? 0 : quiet + 1;
        nanosleep(&pause, NULL);
    }
}

static void guard_main(struct job *job, const struct guard *g, int in)
{
    sigset_t all;
    char byte;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    wf_pmi_forget_key(job);
    if (dup2(in, 0) < 0)
        _exit(1);
    if (syscall(SYS_close_range, 1, ~0u, 0) < 0) /* not in every C library */
        for (int fd = 1; fd < 256; fd++)
            close(fd);
    prctl(PR_SET_NAME, "mpirun-guard");
    (void)!chdir("/");
    if (read(0, &byte, 1) == 0)
        clean_up(job, g);
    _exit(0);
}

static int fork_guard(struct job *job, struct guard *g)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    g->pid = fork();
    if (g->pid == 0)
        guard_main(job, g, pair[0]);
    close(pair[0]);
    g->fd = pair[1];
    return g->pid < 0 ? -1 : 0;
}

int wf_guard_start(struct job *job)
{
    struct guard *g = calloc(1, sizeof(*g));
    if (!g)
        return -1;
    g->size = (size_t)(job->count + 1) * sizeof(*g->targets);
    g->fd = -1;
    void *shared = mmap(NULL, g->size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        free(g);
        return -1;
    }
    g->targets = shared;
    job->guard = g;
    /* orphans of the ranks become children of mpirun: descendants.c */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return fork_guard(job, g);
}

/* Handle the end of the guard, which somebody has killed: start another one.
 * Its process id may belong to another process from now on. */
void wf_guard_handle_exit(struct job *job, pid_t pid)
{
    struct guard *g = job->guard;
    if (!g || g->pid != pid)
        return;
    close(g->fd);
    g->pid = 0;
    g->fd = -1;
    if (fork_guard(job, g) < 0)
        wf_job_say(job, "the guard has died, and another cannot be started: if "
                   "mpirun is killed now, processes may be left");
}

void wf_guard_note(struct job *job, const struct rank *r, pid_t target)
{
    job->guard->targets[r - job->ranks] = target;
}

static void stop_guard(struct job *job)
{
    struct guard *g = job->guard;

    if (g->pid > 0) {
        kill(g->pid, SIGKILL);
        waitpid(g->pid, NULL, 0);
    }
    if (g->fd >= 0)
        close(g->fd);
    munmap((void *)g->targets, g->size);
    free(g);
    job->guard = NULL;
}

void wf_guard_finish(struct job *job)
{
    pid_t none = 0;

    wf_descendants_end(job->guard ? &job->guard->pid : &none);
    if (job->guard)
        stop_guard(job);
}

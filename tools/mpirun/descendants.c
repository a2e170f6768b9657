/* This file finds every process below a given one in /proc.
 *
 * It is used when a job ends: processes that a rank has left running are
 * children of mpirun by then (mpirun is their subreaper), whatever process
 * group or session they moved to.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descendants.h"
#include "proc_stat.h"

struct process {
    pid_t pid, parent;
    bool is_descendant;
};

struct table {
    struct process *list;
    size_t n, room;
};

static void read_table(struct table *t)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL) {
        pid_t pid = (pid_t)atoi(e->d_name);
        struct wf_proc_stat s;
        if (!wf_proc_stat_read(pid, &s) || s.parent <= 0)
            continue;
        if (t->n == t->room) {
            size_t room = t->room ? t->room * 2 : 256;
            struct process *list = realloc(t->list, room * sizeof(*list));
            if (!list)
                break;
            t->list = list;
            t->room = room;
        }
        t->list[t->n++] = (struct process){pid, s.parent, false};
    }
    if (dir)
        closedir(dir);
}

static bool is_below(const struct table *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->list[i].pid == pid)
            return t->list[i].is_descendant;
    return false;
}

/* Mark all descendants of root: repeat until nothing changes, which takes as
 * many passes as the tree is deep. */
static void mark_descendants(struct table *t, pid_t root)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < t->n; i++) {
            struct process *p = &t->list[i];
            if (!p->is_descendant &&
                (p->parent == root || is_below(t, p->parent)))
                p->is_descendant = changed = true;
        }
    }
}

int wf_descendants_signal(pid_t root, int sig, pid_t except)
{
    struct table t = {NULL, 0, 0};
    int count = 0;
    read_table(&t);
    mark_descendants(&t, root);
    for (size_t i = 0; i < t.n; i++)
        if (t.list[i].is_descendant && t.list[i].pid != except &&
            kill(t.list[i].pid, sig) == 0)
            count++;
    free(t.list);
    return count;
}

/* Returns whether the process catches this signal or, if blocked_counts, blocks
 * it. A process that also blocks faults blocks everything for a moment, because
 * it is starting a thread or a process, and does not wait for the signal. */
static bool expects_signal(pid_t pid, int sig, bool blocked_counts)
{
    char path[32], line[256];
    unsigned long long mask, expected = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "SigCgt: %llx", &mask) == 1 ||
            (blocked_counts && sscanf(line, "SigBlk: %llx", &mask) == 1 &&
             !(mask >> (SIGSEGV - 1) & 1)))
            expected |= mask;
    if (f)
        fclose(f);
    return expected >> (sig - 1) & 1;
}

void wf_descendants_notify(pid_t root, int sig)
{
    struct table t = {NULL, 0, 0};

    read_table(&t);
    mark_descendants(&t, root);
    for (size_t i = 0; i < t.n; i++)
        if ((t.list[i].is_descendant || t.list[i].pid == root) &&
            expects_signal(t.list[i].pid, sig, t.list[i].pid == root))
            kill(t.list[i].pid, sig);
    free(t.list);
}

/* Returns whether this process, which has one thread, has a child besides this
 * one. A kernel without lists of children is asked for all processes. */
static bool has_other_child(pid_t except)
{
    char path[64];
    struct table t = {NULL, 0, 0};
    bool found = false;
    int pid, self = (int)getpid();

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", self);
    FILE *f = fopen(path, "re");
    if (f) {
        while (!found && fscanf(f, "%d", &pid) == 1)
            found = pid != except;
        fclose(f);
        return found;
    }
    read_table(&t);
    for (size_t i = 0; i < t.n; i++)
        found |= t.list[i].parent == self && t.list[i].pid != except;
    free(t.list);
    return found;
}

/* Wait at most ms for a child to end; returns true when none is left but the
 * guard, which is cleared if it has ended. */
static bool all_reaped(int ms, pid_t *guard)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return true; /* ECHILD */
        if (pid > 0) {
            *guard = pid == *guard ? 0 : *guard;
            continue;
        }
        if (!has_other_child(*guard))
            return true;
        if (sigtimedwait(&child, NULL, &wait) < 0)
            return false;
    }
}

void wf_descendants_end(pid_t *guard)
{
    if (all_reaped(0, guard))
        return;
    wf_descendants_signal(getpid(), SIGTERM, *guard);
    wf_descendants_signal(getpid(), SIGCONT, *guard);
    if (all_reaped(500, guard))
        return;
    for (int round = 0; round < 10; round++) {
        wf_descendants_signal(getpid(), SIGKILL, *guard);
        if (all_reaped(100, guard))
            return;
    }
}

/* This file starts child jobs and follows them: see child_job.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "child_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot/pmi_word.h"
#include "channel.h"
#include "job.h"
#include "pmi_names.h"
#include "pmi_server.h"
#include "spawn_request.h"
#include "spawned_job.h"

enum { REASON_MOST = 300, LABEL_MOST = 40 };

struct child_job {
    struct channel channel; /* first */
    struct child_job *next;
    int number;
    pid_t pid;          /* of its launcher; 0: it has ended */
    struct rank *asker; /* gets the answer; NULL: it has it, or has ended */
    struct rank *owner; /* is told of the end of the job; or NULL */
    bool started;
    int status; /* of its launcher */
};

const char *wf_child_label(const struct job *parent, int number,
                           char label[JOB_LABEL])
{
    snprintf(label, JOB_LABEL, "%.50s%s%d", parent->label,
             parent->label[0] ? "." : "", number);
    return label;
}

static struct child_job *child_of(struct channel *c)
{
    return (struct child_job *)c;
}

/* ---- answers ------------------------------------------------------------- */

/* Answer a spawn request. why NULL: the processes run, as this child job. */
static void answer_request(struct job *job, struct rank *r, int number,
                           const char *why)
{
    char word[3 * REASON_MOST + 8], text[3 * REASON_MOST + 64];
    char cut[REASON_MOST + 1];

    if (!r->pmi_open)
        return;
    if (why) {
        snprintf(cut, sizeof cut, "%s", why);
        if (!wf_pmi_word_encode(word, sizeof word, cut))
            word[0] = '\0';
        snprintf(text, sizeof text, "cmd=spawn_result rc=-1 msg=%s\n", word);
    } else {
        snprintf(text, sizeof text, "cmd=spawn_result rc=0 job=%d\n", number);
    }
    wf_pmi_send(job, r, text, strlen(text));
}

static void answer_child(struct job *job, struct child_job *c, const char *why)
{
    struct rank *r = c->asker;

    c->asker = NULL;
    if (r)
        answer_request(job, r, c->number, why);
}

/* ---- what it says -------------------------------------------------------- */

static void pass_name_up(struct job *job, const struct child_job *c,
                         const struct frame *f)
{
    char *text = strndup(f->data, f->len),
         *line = text ? strchr(text, ' ') : NULL;
    char owner[NAME_OWNER_MOST];

    if (text) {
        if (line)
            *line++ = '\0';
        snprintf(owner, sizeof owner, "j%d.%s", c->number, text);
        if (f->type == FRAME_FORGET)
            wf_name_drop(job, owner);
        else if (line)
            wf_name_request(job, owner, line);
    }
    free(text);
}

static void take_from_child(struct job *job, struct channel *channel,
                            struct frame *f)
{
    struct child_job *c = child_of(channel);
    char why[REASON_MOST + 1];

    switch (f->type) {
    case FRAME_STARTED:
        c->started = true;
        answer_child(job, c, NULL);
        break;
    case FRAME_FAILED:
        snprintf(why, sizeof why, "%.*s", (int)f->len, f->data);
        answer_child(job, c, why);
        break;
    case FRAME_NAME:
    case FRAME_FORGET:
        pass_name_up(job, c, f);
        break;
    default:
        break;
    }
}

static void on_child_silent(struct job *job, struct channel *channel,
                            const char *why)
{
    wf_channel_close(job, channel); /* its end is awaited */
}

/* ---- start --------------------------------------------------------------- */

static int open_channel(struct job *job, struct child_job *c, int fd)
{
    int out = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    c->channel.take = take_from_child;
    c->channel.ended = on_child_silent;
    if (out >= 0 && wf_channel_open(job, &c->channel, fd, out) == 0)
        return 0;
    close(fd);
    if (out >= 0)
        close(out);
    c->channel.in.fd = c->channel.out.fd = -1;
    return -1;
}

/* Fork the launcher of the job. Returns its pid, or -1 and errno. */
static pid_t fork_launcher(struct job *job, struct child_job *c,
                           struct spawn_request *q)
{
    int pair[2];
    pid_t parent = getpid(), pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    (void)fflush(NULL); /* or both would write it */
    pid = fork();
    if (pid == 0)
        wf_spawned_run(job, q, c->number, pair[1], parent);
    close(pair[1]);
    if (pid > 0 && open_channel(job, c, pair[0]) < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return -1;
    }
    if (pid < 0)
        close(pair[0]);
    return pid;
}

static void start_child(struct job *job, struct rank *r,
                        struct spawn_request *q)
{
    struct child_job *c = calloc(1, sizeof *c);
    char label[JOB_LABEL];

    if (!c) {
        answer_request(job, r, 0, "out of memory");
        return;
    }
    c->number = ++job->children_so_far;
    c->pid = fork_launcher(job, c, q);
    if (c->pid < 0) {
        answer_request(job, r, 0, strerror(errno));
        free(c);
        return;
    }
    c->asker = r;
    c->owner = q->is_ours ? r : NULL;
    c->next = job->children;
    job->children = c;
    if (job->set.verbose)
        wf_job_say(job, "rank %d starts job %s", r->id,
                   wf_child_label(job, c->number, label));
}

void wf_child_take_line(struct job *job, struct rank *r, const char *line)
{
    enum spawn_progress progress = wf_spawn_request_take(&r->spawn, line);
    struct spawn_request *q = r->spawn;

    if (progress == SPAWN_MORE)
        return;
    r->spawn = NULL;
    if (progress == SPAWN_NO_MEMORY)
        answer_request(job, r, 0, "out of memory");
    else if (q->wrong)
        answer_request(job, r, 0, q->wrong);
    else if (job->phase != PHASE_RUN)
        answer_request(job, r, 0, "the job is ending");
    else if (strlen(job->label) > LABEL_MOST)
        answer_request(job, r, 0, "too many jobs have spawned each other");
    else
        start_child(job, r, q);
    wf_spawn_request_free(q);
}

/* ---- end ----------------------------------------------------------------- */

/* Tell the rank that has spawned the job: it may wait for its processes. */
static void tell_owner(struct job *job, struct child_job *c)
{
    char text[64];

    if (!c->owner || !c->started)
        return;
    snprintf(text, sizeof text, "cmd=weft_job_ended job=%d\n", c->number);
    wf_pmi_send(job, c->owner, text, strlen(text));
    c->owner = NULL;
}

bool wf_child_reaped(struct job *job, pid_t pid, int status)
{
    struct child_job *c = job->children;
    char owner[NAME_OWNER_MOST], label[JOB_LABEL];

    while (c && c->pid != pid)
        c = c->next;
    if (!c)
        return false;
    wf_channel_drain(job, &c->channel);
    wf_channel_close(job, &c->channel);
    c->pid = 0;
    c->status = wf_exit_code(status);
    if (WIFSIGNALED(status) && !job->user_ended && !job->set.quiet)
        wf_job_say(job, "the launcher of job %s was killed by signal %d",
                   wf_child_label(job, c->number, label), WTERMSIG(status));
    answer_child(job, c, "its launcher has ended");
    tell_owner(job, c);
    snprintf(owner, sizeof owner, "j%d", c->number);
    wf_name_drop(job, owner);
    return true;
}

bool wf_children_run(const struct job *job)
{
    for (const struct child_job *c = job->children; c; c = c->next)
        if (c->pid)
            return true;
    return false;
}

void wf_children_signal(const struct job *job, int sig)
{
    for (const struct child_job *c = job->children; c; c = c->next)
        if (c->pid)
            kill(c->pid, sig);
}

void wf_child_drop_asker(struct job *job, struct rank *r)
{
    wf_spawn_request_free(r->spawn);
    r->spawn = NULL;
    for (struct child_job *c = job->children; c; c = c->next) {
        if (c->asker == r && c->pid)
            kill(c->pid, SIGTERM);
        c->asker = c->asker == r ? NULL : c->asker;
        c->owner = c->owner == r ? NULL : c->owner;
    }
}

int wf_children_status(const struct job *job)
{
    int status = 0;

    for (const struct child_job *c = job->children; c; c = c->next)
        if (c->started && c->status)
            status = c->status; /* the oldest is the last of the list */
    return status;
}

void wf_child_send_name(struct job *job, int number, const char *text)
{
    for (struct child_job *c = job->children; c; c = c->next)
        if (c->number == number && c->pid)
            wf_channel_send(job, &c->channel, FRAME_NAME, 0, 0, text,
                            strlen(text));
}

void wf_children_free(struct job *job)
{
    while (job->children) {
        struct child_job *c = job->children;
        job->children = c->next;
        wf_channel_close(job, &c->channel);
        free(c);
    }
}

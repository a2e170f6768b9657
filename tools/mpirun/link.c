/* This file starts agents and exchanges frames with them: see link.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "launch_request.h"
#include "remote.h"
#include "starter.h"

enum {
    GREETING_MOST = 128, /* bytes of a greeting, of any version */
    SILENT_MOST = 15,    /* ticks */
    CLOSE_S = 3,         /* for an agent to end what its ranks left behind */
    STATUS_NOT_FOUND = 127
};
static const uint64_t second = 1000000000;

static struct link *link_of(struct channel *c)
{
    return (struct link *)c;
}

/* ---- the end of one ------------------------------------------------------ */

static const char *describe_end(const struct link *l, char *text, size_t size)
{
    if (l->pid)
        snprintf(text, size, "has closed its output");
    else if (WIFSIGNALED(l->status))
        snprintf(text, size, "was killed by signal %d (%s)",
                 WTERMSIG(l->status), strsignal(WTERMSIG(l->status)));
    else
        snprintf(text, size, "exited with status %d", WEXITSTATUS(l->status));
    return text;
}

static void end_command(struct link *l)
{
    if (l->pid)
        (void)kill(-l->pid, SIGTERM);
}

static void close_link(struct job *job, struct link *l)
{
    wf_channel_close(job, &l->channel);
    end_command(l);
    l->state = l->pid ? LINK_CLOSING : LINK_GONE;
    l->deadline = wf_job_now() + CLOSE_S * second;
}

/* Give up the hosts behind this link. */
static void lose_link(struct job *job, struct link *l, const char *why)
{
    enum link_state state = l->state;

    close_link(job, l);
    if (l->lost || state >= LINK_CLOSING)
        return;
    l->lost = true;
    wf_remote_lost(job, l, why);
}

static void fail_start(struct job *job, struct link *l, const char *why)
{
    if (wf_job_now() >= l->retry_until) {
        lose_link(job, l, why);
        return;
    }
    wf_channel_close(job, &l->channel);
    end_command(l);
    l->pid = 0; /* its end is of no interest */
    l->ending = false;
    l->state = LINK_PAUSED;
    l->deadline = wf_job_now() + second;
}

/* Handle the end of its command or of the command's output. */
static void note_command_end(struct job *job, struct link *l)
{
    char how[96], why[600];

    describe_end(l, how, sizeof how);
    if (l->state == LINK_UP) {
        snprintf(why, sizeof why, "host %s is lost: '%s' %s", l->host->name,
                 l->command, how);
        lose_link(job, l, why);
    } else if (l->state == LINK_STARTING) {
        bool found = l->pid || !WIFEXITED(l->status) ||
                     WEXITSTATUS(l->status) != STATUS_NOT_FOUND;
        snprintf(why, sizeof why, "host %s: no agent could be started: '%s' "
                 "%s%s", l->host->name, l->command, how,
                 found ? "" : "; is Weft there under the same path? --prefix "
                              "names another");
        fail_start(job, l, why);
    } else {
        lose_link(job, l, NULL);
    }
}

/* Wait for the end of its command, which says more and will soon be known. */
static void on_channel_end(struct job *job, struct channel *c,
                           const char *nonsense)
{
    struct link *l = link_of(c);
    char why[400];

    if (!nonsense) {
        l->ending = true;
        l->deadline = wf_job_now() + second / 2;
        if (!l->pid || l->state >= LINK_CLOSING)
            note_command_end(job, l);
        return;
    }
    snprintf(why, sizeof why, "host %s is lost: its agent %s", l->host->name,
             nonsense);
    lose_link(job, l, why);
}

bool wf_link_reaped(struct job *job, pid_t pid, int status)
{
    for (int i = 0; i < job->link_count; i++) {
        struct link *l = &job->links[i];
        if (l->pid != pid)
            continue;
        wf_channel_drain(job, &l->channel);
        l->pid = 0;
        l->status = status;
        note_command_end(job, l);
        return true;
    }
    return false;
}

/* ---- the greeting -------------------------------------------------------- */

static void refuse_version(struct job *job, struct link *l, const char *line,
                           size_t n)
{
    char why[500];

    snprintf(why, sizeof why, "host %s: '%s' is another version of Weft there "
             "('%.*s' instead of '%.*s')", l->host->name, l->command, (int)n,
             line, (int)strlen(AGENT_GREETING) - 1, AGENT_GREETING);
    l->retry_until = 0;
    lose_link(job, l, why);
}

/* Print to standard error the lines that a login script has printed. */
static void pass_banner(struct bytes *got, size_t n)
{
    (void)!write(2, got->data + got->at, n);
    wf_bytes_take(got, n);
}

static bool take_greeting(struct job *job, struct channel *c, struct bytes *got)
{
    struct link *l = link_of(c);
    size_t n = got->end - got->at, mark = strlen(AGENT_WORD);
    char *line = memmem(got->data + got->at, n, AGENT_WORD, mark), *end;

    if (!line) {
        if (n > mark)
            pass_banner(got, n - mark);
        return false;
    }
    if (line > got->data + got->at)
        pass_banner(got, (size_t)(line - got->data) - got->at);
    n = got->end - got->at;
    end = memchr(line, '\n', n);
    if (end)
        n = (size_t)(end - line) + 1;
    else if (n < GREETING_MOST)
        return false;
    if (n != strlen(AGENT_GREETING) || memcmp(line, AGENT_GREETING, n) != 0) {
        refuse_version(job, l, line, n - 1);
        return false;
    }
    wf_bytes_take(got, n);
    l->state = LINK_UP;
    l->silent = 0;
    wf_launch_request_send(job, l);
    return true;
}

static void take_link_frame(struct job *job, struct channel *c, struct frame *f)
{
    struct link *l = link_of(c);

    l->silent = 0;
    if (f->type != FRAME_PONG)
        wf_remote_take(job, l, f);
}

/* ---- the start ----------------------------------------------------------- */

/* Execute the command in the child. It has a session of its own, because
 * signals to the ranks go through the channel, and because it must not ask for
 * a password that nobody can type. */
static void run_command(const struct job *job, char **words, int in, int out,
                        bool quiet)
{
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
    (void)setrlimit(RLIMIT_NOFILE, &job->old_files);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(STATUS_NOT_FOUND);
    if (quiet) {
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(null, 2);
    }
    execvp(words[0], words);
    fprintf(stderr, "mpirun: %s: %s\n", words[0], strerror(errno));
    fflush(stderr);
    _exit(STATUS_NOT_FOUND);
}

static int open_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) == 0)
        return 0;
    close(in[0]);
    close(in[1]);
    return -1;
}

/* Start the command of a link. Its error output is shown when it is not tried
 * again. */
static int start_command(struct job *job, struct link *l, char **words)
{
    bool quiet = wf_job_now() < l->retry_until;
    int in[2], out[2];

    if (open_pipes(in, out) < 0)
        return -1;
    l->pid = fork();
    if (l->pid == 0)
        run_command(job, words, in[0], out[1], quiet);
    close(in[0]);
    close(out[1]);
    l->channel.greet = take_greeting;
    l->channel.take = take_link_frame;
    l->channel.ended = on_channel_end;
    if (l->pid > 0 && wf_channel_open(job, &l->channel, out[0], in[1]) == 0)
        return 0;
    l->pid = l->pid < 0 ? 0 : l->pid;
    close(in[1]);
    close(out[0]);
    return -1;
}

static int start_link(struct job *job, struct link *l)
{
    char **words = wf_starter_words(job->set.starter, l->host, job->set.agent);
    int rc = -1;

    if (words) {
        wf_starter_text(words, l->command, sizeof l->command);
        rc = start_command(job, l, words);
    }
    if (rc < 0)
        wf_job_say(job, "cannot start an agent for host %s: %s", l->host->name,
                   strerror(errno));
    wf_starter_free(words);
    l->state = LINK_STARTING;
    l->ending = false;
    l->deadline = wf_job_now() + (uint64_t)(job->set.host_timeout * 1e9);
    return rc;
}

/* Returns the first host of the i-th of so many parts of n hosts. */
static int begin_part(int n, int parts, int i)
{
    return (int)((long)n * i / parts);
}

/* Decide which hosts are behind which link. */
static int plan_links(struct job *job)
{
    struct host **away = calloc((size_t)job->hosts.count + 1, sizeof *away);
    int n = 0, first = 0, parts;

    for (int i = 0; away && i < job->hosts.count; i++)
        if (!job->hosts.all[i].here)
            away[n++] = &job->hosts.all[i];
    parts = n < job->set.tree_width ? n : job->set.tree_width;
    job->links = calloc((size_t)parts + 1, sizeof *job->links);
    if (!away || !job->links) {
        free(away);
        wf_job_say(job, "cannot start agents: out of memory");
        return -1;
    }
    for (int i = 0; i < parts; i++) {
        struct link *l = &job->links[job->link_count++];
        l->channel.in.fd = l->channel.out.fd = -1;
        l->host = away[first];
        for (int end = begin_part(n, parts, i + 1); first < end; first++)
            away[first]->link = l;
    }
    free(away);
    return 0;
}

int wf_links_start(struct job *job)
{
    uint64_t now = wf_job_now();
    int rc = plan_links(job);

    for (int i = 0; i < job->link_count && rc == 0; i++) {
        struct link *l = &job->links[i];
        if (job->set.wait_hosts > 0)
            l->retry_until = now + (uint64_t)(job->set.wait_hosts * 1e9);
        rc = start_link(job, l);
    }
    if (job->link_count)
        job->link_tick = now + second;
    return rc;
}

int wf_links_print(struct job *job, FILE *f)
{
    if (plan_links(job) < 0)
        return -1;
    for (int i = 0; i < job->link_count; i++) {
        const struct host *h = job->links[i].host;
        char **words = wf_starter_words(job->set.starter, h, job->set.agent);
        char text[1024];
        if (!words)
            return -1;
        wf_starter_text(words, text, sizeof text);
        fprintf(f, "  %-24s by %s\n", h->name, text);
        wf_starter_free(words);
    }
    return 0;
}

/* ---- use ----------------------------------------------------------------- */

void wf_links_send(struct job *job, enum frame_type type, const void *data,
                   size_t n)
{
    for (int i = 0; i < job->link_count; i++)
        if (job->links[i].state == LINK_UP)
            wf_channel_send(job, &job->links[i].channel, type, WF_NODE_ALL, 0,
                            data, n);
}

bool wf_link_is_up(const struct host *h)
{
    return h->link && !h->lost && h->link->state == LINK_UP &&
           !h->link->ending;
}

void wf_link_send(struct job *job, const struct host *h, enum frame_type type,
                  int rank, const void *data, size_t n)
{
    if (h->link && h->link->state == LINK_UP)
        wf_channel_send(job, &h->link->channel, type, h->node, rank, data, n);
}

/* ---- time ---------------------------------------------------------------- */

static void tick_link(struct job *job, struct link *l)
{
    char why[400];

    if (l->state != LINK_UP)
        return;
    if (++l->silent > SILENT_MOST) {
        snprintf(why, sizeof why, "host %s is lost: its agent has not answered "
                 "for %d s", l->host->name, SILENT_MOST);
        lose_link(job, l, why);
        return;
    }
    wf_channel_send(job, &l->channel, FRAME_PING, WF_NODE_ALL, 0, NULL, 0);
}

static bool has_limit(const struct link *l)
{
    return l->state == LINK_PAUSED || l->state == LINK_STARTING ||
           l->state == LINK_CLOSING || (l->state == LINK_UP && l->ending);
}

static void strike_limit(struct job *job, struct link *l)
{
    char why[600];

    if (l->state == LINK_CLOSING) {
        if (l->pid)
            (void)kill(-l->pid, SIGKILL);
        l->pid = 0;
        lose_link(job, l, NULL);
    } else if (l->ending) {
        note_command_end(job, l);
    } else if (l->state == LINK_PAUSED) {
        if (start_link(job, l) < 0)
            lose_link(job, l, "an agent could not be started again");
    } else {
        snprintf(why, sizeof why, "host %s: no answer within %g s from '%s'; "
                 "is it up, and does nothing drop its packets? "
                 "(--host-timeout, --wait-hosts)", l->host->name,
                 job->set.host_timeout, l->command);
        fail_start(job, l, why);
    }
}

void wf_links_deadline(struct job *job)
{
    uint64_t now = wf_job_now();
    bool ticks = job->link_tick && now >= job->link_tick;

    if (job->link_count == 0 && !job->up)
        return;
    if (ticks)
        job->link_tick = now + second;
    for (int i = 0; i < job->link_count; i++) {
        struct link *l = &job->links[i];
        if (has_limit(l) && now >= l->deadline)
            strike_limit(job, l);
        if (ticks)
            tick_link(job, l);
    }
}

uint64_t wf_links_next(const struct job *job)
{
    uint64_t next = job->link_tick;

    for (int i = 0; i < job->link_count; i++) {
        const struct link *l = &job->links[i];
        if (has_limit(l) && (!next || l->deadline < next))
            next = l->deadline;
    }
    return next;
}

/* ---- the end ------------------------------------------------------------- */

void wf_links_cancel(struct job *job)
{
    for (int i = 0; i < job->link_count; i++) {
        struct link *l = &job->links[i];
        if (l->state == LINK_STARTING || l->state == LINK_PAUSED)
            lose_link(job, l, "it was given up");
    }
}

void wf_links_close(struct job *job)
{
    for (int i = 0; i < job->link_count; i++) {
        struct link *l = &job->links[i];
        if (l->state == LINK_STARTING || l->state == LINK_PAUSED) {
            close_link(job, l);
        } else if (l->state == LINK_UP) {
            wf_channel_finish(job, &l->channel);
            l->state = LINK_CLOSING;
            l->deadline = wf_job_now() + CLOSE_S * second;
        }
    }
}

bool wf_links_open(const struct job *job)
{
    for (int i = 0; i < job->link_count; i++)
        if (job->links[i].state != LINK_GONE)
            return true;
    return false;
}

void wf_links_free(struct job *job)
{
    for (int i = 0; i < job->link_count; i++) {
        struct link *l = &job->links[i];
        if (l->pid)
            (void)kill(-l->pid, SIGKILL);
        wf_channel_close(job, &l->channel);
    }
    for (int i = 0; i < job->hosts.count; i++)
        job->hosts.all[i].link = NULL;
    free(job->links);
    job->links = NULL;
    job->link_count = 0;
}

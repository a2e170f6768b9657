/* This file runs an agent from its start to its end: see agent.h.
 *
 *   greeting -> order -> agents below, ranks -> loop -> clean up
 *
 * An agent ends when the process that started it has closed the channel or
 * sends nothing any more, or when the agent gets a signal that ends processes.
 * Afterwards no process that its ranks have started is left on the host.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding.h"
#include "rank_input.h"
#include "job.h"
#include "link.h"
#include "launch_request.h"
#include "state_page_file.h"

enum {
    SILENT_USUAL = 300, /* ticks of a second without a word from above */
    SILENT_LONGEST = 1000000,
    SETTLE_MS = 20, /* for the system to tell of a process that has ended */
    STATUS_LOST = 255
};

struct agent {
    struct channel up; /* first */
    bool over;
    bool paused;      /* mpirun has said that it stops */
    int silent, silent_most; /* ticks */
    uint64_t tick, settle; /* ns */
    char *request;     /* the job points into it */
    const struct host *host;
};

static struct agent *agent_of(const struct job *job)
{
    return (struct agent *)job->up;
}

static void send_up(struct job *job, enum frame_type type, int rank,
                    const void *data, size_t n)
{
    const struct host *h = agent_of(job)->host;

    wf_channel_send(job, job->up, type, h ? h->node : 0, rank, data, n);
}

static void send_number(struct job *job, enum frame_type type, int rank,
                        uint32_t number)
{
    char data[4];

    wf_number_write(data, number);
    send_up(job, type, rank, data, sizeof data);
}

/* ---- news of its ranks --------------------------------------------------- */

void wf_agent_fail(struct job *job, int status, const char *text)
{
    size_t n = strlen(text);
    char *data = malloc(4 + n);

    if (!data)
        return;
    wf_number_write(data, (uint32_t)status);
    memcpy(data + 4, text, n);
    send_up(job, FRAME_FAILED, 0, data, 4 + n);
    free(data);
}

void wf_agent_more(struct job *job, const struct rank *r, size_t n)
{
    send_number(job, FRAME_MORE, r->index, (uint32_t)n);
}

static void close_pmi(struct job *job, struct rank *r)
{
    if (r->pmi_open)
        send_up(job, FRAME_PMI, r->index, NULL, 0);
    r->pmi_open = false;
    wf_job_unwatch(job, &r->pmi);
}

void wf_agent_pmi_ready(struct job *job, struct event_source *s)
{
    struct rank *r = (struct rank *)s;
    char data[2048]; /* short: the main loop wipes 8 KB of stack */

    while (r->pmi.fd >= 0) {
        ssize_t n = recv(r->pmi.fd, data, sizeof data, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            close_pmi(job, r);
            return;
        }
        r->pmi_init = true; /* or whatever it says */
        send_up(job, FRAME_PMI, r->index, data, (size_t)n);
        explicit_bzero(data, (size_t)n);
    }
}

/* Read once, at most what the window allows. Returns false when nothing more
 * can be read now. */
static bool pass_output(struct job *job, struct stream *s)
{
    size_t room = STREAM_WINDOW - s->window;
    char data[FRAME_DATA];
    ssize_t n;

    if (s->source.fd < 0)
        return false;
    wf_io_pause(job, s, room == 0);
    if (room == 0)
        return false;
    n = read(s->source.fd, data, room < sizeof data ? room : sizeof data);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        wf_job_unwatch(job, &s->source);
        return false;
    }
    s->window += (size_t)n;
    send_up(job, s == &s->rank->out ? FRAME_OUT : FRAME_ERR, s->rank->index,
            data, (size_t)n);
    return true;
}

static bool is_blocked(const struct stream *s)
{
    return s->source.fd >= 0 && s->window >= STREAM_WINDOW;
}

/* Report the end of a process after everything that it has written. */
static void report_end(struct job *job, struct rank *r)
{
    if (!r->ended || r->end_sent)
        return;
    while (pass_output(job, &r->out))
        ;
    while (pass_output(job, &r->err))
        ;
    if (is_blocked(&r->out) || is_blocked(&r->err))
        return;
    r->end_sent = true;
    send_number(job, FRAME_ENDED, r->index, (uint32_t)r->wait_status);
}

void wf_agent_output(struct job *job, struct event_source *source)
{
    struct stream *s = (struct stream *)source;

    (void)pass_output(job, s);
    report_end(job, s->rank);
}

void wf_agent_ended(struct job *job, struct rank *r, int status)
{
    wf_agent_pmi_ready(job, &r->pmi); /* what it said before it died */
    wf_foreign_ended(job, r);
    wf_guard_note(job, r, 0);
    r->pid = 0;
    r->ended = true;
    r->wait_status = status;
    job->alive--;
    report_end(job, r);
}

/* ---- orders -------------------------------------------------------------- */

static void tell_started(struct job *job)
{
    char *pairs = malloc(8 * (size_t)job->count + 1);
    size_t n = 0;

    for (int i = 0; pairs && i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (!r->pid)
            continue;
        wf_number_write(pairs + n, (uint32_t)r->index);
        wf_number_write(pairs + n + 4, (uint32_t)r->pid);
        n += 8;
    }
    send_up(job, FRAME_STARTED, 0, pairs, n);
    free(pairs);
}

/* Report ranks that could not be started as ended. */
static void give_up_ranks(struct job *job)
{
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (!r->host->here || r->pid || r->ended)
            continue;
        r->ended = r->end_sent = true;
        r->wait_status = (job->exit_code & 0xff) << 8;
        send_number(job, FRAME_ENDED, r->index, (uint32_t)r->wait_status);
    }
}

static void start_all(struct job *job)
{
    struct agent *a = agent_of(job);

    a->host = &job->hosts.all[0];
    (void)umask((mode_t)job->set.umask);
    if (wf_job_prepare(job) < 0) {
        wf_job_fail(job, 1, "cannot start: %s", strerror(errno));
        give_up_ranks(job);
        return;
    }
    if (wf_resolve_all(job) != 0 || !wf_binding_all(job) ||
        wf_spawn_all(job) < 0)
        give_up_ranks(job);
    tell_started(job);
    for (int i = 0; i < job->count; i++)
        wf_rank_input_start(job, &job->ranks[i]);
}

static void take_launch_request(struct job *job, const struct frame *f)
{
    struct agent *a = agent_of(job);

    a->request = malloc(f->len);
    if (a->request)
        memcpy(a->request, f->data, f->len);
    if (a->request && wf_launch_request_read(job, a->request, f->len)) {
        start_all(job);
        return;
    }
    fprintf(stderr, "mpirun: an agent cannot read its launch request; "
            "do all hosts have the same version of Weft?\n");
    a->over = true;
}

/* ---- what is for its ranks ----------------------------------------------- */

static void send_pages(struct job *job)
{
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        struct wf_state_head *page =
            r->pid && r->state_page >= 0
                ? wf_state_page_read(r->state_page, r->rank_count)
                : NULL;
        if (page) {
            uint64_t pid = wf_state_le(page->pid);
            pid_t p = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : r->pid;
            page->now = wf_state_le(wf_job_now());
            page->process =
                wf_state_le((uint64_t)wf_state_page_process_state(p));
        }
        if (r->host->here && !r->ended)
            send_up(job, FRAME_STATE, r->index, page,
                    page ? wf_state_bytes((uint64_t)r->rank_count) : 0);
        free(page);
    }
}

static struct stream *stream_of(struct rank *r, const struct frame *f)
{
    return f->len >= 1 && f->data[0] == 1 ? &r->out : &r->err;
}

static void pass_pmi(struct job *job, struct rank *r, const struct frame *f)
{
    if (!r->pmi_open)
        return;
    if (f->len == 0)
        close_pmi(job, r);
    else if (send(r->pmi.fd, f->data, f->len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
             (ssize_t)f->len)
        (void)shutdown(r->pmi.fd, SHUT_RDWR); /* its last words are there */
}

static void widen_window(struct job *job, struct rank *r, const struct frame *f)
{
    struct stream *s = stream_of(r, f);
    size_t n = f->len == 5 ? wf_number_read(f->data + 1) : 0;

    s->window -= n < s->window ? n : s->window;
    wf_io_pause(job, s, false);
    report_end(job, r);
}

static void take_of_rank(struct job *job, struct rank *r, const struct frame *f)
{
    switch (f->type) {
    case FRAME_PMI:
        pass_pmi(job, r, f);
        break;
    case FRAME_IN:
        wf_rank_input_take(job, r, f->data, f->len);
        break;
    case FRAME_MORE:
        widen_window(job, r, f);
        break;
    case FRAME_SHUT:
        wf_job_unwatch(job, &stream_of(r, f)->source);
        report_end(job, r);
        break;
    default:
        break;
    }
}

static void take_signal(struct job *job, const struct frame *f)
{
    int sig = f->len == 1 ? f->data[0] : 0;

    if (sig <= 0 || sig >= NSIG)
        return;
    agent_of(job)->paused = sig == SIGTSTP;
    wf_signal_pass(job, sig); /* also to the agents below */
}

/* Handle a frame for all hosts of the subtree. */
static void take_for_all(struct job *job, const struct frame *f)
{
    switch (f->type) {
    case FRAME_SIGNAL:
        take_signal(job, f);
        break;
    case FRAME_ASK:
        wf_links_send(job, FRAME_ASK, NULL, 0);
        send_pages(job);
        break;
    case FRAME_SETTLE:
        wf_links_send(job, FRAME_SETTLE, NULL, 0);
        agent_of(job)->settle = wf_job_now() + SETTLE_MS * 1000000ull;
        break;
    case FRAME_PING:
        send_up(job, FRAME_PONG, 0, NULL, 0);
        break;
    default:
        break;
    }
}

static void take_from_above(struct job *job, struct channel *c, struct frame *f)
{
    struct agent *a = agent_of(job);
    struct host *h;
    struct rank *r;

    if (a->over) /* one read may hold frames behind the last */
        return;
    a->silent = 0;
    if (f->type != FRAME_PING)
        a->paused = false;
    if (!a->host) {
        if (f->type == FRAME_LAUNCH)
            take_launch_request(job, f);
        return;
    }
    if (f->node == WF_NODE_ALL) {
        take_for_all(job, f);
        return;
    }
    h = wf_host_of_node(&job->hosts, f->node);
    r = h && h->here ? wf_map_rank(job, f->rank) : NULL;
    if (r && r->host == h)
        take_of_rank(job, r, f);
    else if (h && h->link)
        wf_link_send(job, h, f->type, f->rank, f->data, f->len);
}

/* ---- life ---------------------------------------------------------------- */

static void on_channel_end(struct job *job, struct channel *c, const char *why)
{
    if (why)
        fprintf(stderr, "mpirun: an agent's channel %s\n", why);
    agent_of(job)->over = true;
}

void wf_agent_signal(struct job *job, int sig)
{
    if (sig == SIGTERM || sig == SIGHUP || sig == SIGINT || sig == SIGQUIT)
        agent_of(job)->over = true;
}

static void look_at_clock(struct job *job)
{
    struct agent *a = agent_of(job);
    uint64_t now = wf_job_now();

    if (a->settle && now >= a->settle) {
        a->settle = 0;
        wf_end_reap(job);
        send_up(job, FRAME_SETTLED, 0, NULL, 0);
    }
    if (now >= a->tick) {
        a->tick = now + 1000000000u;
        if (!a->paused && ++a->silent > a->silent_most)
            a->over = true;
    }
    job->agent_wake = a->settle && a->settle < a->tick ? a->settle : a->tick;
}

static void clean_up_host(struct job *job)
{
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].pid && job->ranks[i].host->here)
            (void)kill(-job->ranks[i].pid, SIGKILL);
    wf_links_close(job);
    while (wf_links_open(job))
        wf_job_run_once(job);
    wf_links_free(job);
    wf_guard_finish(job);
}

static int open_channel(struct job *job, struct agent *a)
{
    static const char greeting[] = AGENT_GREETING;

    job->up = &a->up;
    a->up.take = take_from_above;
    a->up.ended = on_channel_end;
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (job->epoll < 0 || wf_signal_open(job) < 0 ||
        write(1, greeting, sizeof greeting - 1) != sizeof greeting - 1)
        return -1;
    return wf_channel_open(job, &a->up, 0, 1);
}

static bool read_limit(struct agent *a, const char *seconds)
{
    char *end;
    long n = seconds ? strtol(seconds, &end, 10) : SILENT_USUAL;

    if (seconds && (!*seconds || *end || n < 1 || n > SILENT_LONGEST)) {
        fprintf(stderr,
                "mpirun: --agent '%s': give the seconds of silence, "
                "1 to %d, after which the agent ends\n",
                seconds, SILENT_LONGEST);
        return false;
    }
    a->silent_most = (int)n;
    return true;
}

int wf_agent_run(struct job *job, const char *seconds)
{
    static struct agent a;
    bool heard;

    if (!read_limit(&a, seconds))
        return STATUS_LOST;
    if (open_channel(job, &a) < 0) {
        if (errno == EPIPE) /* whoever wanted an agent is gone */
            return STATUS_LOST;
        fprintf(stderr, "mpirun: an agent is started by mpirun, with pipes for "
                "its input and output: %s\n", strerror(errno));
        return STATUS_LOST;
    }
    while (!a.over) {
        look_at_clock(job);
        wf_job_run_once(job);
    }
    job->agent_wake = 0;
    heard = a.silent <= a.silent_most;
    clean_up_host(job);
    if (heard)
        return 0;
    /* this comes last because perhaps no process reads it any more */
    wf_job_say(job, "nothing was heard from mpirun for %d s, so the ranks here "
               "were killed", a.silent_most);
    return STATUS_LOST;
}

/* The half on the other host: it starts the program and stands for mpirun. See
 * remote.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descendants.h"
#include "page.h"
#include "remote.h"

struct far {
    char **words;
    size_t count;
    char *dir;
    pid_t pid;
    int in, out, err, pmi; /* our ends of the program's; -1: closed */
    int ended;             /* descriptor that tells of its end */
    int page, ranks;       /* its state page, or -1; ranks that it holds */
    bool asked;            /* MORE was said and not answered */
    char *rest;            /* of its input, that the pipe did not take */
    size_t at, left;
};

/* ---- what near says first ------------------------------------------------- */

static bool add_word(struct far *f, char *word)
{
    char **more = realloc(f->words, (f->count + 2) * sizeof *more);

    if (!more)
        return false;
    f->words = more;
    f->words[f->count++] = word;
    f->words[f->count] = NULL;
    return true;
}

static bool listen_first(struct far *f)
{
    struct frame m;

    while (remote_receive(0, &m)) {
        if (m.type == FRAME_GO)
            return free(m.data), f->count && f->dir;
        if (m.type == FRAME_ENV && strchr(m.data, '='))
            putenv(m.data);
        else if (m.type == FRAME_DIR)
            f->dir = m.data;
        else if (m.type != FRAME_ARG || !add_word(f, m.data))
            return false;
    }
    return false;
}

/* ---- the program ------------------------------------------------------------ */

struct ends {
    int in[2], out[2], err[2], pmi[2];
};

static void fail(const char *what)
{
    int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;

    remote_say("%s: %s", what, strerror(errno));
    _exit(status);
}

static void run(const struct far *f, const struct ends *e)
{
    char number[16], page[48];
    sigset_t none;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(e->in[0], 0) < 0 || dup2(e->out[1], 1) < 0 ||
        dup2(e->err[1], 2) < 0 || fcntl(e->pmi[1], F_SETFD, 0) < 0)
        _exit(STATUS_NOT_FOUND);
    snprintf(number, sizeof number, "%d", e->pmi[1]);
    setenv("PMI_FD", number, 1);
    if (wf_page_name(f->page, page, sizeof page) &&
        fcntl(f->page, F_SETFD, 0) == 0)
        setenv(WF_STATE_VARIABLE, page, 1);
    setenv("PWD", f->dir, 1);
    if (chdir(f->dir) < 0)
        fail(f->dir);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(f->words[0], f->words);
    fail(f->words[0]);
}

/* Without it the job runs as well. */
static void make_page(struct far *f)
{
    const char *ranks = getenv("WEFT_PROCESS_RANKS");

    f->ranks = ranks ? atoi(ranks) : 1;
    if (f->ranks > 0 && f->ranks <= WF_STATE_RANKS_MAX)
        f->page = wf_page_create(f->ranks);
}

static bool start(struct far *f)
{
    struct ends e;

    make_page(f);

    if (pipe2(e.in, O_CLOEXEC) < 0 || pipe2(e.out, O_CLOEXEC) < 0 ||
        pipe2(e.err, O_CLOEXEC) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e.pmi) < 0)
        return false;
    f->pid = fork();
    if (f->pid == 0)
        run(f, &e);
    close(e.in[0]);
    close(e.out[1]);
    close(e.err[1]);
    close(e.pmi[1]);
    f->in = e.in[1];
    f->out = e.out[0];
    f->err = e.err[0];
    f->pmi = e.pmi[0];
    (void)fcntl(f->in, F_SETFL, O_NONBLOCK);
    return f->pid > 0;
}

/* ---- while it runs ------------------------------------------------------------ */

static void close_input(struct far *f)
{
    if (f->in >= 0)
        close(f->in);
    f->in = -1;
    free(f->rest);
    f->rest = NULL;
}

/* Give the program what its pipe takes; ask for more when it has all. */
static void feed(struct far *f)
{
    while (f->in >= 0 && f->left) {
        ssize_t n = write(f->in, f->rest + f->at, f->left);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno != EINTR)
            close_input(f); /* it does not read any more */
        if (n > 0) {
            f->at += (size_t)n;
            f->left -= (size_t)n;
        }
    }
    if (f->in < 0 || f->asked)
        return;
    free(f->rest);
    f->rest = NULL;
    f->asked = remote_send(1, FRAME_MORE, NULL, 0);
}

static void take_input(struct far *f, struct frame *m)
{
    f->asked = false;
    if (!m->len || f->in < 0) {
        close_input(f);
        return;
    }
    f->rest = m->data;
    m->data = NULL;
    f->at = 0;
    f->left = m->len;
    feed(f);
}

/* A user's signal goes to those who expect it only: as mpirun does. */
static void give_signal(struct far *f, int sig)
{
    if (sig == SIGUSR1 || sig == SIGUSR2)
        wf_descendants_notify(f->pid, sig);
    else
        (void)kill(-f->pid, sig);
}

/* The output cannot be delivered: close the pipe, so that the program gets EPIPE. */
static void close_output(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static uint64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Send the page of the program and the state that only this host can see; an empty
 * answer if it cannot be read. */
static bool tell_state(struct far *f)
{
    size_t size = wf_state_bytes((uint64_t)f->ranks);
    struct wf_state_head *page = size <= REMOTE_WORD
                                     ? wf_page_read(f->page, f->ranks)
                                     : NULL;
    bool sent;

    if (page) {
        uint64_t pid = wf_state_le(page->pid);
        pid_t p = pid > 0 && pid <= INT32_MAX ? (pid_t)pid : f->pid;
        page->now = wf_state_le(clock_now());
        page->process = wf_state_le((uint64_t)wf_page_process_state(p));
    }
    sent = remote_send(1, FRAME_STATE, page, page ? size : 0);
    free(page);
    return sent;
}

/* One frame from near. False: the connection has ended. */
static bool from_near(struct far *f)
{
    struct frame m;

    if (!remote_receive(0, &m))
        return false;
    if (m.type == FRAME_IN)
        take_input(f, &m);
    else if (m.type == FRAME_PMI && f->pmi >= 0 && m.len)
        (void)remote_write(f->pmi, m.data, m.len);
    else if (m.type == FRAME_PMI && f->pmi >= 0)
        (void)shutdown(f->pmi, SHUT_WR);
    else if (m.type == FRAME_SIGNAL && m.len == 1 && m.data[0] > 0)
        give_signal(f, m.data[0]);
    else if (m.type == FRAME_STATE)
        (void)tell_state(f);
    else if (m.type == FRAME_OUT)
        close_output(&f->out);
    else if (m.type == FRAME_ERR)
        close_output(&f->err);
    if (m.type == FRAME_PMI)
        explicit_bzero(m.data, m.len); /* the job key passes here */
    free(m.data);
    return true;
}

/* True while there may be more. */
static bool drain(int *fd, enum frame_type type)
{
    if (*fd >= 0 && !remote_pass(*fd, 1, type)) {
        close(*fd);
        *fd = -1;
    }
    return *fd >= 0;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Its last words, and how it ended. */
static int finish(struct far *f)
{
    char bytes[4];
    int status = 0;

    (void)waitpid(f->pid, &status, 0);
    while (readable(f->pmi) && drain(&f->pmi, FRAME_PMI))
        ;
    while (readable(f->out) && drain(&f->out, FRAME_OUT))
        ;
    while (readable(f->err) && drain(&f->err, FRAME_ERR))
        ;
    for (int i = 0; i < 4; i++)
        bytes[i] = (char)((unsigned)status >> 8 * i);
    return remote_send(1, FRAME_END, bytes, sizeof bytes) ? 0 : STATUS_LOST;
}

static int relay(struct far *f)
{
    for (feed(f);;) {
        struct pollfd p[] = {
            {.fd = 0, .events = POLLIN},
            {.fd = f->ended, .events = POLLIN},
            {.fd = f->out, .events = POLLIN},
            {.fd = f->err, .events = POLLIN},
            {.fd = f->pmi, .events = POLLIN},
            {.fd = f->left ? f->in : -1, .events = POLLOUT}};
        if (poll(p, 6, -1) < 0)
            continue;
        if (p[2].revents)
            drain(&f->out, FRAME_OUT);
        if (p[3].revents)
            drain(&f->err, FRAME_ERR);
        if (p[4].revents)
            drain(&f->pmi, FRAME_PMI);
        if (p[5].revents)
            feed(f);
        if (p[0].revents && !from_near(f)) {
            (void)kill(-f->pid, SIGKILL); /* nobody hears of it any more */
            return STATUS_LOST;
        }
        if (p[1].revents)
            return finish(f);
    }
}

int remote_far(void)
{
    struct far f = {.in = -1, .out = -1, .err = -1, .pmi = -1, .page = -1};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGHUP, SIG_IGN); /* the end of our input says it */
    f.ended = signalfd(-1, &set, SFD_CLOEXEC);
    if (f.ended < 0 ||
        !remote_write(1, REMOTE_GREETING, strlen(REMOTE_GREETING)) ||
        !listen_first(&f) || !start(&f)) {
        remote_say("the program could not be started");
        return STATUS_LOST;
    }
    return relay(&f);
}

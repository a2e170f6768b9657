/* The half beside mpirun: it stands for the rank. See remote.h.
 *
 *   weft-remote [-x NAME]... SHELL... -- PROGRAM [ARGUMENT]...
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "page.h"
#include "remote.h"

extern char **environ;

struct near {
    int to, from; /* the shell's input and output */
    int pmi, signals;
    int page, ask; /* the rank's state page, and who asks for it; or -1 */
    pid_t shell;
    sigset_t old_mask;
    bool more, input; /* far has room; ours has not ended */
    bool broken[3];   /* what the program writes there is lost; of 1 and 2 */
    char **exports;
    int export_count;
};

enum { GREETING_WITHIN = 256 << 10 /* bytes that login scripts may say first */ };

static const int forwarded[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

/* ---- starting the shell -------------------------------------------------- */

/* The one word that a shell reads: 'path' --far, quoted. */
static char *far_command(void)
{
    char self[PATH_MAX], *word = NULL;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    size_t size;
    FILE *f = n > 0 ? open_memstream(&word, &size) : NULL;

    if (!f)
        return NULL;
    fputs("exec '", f);
    for (ssize_t i = 0; i < n; i++)
        if (self[i] == '\'')
            fputs("'\\''", f);
        else
            fputc(self[i], f);
    fputs("' --far", f);
    return fclose(f) == 0 ? word : NULL;
}

/* In the child: in a group of its own, for signals to the rank are ours to
 * forward; and it goes when we are killed. */
static void run_shell(struct near *n, char **words, int in, int out)
{
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)sigprocmask(SIG_SETMASK, &n->old_mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    unsetenv("PMI_FD"); /* the line is ours */
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(STATUS_NOT_FOUND);
    if (n->pmi > 2)
        close(n->pmi);
    execvp(words[0], words);
    remote_say("%s: %s", words[0], strerror(errno));
    _exit(STATUS_NOT_FOUND);
}

static int start_shell(struct near *n, char **words, int count)
{
    char **all = calloc((size_t)count + 2, sizeof *all);
    int in[2], out[2];

    if (!all || !(all[count] = far_command()) || pipe2(in, O_CLOEXEC) < 0 ||
        pipe2(out, O_CLOEXEC) < 0) {
        remote_say("cannot start %s: %s", words[0], strerror(errno));
        return -1;
    }
    memcpy(all, words, (size_t)count * sizeof *all);
    n->shell = fork();
    if (n->shell == 0)
        run_shell(n, all, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    n->to = in[1];
    n->from = out[0];
    free(all[count]);
    free(all);
    return n->shell < 0 ? -1 : 0;
}

/* Whatever a login script has printed before goes to standard error. */
static bool greeted(struct near *n)
{
    static const char greeting[] = REMOTE_GREETING;
    size_t at = 0;
    char c;

    for (int i = 0; i < GREETING_WITHIN && read(n->from, &c, 1) == 1; i++) {
        if (c == greeting[at]) {
            if (!greeting[++at])
                return true;
            continue;
        }
        (void)remote_write(2, greeting, at);
        at = c == greeting[0];
        if (!at)
            (void)remote_write(2, &c, 1);
    }
    return false;
}

/* ---- telling what to start ------------------------------------------------- */

static bool travels(const struct near *n, const char *e)
{
    size_t len = strcspn(e, "=");

    if (!strncmp(e, "PMI_FD=", 7) || !strncmp(e, "PMI_SAY=", 8))
        return false; /* descriptors of this side */
    if (!strncmp(e, WF_STATE_VARIABLE "=", sizeof WF_STATE_VARIABLE) ||
        !strncmp(e, WF_STATE_ASK_VARIABLE "=", sizeof WF_STATE_ASK_VARIABLE))
        return false; /* the same */
    for (int i = 0; i < n->export_count; i++)
        if (strlen(n->exports[i]) == len && !strncmp(n->exports[i], e, len))
            return true;
    return !strncmp(e, "PMI_", 4) || !strncmp(e, "WEFT_", 5) ||
           !strncmp(e, "MPI_LOCAL", 9);
}

static bool tell(struct near *n, char **program)
{
    char *dir = getcwd(NULL, 0);
    bool good = dir && remote_send(n->to, FRAME_DIR, dir, strlen(dir));

    free(dir);
    for (char **e = environ; good && *e; e++)
        good = !travels(n, *e) || remote_send(n->to, FRAME_ENV, *e, strlen(*e));
    for (char **w = program; good && *w; w++)
        good = remote_send(n->to, FRAME_ARG, *w, strlen(*w));
    return good && remote_send(n->to, FRAME_GO, NULL, 0);
}

/* ---- while it runs ----------------------------------------------------------- */

/* End as the program did. */
static int end_as(const struct near *n, int status)
{
    static const struct rlimit none = {0, 0};
    sigset_t set;

    if (status == 0 && (n->broken[1] || n->broken[2]))
        return EX_IOERR;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)setrlimit(RLIMIT_CORE, &none); /* the core is over there */
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

static int lost(struct near *n, const char *host)
{
    int status = 0;

    close(n->to);
    close(n->from);
    (void)waitpid(n->shell, &status, 0);
    remote_say("%s ended, and with it the rank on the other host (status %d)",
               host, WIFEXITED(status) ? WEXITSTATUS(status)
                                       : 128 + WTERMSIG(status));
    return STATUS_LOST;
}

/* Pass on output of the program. When that cannot be passed on, the program learns it as
 * we did: far closes its end. */
static void pass_output(struct near *n, const struct frame *f)
{
    int to = f->type == FRAME_OUT ? 1 : 2;

    if (n->broken[to] || remote_write(to, f->data, f->len))
        return;
    remote_say("cannot write to standard %s: %s; what the rank still writes "
               "there is lost", to == 1 ? "output" : "error", strerror(errno));
    n->broken[to] = true;
    (void)remote_send(n->to, f->type, NULL, 0);
}

/* mpirun asks what the rank waits for. */
static void take_question(struct near *n)
{
    char byte;

    if (read(n->ask, &byte, 1) != 1)
        (void)(close(n->ask), n->ask = -1);
    else if (byte == WF_STATE_ASK)
        (void)remote_send(n->to, FRAME_STATE, NULL, 0);
}

/* The page of the other host replaces ours; its size is sealed. */
static void take_state(struct near *n, const struct frame *f)
{
    static const char answer = WF_STATE_ASK;

    if (n->page >= 0)
        (void)!pwrite(n->page, f->data, f->len, 0);
    if (n->ask >= 0)
        (void)send(n->ask, &answer, 1, MSG_NOSIGNAL);
}

/* From now on it is worth asking. */
static void offer_answers(struct near *n)
{
    static const char ready = WF_STATE_READY;

    if (n->ask >= 0)
        (void)send(n->ask, &ready, 1, MSG_NOSIGNAL);
}

/* One frame from far: -1 to go on, else the status. */
static int from_far(struct near *n, const char *host)
{
    struct frame f;
    int end = -1;

    if (!remote_receive(n->from, &f))
        return lost(n, host);
    if (f.type == FRAME_OUT || f.type == FRAME_ERR)
        pass_output(n, &f);
    else if (f.type == FRAME_PMI && f.len && n->pmi >= 0)
        (void)remote_write(n->pmi, f.data, f.len);
    else if (f.type == FRAME_PMI && n->pmi >= 0)
        (void)(close(n->pmi), n->pmi = -1);
    else if (f.type == FRAME_MORE)
        n->more = true;
    else if (f.type == FRAME_STATE)
        take_state(n, &f);
    else if (f.type == FRAME_END && f.len == 4)
        end = end_as(n, (int)remote_number(f.data));
    free(f.data);
    return end;
}

static void forward_signal(struct near *n)
{
    struct signalfd_siginfo info;
    char sig;

    if (read(n->signals, &info, sizeof info) != sizeof info)
        return;
    sig = (char)info.ssi_signo;
    (void)remote_send(n->to, FRAME_SIGNAL, &sig, 1);
}

static int relay(struct near *n, const char *host)
{
    int end = -1;

    while (end < 0) {
        struct pollfd p[] = {
            {.fd = n->from, .events = POLLIN},
            {.fd = n->signals, .events = POLLIN},
            {.fd = n->pmi, .events = POLLIN},
            {.fd = n->more && n->input ? 0 : -1, .events = POLLIN},
            {.fd = n->ask, .events = POLLIN}};
        if (poll(p, 5, -1) < 0)
            continue;
        if (p[1].revents)
            forward_signal(n);
        if (p[2].revents && !remote_pass(n->pmi, n->to, FRAME_PMI))
            (void)(close(n->pmi), n->pmi = -1);
        if (p[3].revents) {
            n->more = false;
            n->input = remote_pass(0, n->to, FRAME_IN);
        }
        if (p[4].revents)
            take_question(n);
        if (p[0].revents)
            end = from_far(n, host);
    }
    return end;
}

static void take_signals(struct near *n)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(&set, forwarded[i]);
    sigprocmask(SIG_BLOCK, &set, &n->old_mask);
    n->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

static int usage(void)
{
    fputs("usage: weft-remote [-x NAME]... SHELL... -- PROGRAM [ARGUMENT]...\n"
          "  for mpirun --launcher-exec 'weft-remote ssh host%n --': starts each\n"
          "  rank by a remote shell; -x takes a variable along\n", stderr);
    return STATUS_BAD_USE;
}

int remote_near(int argc, char **argv)
{
    const char *fd = getenv("PMI_FD");
    struct near n = {.pmi = fd ? atoi(fd) : -1, .input = true,
                     .page = wf_page_inherited(WF_STATE_VARIABLE),
                     .ask = wf_page_inherited(WF_STATE_ASK_VARIABLE)};
    int first, end;

    n.exports = calloc((size_t)argc, sizeof *n.exports);
    for (first = 1; n.exports && first + 1 < argc && !strcmp(argv[first], "-x");
         first += 2)
        n.exports[n.export_count++] = argv[first + 1];
    for (end = first; end < argc && strcmp(argv[end], "--");)
        end++;
    if (!n.exports || end == first || end + 1 >= argc)
        return usage();
    if (n.pmi >= 0)
        (void)fcntl(n.pmi, F_SETFD, FD_CLOEXEC);
    (void)fcntl(n.page, F_SETFD, FD_CLOEXEC); /* not for the shell */
    (void)fcntl(n.ask, F_SETFD, FD_CLOEXEC);
    take_signals(&n);
    if (n.signals < 0 || start_shell(&n, argv + first, end - first) < 0)
        return STATUS_LOST;
    argv[end] = NULL;
    if (!greeted(&n) || !tell(&n, argv + end + 1))
        return lost(&n, argv[end - 1]);
    offer_answers(&n);
    return relay(&n, argv[end - 1]);
}

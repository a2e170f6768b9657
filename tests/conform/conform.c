/* conform - what any transport must do, checked without MPI.
 *
 *   conform [-l] [-o key=value]... NAME|FILE.so [words of a case]
 *
 * NAME is a built-in transport, FILE.so a plugin file named weft_NAME.so. Every
 * case runs in a process of its own, so that a crash or a hang is one failure.
 * Output is TAP. CONFORM_LOG=1 shows the plugin's log, CONFORM_SEED=n sets the
 * seed of what is random.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

enum { SETTINGS = 16, USAGE = 2, WHY = 256 };

/* The transports that are linked into the program. */
#ifdef CONFORM_TABLE /* of `weft-info --table`, or of libmpi.a */
extern const weft_plugin *const weft_builtin[];
#else
static const weft_plugin *const weft_builtin[] = {NULL};
#endif

static const struct conform_case *const tables[] = {
    shape_cases, transfer_cases, flow_cases,  connect_cases, derive_cases,
    death_cases, sleep_cases,    fetch_cases, rma_cases};

/* ---- the plugin ---------------------------------------------------------- */

static const weft_plugin *from_table(const char *name)
{
    for (const weft_plugin *const *p = weft_builtin; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    fprintf(stderr, "conform: no transport '%s' is built in\n", name);
    return NULL;
}

static const weft_plugin *from_file(const char *file)
{
    char path[PATH_MAX], symbol[128];
    const char *base, *error;
    void *handle, *plugin;

    if (!realpath(file, path)) {
        fprintf(stderr, "conform: %s: %s\n", file, strerror(errno));
        return NULL;
    }
    base = strrchr(path, '/') + 1;
    if (strncmp(base, "weft_", 5) != 0) {
        fprintf(stderr, "conform: %s: a plugin file is called weft_NAME.so\n",
                file);
        return NULL;
    }
    snprintf(symbol, sizeof symbol, "weft_plugin_%d_%.*s", WEFT_ABI_MAJOR,
             (int)(strlen(base) - 8), base + 5);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    plugin = handle ? dlsym(handle, symbol) : NULL;
    error = dlerror();
    if (!plugin)
        fprintf(stderr, "conform: %s\n", error ? error : "no plugin");
    return plugin;
}

static const weft_plugin *find_plugin(const char *what)
{
    size_t n = strlen(what);

    return n > 3 && strcmp(what + n - 3, ".so") == 0 ? from_file(what)
                                                     : from_table(what);
}

/* ---- one case ------------------------------------------------------------ */

/* Not every endpoint of a plugin with event() has a descriptor. */
static bool has_event(const weft_ops *ops, weft_ep *ep)
{
    int fd = -1;

    return WEFT_HAS(ops, weft_ops, event) && ops->event(ep, &fd) >= 0 &&
           fd >= 0;
}

/* NULL, or why this plugin need not do it. */
static const char *find_missing(const weft_plugin *p, weft_ep *ep,
                                const weft_attr *a, unsigned needs)
{
    const weft_ops *ops = p->ops;
    const uint32_t others = WEFT_CAP_LOCAL | WEFT_CAP_REMOTE;
#define HAS(op) WEFT_HAS(ops, weft_ops, op)
    const struct {
        unsigned need;
        bool has;
        const char *why;
    } wants[] = {
        {NEED_SHORT, HAS(send_short), "it has no send_short"},
        {NEED_EVENT, has_event(ops, ep), "it has no descriptor to sleep on"},
        {NEED_CONNECT, HAS(connect), "it has no connect"},
        {NEED_GET, a->caps & WEFT_CAP_GET, "it has no get"},
        {NEED_GET_ALONE, a->caps & WEFT_CAP_GET_ALONE,
         "its get needs the target"},
        {NEED_MAP, a->caps & WEFT_CAP_MAP, "it maps no memory"},
        {NEED_SEND_WORDS, HAS(send_words), "it has no send_words"},
        {NEED_RECV_WORDS, HAS(recv_words), "it has no recv_words"},
        {NEED_TRAFFIC, HAS(traffic), "it has no traffic"},
        {NEED_PARSE, HAS(addr_parse), "it has no addr_parse"},
        {NEED_PROBE, HAS(probe), "it has no probe"},
        {NEED_DERIVE, HAS(addr_derive), "it has no addr_derive"},
        {NEED_RESERVE, HAS(reserve), "it has no reserve"},
        {NEED_RMA, a->caps & WEFT_CAP_RMA, "it has no rma"},
        {NEED_RMA_ATOMIC, a->caps & WEFT_CAP_RMA_ATOMIC,
         "its rma has no atomic operations"}};
#undef HAS

    if (needs & NEED_OTHERS && !(a->caps & others))
        return "it reaches no other process";
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        if (needs & wants[i].need && !wants[i].has)
            return wants[i].why;
    return NULL;
}

static void play_case(struct world *w, const struct conform_case *c, char *why)
{
    weft_core *probe = side_open(w, 0, NULL);
    const char *lacks =
        find_missing(w->plugin, probe->ep, &probe->attr, c->needs);

    side_close(probe);
    if (lacks) {
        snprintf(why, WHY, "%s", lacks);
        exit(SKIPPED);
    }
    c->run(w);
    exit(0);
}

/* True: it holds, or does not apply. */
static bool judge_case(int number, const struct conform_case *c, int status,
                       const char *why)
{
    bool fine = WIFEXITED(status) &&
                (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED);

    if (WIFSIGNALED(status))
        printf("# %s\n", WTERMSIG(status) == SIGALRM
                             ? "the case took too long"
                             : strsignal(WTERMSIG(status)));
    printf("%sok %d - %s", fine ? "" : "not ", number, c->name);
    if (*why)
        printf(" # SKIP %s", why);
    printf("\n");
    fflush(stdout);
    return fine;
}

static bool run_case(struct world *w, int number, const struct conform_case *c)
{
    static char *why;
    int status = 0;
    pid_t pid;

    if (!why)
        why = mmap(NULL, WHY, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    why[0] = 0;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(CASE_LIMIT);
        play_case(w, c, why);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return judge_case(number, c, status, why);
}

/* ---- all cases ----------------------------------------------------------- */

static int run_each(struct world *w, const char *words, bool list)
{
    int n = 0, bad = 0;

    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct conform_case *c = tables[t]; c->name; c++) {
            if (words && !strstr(c->name, words))
                continue;
            n++;
            if (list)
                printf("%s\n", c->name);
            else if (!run_case(w, n, c))
                bad++;
        }
    if (!n) {
        fprintf(stderr, "conform: no case is about '%s'; -l lists them\n",
                words);
        return USAGE;
    }
    if (!list)
        printf("1..%d\n", n);
    return bad ? 1 : 0;
}

static bool parse_setting(struct setting *s, char *text)
{
    char *equals = strchr(text, '=');

    if (!equals)
        return false;
    *equals = 0;
    *s = (struct setting){text, equals + 1};
    return true;
}

static int print_usage(void)
{
    fprintf(stderr, "usage: conform [-l] [-o key=value]... NAME|FILE.so "
                    "[words of a case]\n");
    return USAGE;
}

int main(int argc, char **argv)
{
    struct setting settings[SETTINGS];
    struct world w = {.settings = settings, .seed = 1, .channel = -1};
    const char *seed = getenv("CONFORM_SEED");
    bool list = false;
    int o;

    while ((o = getopt(argc, argv, "lo:")) != -1) {
        if (o == 'l')
            list = true;
        else if (o != 'o' || w.settings_n == SETTINGS ||
                 !parse_setting(&settings[w.settings_n++], optarg))
            return print_usage();
    }
    if (list)
        return run_each(&w, argv[optind], true);
    if (optind >= argc || argc - optind > 2)
        return print_usage();
    w.plugin = find_plugin(argv[optind]);
    if (!w.plugin)
        return USAGE;
    if (seed)
        w.seed = (unsigned)strtoul(seed, NULL, 0);
    printf("# %s %s: %s (seed %u)\n", w.plugin->name, w.plugin->version,
           w.plugin->desc, w.seed);
    return run_each(&w, argv[optind + 1], false);
}

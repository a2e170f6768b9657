/* This file reads the arguments of weft-info and runs the command.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sysexits.h>

#include "draw.h"
#include "layout.h"
#include "os/place.h"
#include "os/prefix.h"
#include "trace.h"
#include "tune.h"
#include "tune_coll.h"
#include "config/collectives.h"
#include "report/error.h"

enum { TUNE_SECONDS = 30 };

struct arguments {
    struct info_question explain;
    const char *check, *embed, *seconds;
    bool json, load, table, version, help, tune, tune_collectives, functions;
    struct draw_arguments draw;
};

static const char usage[] =
    "usage: weft-info [--json]                      everything there is to "
    "know\n"
    "       weft-info [--json] --functions          which functions of MPI are "
    "implemented\n"
    "       weft-info [--json] --check FILE         all mistakes in an "
    "mpi.ini;\n"
    "                 [--load]                      --load: also of plugins "
    "outside the\n"
    "                                               installation, which are "
    "loaded\n"
    "       weft-info [--json] --explain A->B [--size N] [--comm NAME]\n"
    "                 [--kind pt2pt|collective|rma|io] [--job other]\n"
    "                                               routes between two ranks,\n"
    "                                               or 0@hosta->3@hostb; "
    "--job: the\n"
    "                                               second is of another job\n"
    "       weft-info --collective NAME --ranks N [--nodes N] [--size N]\n"
    "                 [--algorithm NAME] [--root N] [--dot]\n"
    "                                               draws what the ranks do; "
    "--dot: for\n"
    "                                               graphviz\n"
    "       weft-info --tune [--seconds N]          measure this machine, "
    "print "
    "a\n"
    "                                               fragment of mpi.ini\n"
    "       weft-info --tune-collectives [--ranks N] [--collective NAME] "
    "[--seconds N]\n"
    "                                               the same for the "
    "algorithms "
    "of collectives\n"
    "       weft-info --table NAME|FILE...          C table of transports for "
    "a\n"
    "                                               static program; FILE: the "
    "object\n"
    "                                               or archive of one of your "
    "own\n"
    "       weft-info --embed FILE                  C text with this mpi.ini "
    "in\n"
    "                                               it, for a static program\n"
    "       weft-info --trace FILE...               the traces of ranks "
    "(core.trace),\n"
    "                                               merged by time\n"
    "       weft-info --version\n"
    "with   --ini FILE, --set section.key=value, --route \"LIST\" as for "
    "mpirun\n"
    "exit   0 good, 1 no route, 2 wrong use, 74 the output cannot be written,\n"
    "       78 the configuration is wrong\n";

static bool append_set(const char *value)
{
    char joined[8192];
    const char *old = getenv("WEFT_SET");
    int n = snprintf(joined, sizeof joined, "%s%s%s", old != NULL ? old : "",
                     old != NULL ? ";" : "", value);
    return n > 0 && (size_t)n < sizeof joined &&
           setenv("WEFT_SET", joined, 1) == 0;
}

/* Read the option argv[i] and its value; returns how many words were read, 0 if
 * it is unknown. */
static int take_option(struct arguments *a, int argc, char **argv, int i)
{
    const struct {
        const char *name;
        const char **value;
    } with_value[] = {{"--check", &a->check},
                      {"--explain", &a->explain.pair},
                      {"--size", &a->explain.size},
                      {"--comm", &a->explain.comm},
                      {"--kind", &a->explain.kind},
                      {"--job", &a->explain.job},
                      {"--embed", &a->embed},
                      {"--seconds", &a->seconds},
                      {"--collective", &a->draw.collective},
                      {"--ranks", &a->draw.ranks},
                      {"--nodes", &a->draw.nodes},
                      {"--algorithm", &a->draw.algorithm},
                      {"--root", &a->draw.root}};
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--json", &a->json},
                 {"--load", &a->load},
                 {"--tune", &a->tune},
                 {"--tune-collectives", &a->tune_collectives},
                 {"--functions", &a->functions},
                 {"--dot", &a->draw.dot},
                 {"--version", &a->version},
                 {"--help", &a->help},
                 {"-h", &a->help}};
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
        if (strcmp(argv[i], flags[k].name) == 0) {
            *flags[k].flag = true;
            return 1;
        }
    }
    for (size_t k = 0; k < sizeof with_value / sizeof with_value[0]; k++) {
        if (value != NULL && strcmp(argv[i], with_value[k].name) == 0) {
            *with_value[k].value = value;
            return 2;
        }
    }
    if (value != NULL && strcmp(argv[i], "--ini") == 0)
        return setenv("WEFT_INI", value, 1) == 0 ? 2 : 0;
    if (value != NULL && strcmp(argv[i], "--route") == 0)
        return setenv("WEFT_ROUTE", value, 1) == 0 ? 2 : 0;
    if (value != NULL && strcmp(argv[i], "--set") == 0)
        return append_set(value) ? 2 : 0;
    return 0;
}

/* Load the configuration as MPI_Init does, then report or explain. */
static int dispatch_command(const struct arguments *a)
{
    static struct info info; /* too large for a small stack */
    struct wf_config *config;
    int problems = wf_config_load(&config, stderr);
    if (problems < 0) {
        fprintf(stderr, "weft-info: %s\n", wf_error_last()->text);
        return EXIT_FAILURE;
    }
    if (config != NULL && a->draw.collective == NULL) {
        info_collect(&info, config, true, stderr);
        problems += info.problems;
    }
    if (problems > 0) {
        fprintf(stderr, "weft-info: %d problem%s in the configuration\n",
                problems, problems == 1 ? "" : "s");
        wf_config_free(config);
        return EXIT_CONFIG;
    }
    if (a->draw.collective != NULL) {
        int drawn = info_draw(wf_config_collectives(config), &a->draw);
        wf_config_free(config);
        return drawn;
    }
    info_probe(&info, info_explain_plans(&info, &a->explain));
    int rc = a->explain.pair != NULL ? info_explain(&info, &a->explain, a->json)
                                     : info_report(&info, a->json);
    wf_config_free(config);
    return rc;
}

/* Set the variables that mpirun sets for its ranks. */
static void set_installation(void)
{
    char path[PATH_MAX], moved[2 * PATH_MAX];
    if (wf_place_moved(moved, sizeof moved))
        setenv("WEFT_LAUNCHER_MOVED", moved, 1);
    if (wf_prefix_path(WF_PLUGINS_FROM_BIN, path, sizeof path))
        setenv("WEFT_LAUNCHER_PLUGINS", path, 1);
    if (wf_prefix_path(WF_INI_FROM_BIN, path, sizeof path))
        setenv("WEFT_LAUNCHER_INI", path, 1);
}

static int run_trace(char *const *files, int n)
{
    if (n > 0)
        return info_trace(files, n, stdout, stderr);
    fprintf(stderr, "weft-info: --trace needs the files of core.trace\n");
    return 2;
}

static int run_command(int argc, char **argv)
{
    struct arguments a = {.json = false};
    set_installation();
    if (argc > 1 && strcmp(argv[1], "--tune-rank") == 0)
        return info_tune_rank(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--tune-collective-rank") == 0)
        return info_tune_collective_rank(argc - 2, argv + 2);
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i], "--table") == 0)
            return info_table(argv + i + 1, argc - i - 1);
        if (strcmp(argv[i], "--trace") == 0)
            return run_trace(argv + i + 1, argc - i - 1);
        int n = take_option(&a, argc, argv, i);
        if (n == 0) {
            fprintf(stderr, "weft-info: '%s' is unknown or lacks its value\n%s",
                    argv[i], usage);
            return 2;
        }
        i += n;
    }
    a.draw.size = a.explain.size;
    if (a.help)
        return fputs(usage, stdout) < 0;
    if (a.version)
        return printf("weft %s\n", WEFT_VERSION) < 0;
    if (a.load && a.check == NULL) {
        fprintf(stderr, "weft-info: --load belongs to --check FILE; without "
                        "--check a trusted configuration is loaded anyway\n");
        return 2;
    }
    if (a.functions)
        return info_functions(a.json);
    if (a.tune_collectives)
        return info_tune_collectives(
            a.draw.ranks, a.draw.collective,
            a.seconds != NULL ? atof(a.seconds) : TUNE_SECONDS);
    if (a.tune)
        return info_tune(a.seconds != NULL ? atof(a.seconds) : TUNE_SECONDS);
    if (a.check != NULL)
        return info_check(a.check, a.load, a.json);
    if (a.embed != NULL)
        return info_embed(a.embed);
    return dispatch_command(&a);
}

/* Check the output; incomplete output is no success, whatever it was about. */
static int check_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "weft-info: cannot write to standard output: %s\n",
            strerror(errno));
    return EX_IOERR;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* write says EPIPE, and EFBIG */
    signal(SIGXFSZ, SIG_IGN);
    return check_output(run_command(argc, argv));
}

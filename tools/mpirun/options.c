/* This file reads the command line.
 *
 *   mpirun [options] program [args] [ : [options] program [args] ]...
 *
 * An option may have one dash or two, and its argument may follow as the next
 * word or after "=". "--" ends the options of a part. The first word that is
 * not an option is the program; everything after it belongs to it, up to ":".
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "options.h"

#include "binding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "starter.h"

enum { RANKS_MAX = 1000000, HOST_TIMEOUT_S = 10, TREE_WIDTH = 32 };

int wf_option_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("mpirun: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return OPTION_USAGE;
}

/* ---- which row -------------------------------------------------------- */

bool wf_option_is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(name, word, n) == 0;
}

static const struct option_row *find_row(const char *word, size_t n)
{
    for (const struct option_row *row = wf_option_table; row->take; row++)
        for (size_t i = 0; i < 6 && row->names[i]; i++)
            if (wf_option_is(word, n, row->names[i]))
                return row;
    return NULL;
}

/* Returns the number of edits (insert, delete, replace) that turn a into b,
 * both of which are short. */
static size_t edit_distance(const char *a, size_t n, const char *b)
{
    size_t m = strlen(b), row[64];
    if (n > 40 || m > 40)
        return 99;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

static int refuse_unknown(const char *word, size_t dashes, size_t n)
{
    const char *name = word + dashes, *nearest = NULL;
    size_t best = n <= 3 ? 2 : 3;
    for (const struct option_row *row = wf_option_table; row->take; row++) {
        for (size_t i = 0; i < 6 && row->names[i]; i++) {
            size_t d = edit_distance(name, n, row->names[i]);
            if (d < best && d < n) {
                best = d;
                nearest = row->names[i];
            }
        }
    }
    if (nearest)
        return wf_option_error("unknown option '%s'; did you mean '%.*s%s'?",
                               word, (int)dashes, word, nearest);
    return wf_option_error("unknown option '%s'; 'mpirun --help' lists them",
                           word);
}

/* ---- one part --------------------------------------------------------- */

/* Reads the option at argv[*i] and moves *i behind it. */
static int read_option(struct parse *p, int argc, char **argv, int *i)
{
    char *word = argv[*i], *args[2] = {NULL, NULL};
    size_t dashes = word[1] == '-' ? 2 : 1;
    size_t n = strcspn(word + dashes, "=");
    char *inlined = word[dashes + n] == '=' ? word + dashes + n + 1 : NULL;
    const struct option_row *row = find_row(word + dashes, n);
    if (!row)
        return refuse_unknown(word, dashes, n);
    int have = 0;
    p->option = word;
    if (inlined && row->args == 0)
        return wf_option_error("option '%.*s' takes no value",
                               (int)(dashes + n), word);
    if (inlined)
        args[have++] = inlined;
    while (have < row->args) {
        /* "-genv NAME=VALUE" needs no second word */
        if (have == 1 && strchr(args[0], '='))
            break;
        if (*i + 1 >= argc)
            return wf_option_error("option '%s' needs %s", word, row->form);
        args[have++] = argv[++*i];
    }
    ++*i;
    if (!p->of_ranks && row->scope == RANKS_ONLY)
        p->of_ranks = word;
    return row->take(p, args);
}

static void add_app(struct job *job, const struct app *app)
{
    job->apps = wf_job_check_memory(
        realloc(job->apps, (size_t)(job->app_count + 1) * sizeof(*job->apps)));
    job->apps[job->app_count++] = *app;
}

/* Read options, program and arguments of one part: argv[0..argc). */
static int read_part(struct parse *p, int argc, char **argv)
{
    int i = 0, before = p->job->app_count;
    p->app = &p->part;
    memset(p->app, 0, sizeof(*p->app));
    while (i < argc && argv[i][0] == '-' && argv[i][1]) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        int rc = read_option(p, argc, argv, &i);
        if (rc != OPTION_DONE)
            return rc;
    }
    if (i == argc && p->job->app_count > before)
        return OPTION_DONE; /* -configfile brought the programs */
    if (i == argc && (p->job->set.check_net || p->job->set.names)) {
        wf_env_forget(&p->part.env);
        return OPTION_DONE;
    }
    if (i == argc)
        return wf_option_error("no program given; 'mpirun --help' shows how");
    char **words =
        wf_job_check_memory(calloc((size_t)(argc - i) + 1, sizeof(*words)));
    memcpy(words, argv + i, (size_t)(argc - i) * sizeof(*words));
    p->part.argv = words;
    add_app(p->job, &p->part);
    return OPTION_DONE;
}

static int read_parts(struct parse *p, int argc, char **argv)
{
    int rc = OPTION_DONE, start = 0;
    for (int i = 0; i <= argc && rc == OPTION_DONE; i++) {
        if (i < argc && strcmp(argv[i], ":") != 0)
            continue;
        rc = read_part(p, i - start, argv + start);
        start = i + 1;
    }
    return rc;
}

/* Keep the words of a line of an argument file, which stay in use as long as
 * the job. */
static int keep_line(struct job *job, char **words)
{
    size_t n = (size_t)job->file_lines + 1;
    char ***lines = realloc(job->file_words, n * sizeof *lines);

    if (!lines)
        return wf_option_error("out of memory");
    lines[job->file_lines++] = words;
    job->file_words = lines;
    return OPTION_DONE;
}

int wf_option_file(struct parse *p, const char *path)
{
    struct parse inner = {.job = p->job};
    int rc = OPTION_DONE;
    bool bad = false;
    FILE *file = fopen(path, "r");
    if (!file)
        return wf_option_error("cannot read %s: %m", path);
    for (char **words; rc == OPTION_DONE &&
                       (words = wf_argfile_line(file, &bad)) != NULL;) {
        int n = 0;
        while (words[n])
            n++;
        rc = keep_line(p->job, words);
        if (n && rc == OPTION_DONE)
            rc = read_parts(&inner, n, words);
    }
    fclose(file);
    if (rc == OPTION_DONE && bad)
        return wf_option_error("%s: a quote is not closed", path);
    return rc;
}

/* ---- the whole -------------------------------------------------------- */

static int available_cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? n : 1;
}

/* Returns the ranks of a part that does not say how many; 0 after a message if
 * that is refused. */
static int usual_count(const struct job *job)
{
    const struct placement *p = &job->set.place;
    int hosts = job->set.nodes ? job->set.nodes : job->hosts.count;

    if (job->app_count > 1)
        return 1;
    if (p->per_node)
        return p->per_node * (hosts ? hosts : 1);
    if (p->per && wf_host_elsewhere(&job->hosts)) {
        wf_option_error(
            "--map-by %s needs -n: only the other hosts know how many "
            "such places they have",
            p->map_text);
        return 0;
    }
    if (job->hosts.count && !p->per)
        return wf_host_slots(&job->hosts);
    return p->per || p->width || p->cpus ? wf_binding_count(p)
                                         : available_cpus();
}

/* Count the ranks of one part of the command line and the processes that hold
 * them; only the last process may hold fewer than the others. */
static long count_part(struct job *job, struct app *app, long before)
{
    if (app->count == 0)
        app->count = usual_count(job);
    if (app->each == 0)
        app->each = 1;
    app->first = (int)before;
    app->first_process = job->count;
    app->processes = (app->count + app->each - 1) / app->each;
    job->count += app->processes;
    return before + app->count;
}

static int count_ranks(struct job *job)
{
    long total = 0;
    int cpus = available_cpus();
    for (int a = 0; a < job->app_count && total <= RANKS_MAX; a++)
        total = count_part(job, &job->apps[a], total);
    if (total > RANKS_MAX)
        return wf_option_error("%ld ranks are more than a job can have",
                               total);
    job->size = (int)total;
    if (total == 0)
        return OPTION_USAGE;
    if (job->set.place.refuse_more && !job->hosts.count && job->size > cpus)
        return wf_option_error("%d ranks on %d processors refused by "
                               "--nooversubscribe",
                               job->size, cpus);
    if (job->set.nodes > job->count)
        return wf_option_error("--nodes %d needs at least as many processes, "
                               "not %d", job->set.nodes, job->count);
    if (job->set.stdin_rank >= job->size)
        return wf_option_error("--stdin %d: ranks are 0..%d",
                               job->set.stdin_rank, job->size - 1);
    return OPTION_DONE;
}

/* Set MPI_UNIVERSE_SIZE, unless an option did: there is room for as many
 * processes as the hosts have slots, or this one has processors. Before the
 * list of hosts is completed, so that it has the slots that were given. */
static void set_universe(struct job *job)
{
    int room = job->hosts.count && !job->set.nodes ? wf_host_slots(&job->hosts)
                                                   : available_cpus();

    if (!job->set.universe)
        job->set.universe = room > job->size ? room : job->size;
}

/* Take the hosts of the batch system unless the command line names others, and
 * its way to start agents. */
static int take_allocation(struct job *job)
{
    job->set.allocation = wf_allocation_of();
    if (job->hosts.count || job->set.nodes)
        return OPTION_DONE;
    return wf_allocation_read(job->set.allocation, &job->hosts) < 0
               ? OPTION_USAGE
               : OPTION_DONE;
}

/* Make the n-th of the hosts that --nodes makes of this one: equal parts, the
 * first ones with one more. */
static bool pretend_host(struct job *job, int n)
{
    int nodes = job->set.nodes;
    struct host *h = wf_host_append(&job->hosts, "localhost", 9);

    if (!h)
        return false;
    h->slots = job->count / nodes + (n < job->count % nodes);
    h->here = !job->set.starter_given;
    return true;
}

/* Complete the list of hosts: without one there is only this host, which
 * --nodes may divide. */
static int complete_hosts(struct job *job)
{
    char own[256] = "";

    if (job->set.nodes && wf_host_elsewhere(&job->hosts))
        return wf_option_error(
            "--nodes makes several hosts of this one; --host "
            "names others");
    if (job->set.nodes)
        job->hosts.count = 0;
    for (int i = 0; i < job->set.nodes; i++)
        if (!pretend_host(job, i))
            return wf_option_error("out of memory");
    (void)gethostname(own, sizeof(own) - 1);
    if (job->hosts.count == 0 &&
        !wf_host_add(&job->hosts, own[0] ? own : "localhost",
                     strlen(own[0] ? own : "localhost"), job->count))
        return wf_option_error("out of memory");
    return OPTION_DONE;
}

static int set_defaults(struct job *job)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    job->set.umask = (int)mask;
    if (!job->set.starter)
        job->set.starter = wf_starter_command(
            wf_allocation_starter(job->set.allocation));
    if (job->set.host_timeout == 0)
        job->set.host_timeout = HOST_TIMEOUT_S;
    if (job->set.tree_width == 0)
        job->set.tree_width = TREE_WIDTH;
    job->set.agent = wf_starter_agent(job->set.prefix);
    return job->set.agent ? OPTION_DONE : wf_option_error("out of memory");
}

/* Refuse what --npernode and --nooversubscribe do not allow. */
static int check_places(const struct job *job)
{
    const struct placement *p = &job->set.place;
    const struct host *full;

    if (p->per_node && !p->cyclic &&
        job->count > (long)p->per_node * job->hosts.count)
        return wf_option_error("%d processes are more than %d on each of %d "
                               "host%s; -ppn %d begins at the first again",
                               job->count, p->per_node, job->hosts.count,
                               job->hosts.count == 1 ? "" : "s", p->per_node);
    full = p->refuse_more && !job->set.nodes ? wf_map_overfull(job) : NULL;
    if (full)
        return wf_option_error("more processes than the %d slots of host %s "
                               "refused by --nooversubscribe", full->slots,
                               full->name);
    return OPTION_DONE;
}

/* Make the job of --check-net: one process on each host. */
static int check_net(const struct parse *p)
{
    struct job *job = p->job;
    struct app app = {.count = job->set.nodes ? job->set.nodes
                                              : job->hosts.count};
    char **words;

    if (job->app_count || app.count < 2)
        return wf_option_error("--check-net starts no program, and needs two "
                               "hosts at least");
    if (p->of_ranks)
        return wf_option_error("%.*s is for ranks, and --check-net starts one "
                               "process on each host and no rank: leave it out",
                               (int)strcspn(p->of_ranks, "="), p->of_ranks);
    words = wf_job_check_memory(calloc(4, sizeof *words));
    words[0] = wf_job_check_memory(strdup("mpirun"));
    words[1] = wf_job_check_memory(strdup("--net-probe"));
    words[2] = wf_job_check_memory(strdup(job->set.check_net));
    app.argv = words;
    for (int i = 0; i < job->hosts.count; i++)
        job->hosts.all[i].slots = 1;
    add_app(job, &app);
    return OPTION_DONE;
}

/* Make the job of --names alone: one process, which does nothing. */
static void make_idle(struct job *job)
{
    struct app app = {.count = 1};

    app.argv = wf_job_check_memory(calloc(3, sizeof *app.argv));
    app.argv[0] = wf_job_check_memory(strdup("mpirun"));
    app.argv[1] = wf_job_check_memory(strdup("--idle"));
    app.program = wf_job_check_memory(wf_starter_agent(NULL));
    add_app(job, &app);
}

/* Draw the conclusions from all options together. */
static int conclude_options(const struct parse *p)
{
    struct job *job = p->job;
    int rc = take_allocation(job);

    if (rc == OPTION_DONE && job->set.check_net)
        rc = check_net(p);
    else if (rc == OPTION_DONE && job->set.names && !job->app_count)
        make_idle(job);
    wf_output_conclude(&job->set.output);
    if (rc == OPTION_DONE)
        rc = count_ranks(job);
    set_universe(job);
    if (rc == OPTION_DONE)
        rc = complete_hosts(job);
    if (rc == OPTION_DONE)
        rc = set_defaults(job);
    if (rc == OPTION_DONE && wf_map_make(job) < 0)
        rc = wf_option_error("out of memory");
    return rc == OPTION_DONE ? check_places(job) : rc;
}

int wf_option_parse(struct job *job, int argc, char **argv)
{
    struct parse p = {.job = job};
    if (argc <= 1) {
        wf_option_error("no program given, for example: mpirun -n 4 ./program");
        return OPTION_USAGE;
    }
    int rc = read_parts(&p, argc - 1, argv + 1);
    return rc == OPTION_DONE ? conclude_options(&p) : rc;
}

/* ---- help ------------------------------------------------------------- */

void wf_option_help(void)
{
    char left[80];
    puts("mpirun [options] program [args] [ : [options] program [args] ]...\n"
         "Starts a parallel program, on this host or others. Options take one "
         "dash or two,\nand \"--opt value\" or \"--opt=value\".\n");
    for (const struct option_row *row = wf_option_table; row->take; row++) {
        if (!row->help)
            continue;
        int n = 0;
        for (size_t i = 0; i < 3 && row->names[i]; i++)
            n += snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s",
                          i ? ", " : "", row->names[i][1] ? "--" : "-",
                          row->names[i]);
        snprintf(left + n, sizeof(left) - (size_t)n, " %s",
                 row->args ? row->form : "");
        printf("  %-34s %s\n", left, row->help);
    }
    puts("\nSIGUSR1 to mpirun prints in which MPI call each rank waits, for "
         "whom "
         "and since when,\nas --timeout does; SIGUSR1 and SIGUSR2 also go to "
         "those processes that catch them.\n");
    puts("Exit status: 0 if every rank's is 0, else that of the lowest rank "
         "that failed,\nor else of the first spawned job that failed; "
         "128 + signal; 74 if only the output\ncould not be written; 124 after "
         "--timeout; 126 or 127 if a program cannot be run.");
}

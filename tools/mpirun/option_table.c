/* This table has every option of mpirun, in the order of the help.
 *
 * Names of other launchers are accepted where one host can honour them; where
 * it cannot, the message says what does.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi.h"
#include "options.h"
#include "probe.h"
#include "starter.h"

static bool read_integer(const char *text, long low, long high, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < low || n > high)
        return false;
    *out = (int)n;
    return true;
}

static int take_count(struct parse *p, char **args)
{
    if (!read_integer(args[0], 1, 1000000, &p->app->count))
        return wf_option_error("%s %s: the number of ranks is at least 1",
                               p->option, args[0]);
    return OPTION_DONE;
}

static int take_each(struct parse *p, char **args)
{
    if (!read_integer(args[0], 1, 16384, &p->app->each))
        return wf_option_error("%s %s: a process holds 1 to 16384 ranks",
                               p->option, args[0]);
    return OPTION_DONE;
}

static int take_wdir(struct parse *p, char **args)
{
    p->app->wdir = args[0];
    return OPTION_DONE;
}

/* ---- configuration of Weft -------------------------------------------- */

static int take_route(struct parse *p, char **args)
{
    p->job->set.route = args[0];
    return OPTION_DONE;
}

static int take_set(struct parse *p, char **args)
{
    struct settings *s = &p->job->set;
    const char *before = s->set ? s->set : getenv("WEFT_SET");
    const char *equals = strchr(args[0], '='), *dot = strchr(args[0], '.');
    char *text;
    if (!equals || !dot || dot > equals)
        return wf_option_error("%s %s: write it as section.key=value",
                               p->option, args[0]);
    if (asprintf(&text, "%s%s%s", before && *before ? before : "",
                 before && *before ? "; " : "", args[0]) < 0)
        return wf_option_error("out of memory");
    free(s->set);
    s->set = text;
    return OPTION_DONE;
}

static int take_ini(struct parse *p, char **args)
{
    char *path = strcmp(args[0], "-") == 0 ? args[0] : realpath(args[0], NULL);
    if (!path)
        return wf_option_error("%s %s: %m", p->option, args[0]);
    p->job->set.ini = path; /* absolute: ranks may start elsewhere */
    return OPTION_DONE;
}

static int take_nodes(struct parse *p, char **args)
{
    if (!read_integer(args[0], 1, 1000000, &p->job->set.nodes))
        return wf_option_error("%s %s: the number of nodes is at least 1",
                               p->option, args[0]);
    return OPTION_DONE;
}

/* ---- input and output ------------------------------------------------- */

static int take_stdin(struct parse *p, char **args)
{
    int *rank = &p->job->set.stdin_rank;
    if (strcmp(args[0], "all") == 0)
        *rank = STDIN_ALL;
    else if (strcmp(args[0], "none") == 0)
        *rank = STDIN_NONE;
    else if (!read_integer(args[0], 0, 1000000, rank))
        return wf_option_error("%s %s: a rank, all or none", p->option,
                               args[0]);
    return OPTION_DONE;
}

static int take_quiet(struct parse *p, char **args)
{
    p->job->set.quiet = true;
    return OPTION_DONE;
}

static int take_verbose(struct parse *p, char **args)
{
    p->job->set.verbose = true;
    return OPTION_DONE;
}

/* ---- ending ----------------------------------------------------------- */

static int take_timeout(struct parse *p, char **args)
{
    char *end;
    p->job->set.timeout = strtod(args[0], &end);
    if (end == args[0] || *end || !(p->job->set.timeout > 0) ||
        p->job->set.timeout > 1e9)
        return wf_option_error("%s %s: a number of seconds above 0", p->option,
                               args[0]);
    return OPTION_DONE;
}

static int take_keep_going(struct parse *p, char **args)
{
    p->job->set.keep_going = true;
    return OPTION_DONE;
}

static int take_exit_codes(struct parse *p, char **args)
{
    p->job->set.all_exit_codes = true;
    return OPTION_DONE;
}

/* Accept an option that asks for what mpirun always does. */
static int take_nothing(struct parse *p, char **args)
{
    return OPTION_DONE;
}

static int take_universe(struct parse *p, char **args)
{
    if (!read_integer(args[0], 1, 1000000000, &p->job->set.universe))
        return wf_option_error("%s %s: a number above 0", p->option, args[0]);
    return OPTION_DONE;
}

/* ---- hosts ------------------------------------------------------------ */

/* Add a host, given as name or name:slots. */
static int add_host(struct parse *p, const char *name, size_t n, int slots)
{
    const char *colon = memrchr(name, ':', n);
    char number[16] = "";

    if (colon && memchr(name, ':', n) == colon) { /* else it is of IPv6 */
        size_t digits = n - (size_t)(colon - name) - 1;
        if (digits < sizeof number)
            memcpy(number, colon + 1, digits);
        if (!read_integer(number, 1, 100000, &slots))
            return wf_option_error("%s %.*s: name:slots, slots above 0",
                                   p->option, (int)n, name);
        n = (size_t)(colon - name);
    }
    if (n && !wf_host_add(&p->job->hosts, name, n, slots))
        return wf_option_error("out of memory");
    return OPTION_DONE;
}

static int take_hosts(struct parse *p, char **args)
{
    int rc = OPTION_DONE;
    for (const char *at = args[0]; *at && rc == OPTION_DONE;) {
        size_t n = strcspn(at, ",");
        rc = add_host(p, at, n, 1);
        at += n + (at[n] == ',');
    }
    return rc;
}

/* The lines are "name", "name:4" or "name slots=4". */
static int take_hostfile(struct parse *p, char **args)
{
    char line[1024];
    int rc = OPTION_DONE;
    FILE *file = fopen(args[0], "r");
    if (!file)
        return wf_option_error("cannot read the host file %s: %m", args[0]);
    while (rc == OPTION_DONE && fgets(line, sizeof(line), file)) {
        char *name = line + strspn(line, " \t"), *more;
        size_t n = strcspn(name, " \t\r\n#");
        int slots = 1;
        line[strcspn(line, "#")] = '\0';
        more = strstr(line, "slots=");
        if (more && atoi(more + 6) > 0)
            slots = atoi(more + 6);
        rc = add_host(p, name, n, slots);
    }
    fclose(file);
    return rc;
}

/* ---- agents ----------------------------------------------------------- */

static int take_launcher_exec(struct parse *p, char **args)
{
    if (!args[0][strspn(args[0], " ")])
        return wf_option_error("%s: name a command that starts an agent",
                               p->option);
    if (strstr(args[0], "%r"))
        return wf_option_error(
            "%s '%s': one agent starts all ranks of a host, so "
            "there is no %%r; there are %%h and %%n",
            p->option, args[0]);
    p->job->set.starter = args[0];
    p->job->set.starter_given = true;
    return OPTION_DONE;
}

static int take_launcher(struct parse *p, char **args)
{
    char names[64];
    p->job->set.starter = wf_starter_command(args[0]);
    if (p->job->set.starter)
        return OPTION_DONE;
    wf_starter_names(names, sizeof(names));
    return wf_option_error(
        "%s %s: there are %s; --launcher-exec takes a command", p->option,
        args[0], names);
}

static int take_prefix(struct parse *p, char **args)
{
    if (args[0][0] != '/')
        return wf_option_error(
            "%s %s: name a directory of the other hosts from "
            "the root",
            p->option, args[0]);
    p->job->set.prefix = args[0];
    return OPTION_DONE;
}

static int take_seconds(struct parse *p, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out > 0) || *out > 1e6)
        return wf_option_error("%s %s: a number of seconds above 0", p->option,
                               text);
    return OPTION_DONE;
}

static int take_host_timeout(struct parse *p, char **args)
{
    return take_seconds(p, args[0], &p->job->set.host_timeout);
}

static int take_wait_hosts(struct parse *p, char **args)
{
    return take_seconds(p, args[0], &p->job->set.wait_hosts);
}

static int take_tree_width(struct parse *p, char **args)
{
    if (!read_integer(args[0], 1, 1000, &p->job->set.tree_width))
        return wf_option_error("%s %s: 1 to 1000 hosts", p->option, args[0]);
    return OPTION_DONE;
}

static int take_check_net(struct parse *p, char **args)
{
    if (!p->job->set.check_net)
        p->job->set.check_net = "0";
    return OPTION_DONE;
}

/* The value is such as "5000-5010,6000". */
static int take_check_ports(struct parse *p, char **args)
{
    int count = 0;
    for (const char *at = args[0]; *at;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end > at && *end == '-')
            last = strtol(end + 1, &end, 10);
        count += last < first || last - first >= PROBE_PORTS
                     ? PROBE_PORTS + 1 : (int)(last - first) + 1;
        if (end == at || first < 1 || last > 65535 || count > PROBE_PORTS ||
            (*end && (*end != ',' || !end[1])))
            return wf_option_error("%s %s: at most %d ports, as 5000-5010,6000",
                                   p->option, args[0], PROBE_PORTS);
        at = *end ? end + 1 : end;
    }
    if (!count)
        return wf_option_error("%s: name ports, as 5000-5010", p->option);
    p->job->set.check_net = args[0];
    return OPTION_DONE;
}

static int take_names(struct parse *p, char **args)
{
    p->job->set.names = args[0];
    return OPTION_DONE;
}

/* ---- files, help ------------------------------------------------------ */

static int take_file(struct parse *p, char **args)
{
    return wf_option_file(p, args[0]);
}

static int take_mca(struct parse *p, char **args)
{
    static const struct {
        const char *key, *here;
    } hints[] = {
        {"btl_tcp_if_include", "--set transport.tcp.interface="},
        {"oob_tcp_if_include", "--set transport.tcp.interface="},
        {"btl", "--route \"shm tcp\""},
        {"pml", "--route \"shm tcp\""},
        {"mpi_yield_when_idle", "nothing: idle ranks sleep"},
        {"rmaps_base_oversubscribe", "nothing: it is always allowed"},
    };
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strcmp(args[0], hints[i].key) == 0)
            return wf_option_error("%s %s is Open MPI's; here it is %s",
                                   p->option, args[0], hints[i].here);
    return wf_option_error("%s %s is Open MPI's; Weft takes --set "
                           "section.key=value, and weft-info lists the keys",
                           p->option, args[0]);
}

static int take_version(struct parse *p, char **args)
{
    printf("mpirun (Weft) %s, MPI %d.%d\n", WEFT_VERSION, MPI_VERSION,
           MPI_SUBVERSION);
    return 0;
}

static int take_help(struct parse *p, char **args)
{
    wf_option_help();
    return 0;
}

const struct option_row wf_option_table[] = {
    {{"n", "np", "c"}, 1, "N", "number of ranks; without it one per processor",
     take_count, RANKS_ONLY},
    {{"wdir", "wd", "cwd"}, 1, "DIR", "start the ranks in this directory",
     take_wdir, RANKS_ONLY},
    {{"x"}, 1, "VAR[=VALUE]", "pass or set a variable for all ranks",
     wf_take_x, ANY_JOB},
    {{"genv"}, 2, "VAR VALUE", "set a variable for all ranks",
     wf_take_genv, ANY_JOB},
    {{"env"}, 2, "VAR VALUE", "set a variable for this program",
     wf_take_env, RANKS_ONLY},
    {{"genvlist"}, 1, "VAR,VAR", "pass only these variables",
     wf_take_genvlist, ANY_JOB},
    {{"envlist"}, 1, "VAR,VAR", "the same for this program",
     wf_take_envlist, RANKS_ONLY},
    {{"genvall"}, 0, "", "pass the whole environment (default)",
     wf_take_genvall, ANY_JOB},
    {{"genvnone"}, 0, "", "pass none of the environment",
     wf_take_genvnone, ANY_JOB},
    {{"envall"}, 0, "", "the same for this program",
     wf_take_envall, RANKS_ONLY},
    {{"envnone"}, 0, "", "the same for this program",
     wf_take_envnone, RANKS_ONLY},
    {{"route"}, 1, "\"T T\"", "use these transports for every pair",
     take_route, ANY_JOB},
    {{"set"}, 1, "SECTION.KEY=VALUE", "override one setting of mpi.ini",
     take_set, ANY_JOB},
    {{"ini", "config"}, 1, "FILE", "read this mpi.ini; - for none",
     take_ini, ANY_JOB},
    {{"ranks-per-process"}, 1, "N", "ranks are threads, N in each process",
     take_each, RANKS_ONLY},
    {{"nodes"}, 1, "N", "make this host look like N hosts",
     take_nodes, ANY_JOB},
    {{"stdin", "s"}, 1, "RANK|all|none",
     "the rank that reads standard input (0)",
     take_stdin, RANKS_ONLY},
    {{"l", "tag-output", "prepend-rank"}, 0, "",
     "write [rank] before each line",
     wf_take_tag, ANY_JOB},
    {{"prepend-pattern"}, 1, "TEXT",
     "write TEXT before each line: %r rank, %h host", wf_take_prefix, ANY_JOB},
    {{"timestamp-output"}, 0, "", "write the time before each line",
     wf_take_time, ANY_JOB},
    {{"merge-stderr-to-stdout"}, 0, "", "write both streams to standard output",
     wf_take_merge, ANY_JOB},
    {{"output-filename", "output-directory"}, 1, "DIR[:nocopy]",
     "write into DIR/1/rank.N/stdout and stderr, too", wf_take_folder, ANY_JOB},
    {{"outfile-pattern"}, 1, "FILE",
     "write standard output into FILE: %r rank, %h host",
     wf_take_out_pattern, ANY_JOB},
    {{"errfile-pattern"}, 1, "FILE",
     "write standard error into FILE: %r rank, %h host",
     wf_take_err_pattern, ANY_JOB},
    {{"timeout"}, 1, "SECONDS", "end the job after SECONDS, with status 124",
     take_timeout, ANY_JOB},
    {{"continuous", "no-abort-on-error", "disable-auto-cleanup",
      "enable-recovery"},
     0, "", "a rank that fails does not end the others",
     take_keep_going, ANY_JOB},
    {{"print-all-exitcodes"}, 0, "", "print the status of each rank at the end",
     take_exit_codes, ANY_JOB},
    {{"N", "npernode"}, 1, "N", "N ranks on each host",
     wf_take_per_node, RANKS_ONLY},
    {{"ppn", "perhost", "grr"}, 1, "N",
     "N ranks on each host; more begin at the first again",
     wf_take_per_host, RANKS_ONLY},
    {{"npersocket"}, 1, "N", "N ranks on each socket",
     wf_take_per_socket, RANKS_ONLY},
    {{"map-by"}, 1, "PLACE[:PE=N]",
     "give ranks slots, nodes, sockets, ... in turn; ppr:N:PLACE: N in each",
     wf_take_map, RANKS_ONLY},
    {{"rank-by"}, 1, "PLACE", "number the ranks over these places",
     wf_take_rank_by, RANKS_ONLY},
    {{"bind-to"}, 1, "none|PLACE|share|list:CPUS",
     "bind each rank to a core, l3cache, numa, socket, ...",
     wf_take_bind, RANKS_ONLY},
    {{"cpu-set", "cpu-list"}, 1, "CPUS", "use only these processors of a host",
     wf_take_cpus, RANKS_ONLY},
    {{"cpus-per-rank", "cpus-per-proc"}, 1, "N", "as --map-by :PE=N",
     wf_take_width, RANKS_ONLY},
    {{"use-hwthread-cpus"}, 0, "", "a hardware thread is a processor",
     wf_take_threads, RANKS_ONLY},
    {{"report-bindings"}, 0, "", "print the processors of each rank",
     wf_take_report_bindings, RANKS_ONLY},
    {{"display-map", "show-map"}, 0, "", "print where each rank runs",
     wf_take_show_map, ANY_JOB},
    {{"dry-run", "do-not-launch"}, 0, "",
     "print where each rank would run; start nothing",
     wf_take_dry_run, ANY_JOB},
    {{"nooversubscribe"}, 0, "", "refuse more ranks than slots or processors",
     wf_take_no_oversubscribe, RANKS_ONLY},
    {{"usize"}, 1, "N", "MPI_UNIVERSE_SIZE (usually slots or processors)",
     take_universe, RANKS_ONLY},
    {{"configfile", "app"}, 1, "FILE",
     "read options and programs, one part per line",
     take_file, ANY_JOB},
    {{"H", "host", "hosts", "hostlist"}, 1, "A:N,B:N",
     "run N ranks on each of these hosts (1)", take_hosts, ANY_JOB},
    {{"f", "hostfile", "machinefile", "default-hostfile"}, 1, "FILE",
     "read the hosts from FILE", take_hostfile, ANY_JOB},
    {{"launcher", "bootstrap"}, 1, "NAME",
     "start agents by ssh, rsh, srun, blaunch, qrsh, pbs_tmrsh",
     take_launcher, ANY_JOB},
    {{"launcher-exec"}, 1, "CMD",
     "start agents by CMD; %h is the host, %n its number",
     take_launcher_exec, ANY_JOB},
    {{"prefix"}, 1, "DIR", "where Weft is on other hosts (as here)",
     take_prefix, ANY_JOB},
    {{"host-timeout"}, 1, "SECONDS", "time limit for a host to answer (10)",
     take_host_timeout, ANY_JOB},
    {{"wait-hosts"}, 1, "SECONDS", "try again for so long to reach a host (0)",
     take_wait_hosts, ANY_JOB},
    {{"tree-width"}, 1, "N", "with more hosts, agents start agents (32)",
     take_tree_width, ANY_JOB},
    {{"check-net"}, 0, "",
     "start no program; print which hosts are unreachable",
     take_check_net, ANY_JOB},
    {{"check-ports"}, 1, "A-B,C", "check these ports only (any)",
     take_check_ports, ANY_JOB},
    {{"names"}, 1, "[HOST:]PORT",
     "keep published names for jobs of other launchers", take_names, ANY_JOB},
    {{"report-pid"}, 1, "-|+|FILE",
     "write the pid of mpirun to stdout, stderr or FILE",
     wf_take_report_pid, ANY_JOB},
    {{"q", "quiet"}, 0, "", "print nothing when a rank fails",
     take_quiet, ANY_JOB},
    {{"v", "verbose"}, 0, "", "print what is started and ended",
     take_verbose, ANY_JOB},
    {{"V", "version"}, 0, "", "print the version", take_version, ANY_JOB},
    {{"h", "help"}, 0, "", "print this help", take_help, ANY_JOB},
    /* accepted for the scripts that have them */
    {{"allow-run-as-root", "localonly"}, 0, "", NULL, take_nothing, ANY_JOB},
    {{"oversubscribe"}, 0, "", NULL, wf_take_oversubscribe, ANY_JOB},
    {{"rr"}, 0, "", NULL, wf_take_in_turn, RANKS_ONLY},
    {{"bynode"}, 0, "", NULL, wf_take_by_node, RANKS_ONLY},
    {{"byslot"}, 0, "", NULL, wf_take_by_slot, RANKS_ONLY},
    {{"display"}, 1, "map,bind", NULL, wf_take_display, ANY_JOB},
    {{"output"}, 1, "tag,timestamp,merge,dir=DIR", NULL,
     wf_take_output, ANY_JOB},
    {{"xml"}, 0, "", NULL, wf_take_xml, ANY_JOB},
    {{"rmk"}, 1, "NAME", NULL, take_nothing, ANY_JOB},
    {{"mca", "gmca", "prtemca", "pmixmca"}, 2, "KEY VALUE", NULL,
     take_mca, ANY_JOB},
    {{NULL}, 0, NULL, NULL, NULL, ANY_JOB},
};

/* This header has the table of command line options and what the functions of a
 * row may use.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_OPTIONS_H
#define WF_MPIRUN_OPTIONS_H

#include "job.h"

enum { OPTION_DONE = -1, OPTION_USAGE = 2 };

struct parse {
    struct job *job;
    struct app part;    /* being read */
    struct app *app;    /* = &part */
    const char *option; /* as the user wrote it */
    const char *of_ranks; /* the first that is for ranks; NULL: none */
};

/* A row is one option. names are without dashes; the first is shown in the
 * help. */
struct option_row {
    const char *names[6];
    int args;         /* 0, 1 or 2 */
    const char *form; /* of the argument, for the help; NULL: hidden row */
    const char *help;
    /* Takes the option's arguments; returns OPTION_DONE to go on, or the exit
     * status. */
    int (*take)(struct parse *, char **args);
    enum { ANY_JOB, RANKS_ONLY } scope; /* RANKS_ONLY: not with --check-net */
};

extern const struct option_row wf_option_table[];

typedef int option_take(struct parse *, char **args);
/* option_environ.c */
option_take wf_take_x, wf_take_genv, wf_take_env, wf_take_genvlist,
    wf_take_envlist, wf_take_genvall, wf_take_genvnone, wf_take_envall,
    wf_take_envnone;
/* option_place.c */
option_take wf_take_map, wf_take_rank_by, wf_take_bind, wf_take_cpus,
    wf_take_by_node, wf_take_by_slot, wf_take_per_node, wf_take_per_host,
    wf_take_in_turn, wf_take_per_socket, wf_take_width, wf_take_threads,
    wf_take_oversubscribe, wf_take_no_oversubscribe, wf_take_report_bindings,
    wf_take_show_map, wf_take_dry_run, wf_take_display;
/* option_output.c */
option_take wf_take_tag, wf_take_prefix, wf_take_time, wf_take_merge,
    wf_take_folder, wf_take_out_pattern, wf_take_err_pattern, wf_take_output,
    wf_take_xml, wf_take_report_pid;

void wf_option_help(void);
/* Returns whether the n bytes at word are this name. */
bool wf_option_is(const char *word, size_t n, const char *name);
/* Print "mpirun: text" to stderr; returns OPTION_USAGE. */
int wf_option_error(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Read argument sets, one per line, as if they stood between ":". */
int wf_option_file(struct parse *, const char *path);

#endif

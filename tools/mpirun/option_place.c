/* These options choose where ranks run, in the spellings of both launchers.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <string.h>

#include "options.h"

typedef bool reader(struct placement *, const char *text, char *error);

static int read_with(struct parse *p, reader *read, const char *text)
{
    char error[PLACEMENT_ERROR_MAX];

    if (read(&p->job->set.place, text, error))
        return OPTION_DONE;
    return wf_option_error("%s %s: %s", p->option, text, error);
}

int wf_take_map(struct parse *p, char **args)
{
    return read_with(p, wf_placement_map, args[0]);
}

int wf_take_rank_by(struct parse *p, char **args)
{
    return read_with(p, wf_placement_rank, args[0]);
}

int wf_take_bind(struct parse *p, char **args)
{
    return read_with(p, wf_placement_bind, args[0]);
}

int wf_take_cpus(struct parse *p, char **args)
{
    return read_with(p, wf_placement_cpus, args[0]);
}

int wf_take_by_node(struct parse *p, char **args)
{
    return read_with(p, wf_placement_map, "node");
}

int wf_take_by_slot(struct parse *p, char **args)
{
    return read_with(p, wf_placement_map, "slot");
}

/* Read a number that is part of the value of --map-by. */
static int map_number(struct parse *p, const char *format, const char *number)
{
    char *text = p->job->set.place.made_text;
    size_t n = strlen(number);

    if (n == 0 || n > 9 || number[strspn(number, "0123456789")])
        return wf_option_error("%s %s: a number above 0", p->option, number);
    snprintf(text, PLACEMENT_MADE_MAX, format, number);
    return read_with(p, wf_placement_map, text);
}

int wf_take_per_node(struct parse *p, char **args)
{
    return map_number(p, "ppr:%s:node", args[0]);
}

/* This has the meaning of MPICH and Intel MPI: more ranks begin at the first
 * host again. */
int wf_take_per_host(struct parse *p, char **args)
{
    int rc = wf_take_per_node(p, args);

    p->job->set.place.cyclic = true;
    return rc;
}

int wf_take_in_turn(struct parse *p, char **args)
{
    char one[] = "1", *number[] = {one};

    return wf_take_per_host(p, number);
}

int wf_take_per_socket(struct parse *p, char **args)
{
    return map_number(p, "ppr:%s:socket", args[0]);
}

int wf_take_width(struct parse *p, char **args)
{
    return map_number(p, ":PE=%s", args[0]);
}

int wf_take_threads(struct parse *p, char **args)
{
    p->job->set.place.by_thread = true;
    return OPTION_DONE;
}

int wf_take_oversubscribe(struct parse *p, char **args)
{
    p->job->set.place.refuse_more = false;
    return OPTION_DONE;
}

int wf_take_no_oversubscribe(struct parse *p, char **args)
{
    p->job->set.place.refuse_more = true;
    return OPTION_DONE;
}

/* ---- showing it ---------------------------------------------------------- */

int wf_take_report_bindings(struct parse *p, char **args)
{
    p->job->set.report_bindings = true;
    return OPTION_DONE;
}

int wf_take_show_map(struct parse *p, char **args)
{
    p->job->set.place.show_map = true;
    return OPTION_DONE;
}

int wf_take_dry_run(struct parse *p, char **args)
{
    p->job->set.place.dry_run = true;
    return OPTION_DONE;
}

/* This is --display of Open MPI 5. */
int wf_take_display(struct parse *p, char **args)
{
    for (const char *at = args[0]; *at;) {
        size_t n = strcspn(at, ",:");
        if (n == 3 && strncmp(at, "map", n) == 0)
            p->job->set.place.show_map = true;
        else if (n == 4 && strncmp(at, "bind", n) == 0)
            p->job->set.report_bindings = true;
        else
            return wf_option_error("%s %.*s: there are map and bind", p->option,
                                   (int)n, at);
        at += n + (at[n] != '\0');
    }
    return OPTION_DONE;
}

/* This file reads the hosts of an allocation in the form of each batch system:
 * see allocation.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "allocation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "config/pattern.h"
#include "config/select.h"
#include "config/pattern.h"

enum { NAME_MOST = 256, SLOTS_MOST = 100000 };

static const char *value_of(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value ? value : NULL;
}

static int refuse_variable(const char *variable, const char *why)
{
    wf_option_error("%s is '%s': %s; --host or --hostfile says where ranks run",
                    variable, value_of(variable), why);
    return -1;
}

static int add_host(struct host_list *list, const char *name, size_t n,
                    long slots)
{
    if (wf_host_add(list, name, n, (int)slots))
        return 0;
    wf_option_error("out of memory");
    return -1;
}

/* Read a number from 1 on at *at and move *at behind it; returns 0 where there
 * is none. */
static long take_number(const char **at)
{
    char *end;
    long n;

    if (!isdigit((unsigned char)**at))
        return 0;
    errno = 0;
    n = strtol(*at, &end, 10);
    if (errno || n > SLOTS_MOST)
        return 0;
    *at = end;
    return n;
}

/* ---- Slurm: "n[1-2,5],gpu01" and "3,1(x2)" ------------------------------- */

/* A list of slot counts, each for one host or, with "(xN)", for N hosts. */
struct counts {
    const char *at;
    long slots, repeat;
};

/* Returns the slots of the next host; 0 if the text is no such list, or too
 * short. */
static long next_count(struct counts *c)
{
    if (c->repeat == 0) {
        c->slots = take_number(&c->at);
        c->repeat = 1;
        if (c->slots && strncmp(c->at, "(x", 2) == 0) {
            c->at += 2;
            c->repeat = take_number(&c->at);
            if (c->repeat == 0 || *c->at++ != ')')
                return 0;
        }
        if (*c->at == ',')
            c->at++;
        else if (*c->at != '\0')
            return 0;
    }
    c->repeat--;
    return c->slots;
}

/* Returns the length up to the first comma outside brackets. */
static size_t pattern_length(const char *at)
{
    int depth = 0;
    size_t n = 0;

    for (; at[n] != '\0' && (at[n] != ',' || depth > 0); n++)
        depth += (at[n] == '[') - (at[n] == ']');
    return n;
}

/* Returns -1 without memory, -2 if this is no list of hosts, -3 if there are
 * fewer counts than hosts. */
static int add_pattern(struct host_list *list, const char *pattern,
                       struct counts *counts)
{
    uint32_t hosts = wf_pattern_count(pattern);
    char name[NAME_MOST];

    for (uint32_t i = 0; i < hosts; i++) {
        long slots = next_count(counts);
        if (!slots)
            return -3;
        if (!wf_pattern_expand(pattern, i, name, sizeof name))
            return -2;
        if (add_host(list, name, strlen(name), slots) < 0)
            return -1;
    }
    return hosts ? 0 : -2;
}

static int read_slurm(struct host_list *list)
{
    static const char nodes[] = "SLURM_JOB_NODELIST",
                      tasks[] = "SLURM_TASKS_PER_NODE";
    struct counts counts = {.at = value_of(tasks)};
    int rc = 0;

    if (!counts.at)
        counts.at = "1(x65536)";
    for (const char *at = value_of(nodes); *at && rc == 0;) {
        size_t n = pattern_length(at);
        char *pattern = strndup(at, n);
        rc = pattern ? add_pattern(list, pattern, &counts) : -1;
        free(pattern);
        at += n + (at[n] == ',');
    }
    if (rc == -2)
        return refuse_variable(nodes, "this is no list of hosts");
    if (rc == -3)
        return refuse_variable(tasks, "there should be a number for each host "
                                      "of SLURM_JOB_NODELIST");
    return rc;
}

/* ---- PBS, LSF, SGE: words ------------------------------------------------ */

/* Add the host of one line; where lines are `counted`, its slots follow it. */
static int add_line(struct host_list *list, const char *line, bool counted)
{
    const char *name = line + strspn(line, " \t\r\n");
    size_t n = strcspn(name, " \t\r\n");
    const char *number = name + n + strspn(name + n, " \t");
    long slots = counted ? take_number(&number) : 1;

    if (n == 0)
        return 0;
    return slots ? add_host(list, name, n, slots) : -2;
}

/* Read the file that the variable names. */
static int read_file(struct host_list *list, const char *variable, bool counted)
{
    FILE *file = fopen(value_of(variable), "r");
    char line[1024];
    int rc = 0;

    if (!file)
        return refuse_variable(variable, strerror(errno));
    while (rc == 0 && fgets(line, sizeof line, file))
        rc = add_line(list, line, counted);
    if (rc == 0 && ferror(file))
        rc = refuse_variable(variable, "the file cannot be read");
    fclose(file);
    if (rc == -2)
        rc = refuse_variable(variable, "a line of this file has no number of "
                                       "slots");
    return rc;
}

/* Read "host 4 host 2", or without numbers "host host host". */
static int read_words(struct host_list *list, const char *variable,
                      bool counted)
{
    const char *at = value_of(variable);
    int rc = 0;

    for (at += strspn(at, " "); *at && rc == 0; at += strspn(at, " ")) {
        rc = add_line(list, at, counted);
        at += strcspn(at, " ");
        if (counted) {
            at += strspn(at, " ");
            at += strcspn(at, " ");
        }
    }
    if (rc == -2)
        rc = refuse_variable(variable, "a host has no number of slots");
    return rc;
}

static int read_lsf(struct host_list *list)
{
    if (value_of("LSB_DJOB_HOSTFILE"))
        return read_file(list, "LSB_DJOB_HOSTFILE", false);
    return value_of("LSB_MCPU_HOSTS")
               ? read_words(list, "LSB_MCPU_HOSTS", true)
               : read_words(list, "LSB_HOSTS", false);
}

/* ---- all ----------------------------------------------------------------- */

enum allocation wf_allocation_of(void)
{
    if (value_of("SLURM_JOB_NODELIST"))
        return ALLOCATION_SLURM;
    if (value_of("PBS_NODEFILE"))
        return ALLOCATION_PBS;
    if (value_of("LSB_DJOB_HOSTFILE") || value_of("LSB_MCPU_HOSTS") ||
        value_of("LSB_HOSTS"))
        return ALLOCATION_LSF;
    return value_of("PE_HOSTFILE") ? ALLOCATION_SGE : ALLOCATION_NONE;
}

int wf_allocation_read(enum allocation a, struct host_list *list)
{
    switch (a) {
    case ALLOCATION_SLURM:
        return read_slurm(list);
    case ALLOCATION_PBS:
        return read_file(list, "PBS_NODEFILE", false);
    case ALLOCATION_LSF:
        return read_lsf(list);
    case ALLOCATION_SGE:
        return read_file(list, "PE_HOSTFILE", true);
    case ALLOCATION_NONE:
        break;
    }
    return 0;
}

const char *wf_allocation_starter(enum allocation a)
{
    static const char *const own[] = {[ALLOCATION_NONE] = "ssh",
                                      [ALLOCATION_SLURM] = "srun",
                                      [ALLOCATION_PBS] = "pbs_tmrsh",
                                      [ALLOCATION_LSF] = "blaunch",
                                      [ALLOCATION_SGE] = "qrsh"};

    char *found = NULL;
    bool here = wf_resolve_search(getenv("PATH"), own[a], &found) == 0;

    free(found);
    return here ? own[a] : "ssh";
}

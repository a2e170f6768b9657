/* A command of MPI_Comm_spawn_multiple: see spawn_info.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "meet/spawn_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "object/error.h"
#include "object/info.h"

static const char *const passed[WF_SPAWN_KEYS] = {"wdir", "host", "path",
                                                  "arch", "env"};

/* ---- file ---------------------------------------------------------------- */

static char *strip_blanks(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r\n", end[-1]))
        *--end = '\0';
    return text + strspn(text, " \t");
}

/* Adds the keys of a line unless they are there. */
static int add_line(struct wf_info *info, char *line)
{
    char *equals = strchr(line, '='), *key;

    if (!equals)
        return MPI_SUCCESS;
    *equals = '\0';
    key = strip_blanks(line);
    if (!*key || *key == '#' || wf_info_find(info, key))
        return MPI_SUCCESS;
    return wf_info_put(info, key, strip_blanks(equals + 1));
}

static int read_file(struct wf_info *info)
{
    const char *name = wf_info_find(info, "file");
    FILE *f = name ? fopen(name, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    int rc = MPI_SUCCESS;

    if (!name)
        return MPI_SUCCESS;
    if (!f)
        return wf_error(MPI_ERR_INFO_VALUE, "info key file: cannot read %s: %s",
                        name, strerror(errno));
    while (rc == MPI_SUCCESS && getline(&line, &room, f) >= 0)
        rc = add_line(info, line);
    free(line);
    fclose(f);
    return rc;
}

/* ---- soft ---------------------------------------------------------------- */

/* Reads a number that is not negative; moves *at behind it. */
static bool read_number(const char **at, long *n)
{
    char *end;

    errno = 0;
    *n = strtol(*at, &end, 10);
    if (end == *at || errno || *n < 0 || *n > INT_MAX)
        return false;
    *at = end;
    return true;
}

/* Reads low, low:high or low:high:step; moves *at behind it. */
static bool read_triplet(const char **at, long *low, long *high, long *step)
{
    *step = 1;
    if (!read_number(at, low))
        return false;
    *high = *low;
    if (**at == ':' && (++*at, !read_number(at, high)))
        return false;
    return **at != ':' || (++*at, read_number(at, step) && *step > 0);
}

/* Finds the largest number up to `most` that the list has; -1: it is no list.
 * Without a list, or if it has none, that is `most`. */
static int choose_count(const char *list, int most)
{
    long low, high, step, best = -1;

    for (const char *at = list; at;) {
        if (!read_triplet(&at, &low, &high, &step))
            return -1;
        if (high > most)
            high = most;
        if (low <= high) {
            long n = low + (high - low) / step * step;
            best = n > best ? n : best;
        }
        if (!*at)
            break;
        if (*at++ != ',')
            return -1;
    }
    return best < 0 ? most : (int)best;
}

/* ---- the whole ----------------------------------------------------------- */

/* The directory where the processes start: an absolute path. NULL: it is
 * unknown, or there is no memory. */
static char *make_directory(const char *wdir)
{
    char *here = wdir && wdir[0] == '/' ? NULL : getcwd(NULL, 0), *path = NULL;

    if (!here)
        return wdir ? strdup(wdir) : NULL;
    if (!wdir)
        return here;
    if (asprintf(&path, "%s/%s", here, wdir) < 0)
        path = NULL;
    free(here);
    return path;
}

static void collect_pairs(struct weft_boot_command *c, struct wf_spawn_entry *e)
{
    for (int i = 0; i < WF_SPAWN_KEYS; i++) {
        const char *value =
            i == 0 ? e->directory : wf_info_find(e->info, passed[i]);
        if (value)
            e->pairs[c->info_count++] =
                (struct weft_boot_pair){passed[i], value};
    }
    c->info = e->pairs;
}

int wf_spawn_command_make(struct weft_boot_command *c, struct wf_spawn_entry *e,
                          const char *program, char *const *argv, int most,
                          const struct wf_info *info)
{
    const char *soft;
    int rc, count;

    *c = (struct weft_boot_command){.program = program, .argv = argv};
    *e = (struct wf_spawn_entry){.most = most};
    if (!program || !*program)
        return wf_error(MPI_ERR_ARG, "there is no command: it is %s",
                        program ? "empty" : "NULL");
    if (most < 0)
        return wf_error(MPI_ERR_ARG, "maxprocs is %d for '%s'", most, program);
    e->info = info ? wf_info_copy(info) : wf_info_create();
    if (!e->info)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a spawn request");
    rc = read_file(e->info);
    if (rc != MPI_SUCCESS)
        return rc;
    soft = wf_info_find(e->info, "soft");
    count = choose_count(soft, most);
    if (count < 0)
        return wf_error(MPI_ERR_INFO_VALUE,
                        "soft is '%.60s': it must be numbers and ranges as "
                        "2,4:16:4",
                        soft);
    c->count = (uint32_t)count;
    e->directory = make_directory(wf_info_find(e->info, "wdir"));
    collect_pairs(c, e);
    return MPI_SUCCESS;
}

void wf_spawn_entry_free(struct wf_spawn_entry *e)
{
    wf_info_destroy(e->info);
    free(e->directory);
}

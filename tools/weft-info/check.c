/* This file implements weft-info --check, which prints every problem of a file,
 * also in the options of plugins.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <stdlib.h>
#include <unistd.h>

#include "os/trust.h"

/* Check the plugins. One that cannot be found is a problem, because MPI_Init
 * would stop there. One that is found is not loaded unless that was asked for:
 * it is code, and the file that names it may be anybody's. */
static int check_plugins(struct wf_config *config, bool load, FILE *errors)
{
    struct info info;
    info_collect(&info, config, load, errors);
    int problems = info.problems;
    for (int i = 0; i < info.count; i++) {
        const struct info_transport *t = &info.transport[i];
        if (t->left != NULL)
            fprintf(errors,
                    "%s: note: the keys of transport '%s' were not checked, "
                    "because they belong to the plugin %s, which was not "
                    "loaded; --load loads it\n",
                    t->config->where, t->config->name, t->left);
        else if (t->plugin == NULL && t->config->enable != 0) {
            fprintf(errors, "%s\n", t->why);
            problems++;
        }
    }
    info_forget(&info);
    return problems;
}

static int check_unloaded(struct wf_config *config, FILE *errors)
{
    return check_plugins(config, false, errors);
}

static int check_loaded(struct wf_config *config, FILE *errors)
{
    return check_plugins(config, true, errors);
}

/* Note whether a job of this user would read the file. That is not a problem of
 * the file, which may be meant for another place. */
static void note_trust(const char *file, FILE *errors)
{
    char why[WF_TRUST_WHY_MAX];
    int fd = wf_trust_open(file, why, sizeof why);
    if (fd == WF_TRUST_REFUSED)
        fprintf(errors, "%s: note: a job would not use this file: %s\n", file,
                why);
    if (fd >= 0)
        close(fd);
}

static void write_lines(const char *file, int problems, char *text)
{
    struct json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "file", file);
    json_number(&j, "problems", problems);
    json_open(&j, "lines", '[');
    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n"))
        json_text(&j, NULL, line);
    json_close(&j, ']');
    json_close(&j, '}');
}

int info_check(const char *file, bool load, bool json)
{
    wf_config_extra_check *check = load ? check_loaded : check_unloaded;
    struct wf_config *config;
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    if (errors == NULL) {
        fprintf(stderr, "weft-info: out of memory\n");
        return 1;
    }
    int problems = wf_config_from_file(file, &config, errors, check);
    if (config != NULL)
        problems += check(config, errors);
    note_trust(file, errors);
    fclose(errors);
    if (json)
        write_lines(file, problems, text);
    else if (problems > 0)
        fprintf(stderr, "%s%s: %d problem%s\n", text, file, problems,
                problems == 1 ? "" : "s");
    else {
        fputs(text, stderr);
        printf("%s: good\n", file);
    }
    free(text);
    wf_config_free(config);
    return problems > 0 ? EXIT_CONFIG : 0;
}

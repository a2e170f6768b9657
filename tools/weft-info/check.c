/* This file implements weft-info --check, which prints every problem of a file,
 * also in the options of plugins.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <stdlib.h>
#include <unistd.h>

#include "config/addresses.h"
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

/* Check what only a job without launcher needs, if the file is for one. If it
 * leaves that open, problems are notes. */
static int check_bootstrap(struct wf_config *config, bool load, FILE *errors)
{
    int mode = wf_config_core(config)->bootstrap;
    char *text = NULL;
    size_t n = 0;
    if (mode == WF_BOOT_STATIC)
        return info_check_static(config, load, errors);
    FILE *notes = mode == WF_BOOT_AUTO && wf_config_ranks(config) > 1
                      ? open_memstream(&text, &n)
                      : NULL;
    if (notes == NULL)
        return 0;
    info_check_static(config, load, notes);
    fclose(notes);
    for (char *line = strtok(text, "\n"); line != NULL;
         line = strtok(NULL, "\n"))
        fprintf(errors, "note: if it is started without a launcher: %s\n",
                line);
    free(text);
    return 0;
}

/* The name of the bootstrap that the file is for. */
static const char *name_bootstrap(const struct wf_config *config)
{
    static const char *const names[] = {[WF_BOOT_AUTO] = "auto",
                                        [WF_BOOT_PMI] = "pmi",
                                        [WF_BOOT_STATIC] = "static",
                                        [WF_BOOT_SINGLE] = "single",
                                        [WF_BOOT_PMIX] = "pmix"};
    return names[wf_config_core(config)->bootstrap];
}

static void print_good(const char *file, const struct wf_config *config)
{
    if (config != NULL && wf_config_core(config)->bootstrap == WF_BOOT_STATIC)
        printf("%s: good (static start: %u ranks)\n", file,
               wf_config_ranks(config));
    else
        printf("%s: good\n", file);
}

static void write_lines(const char *file, const struct wf_config *config,
                        int problems, char *text)
{
    struct json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "file", file);
    if (config != NULL)
        json_text(&j, "bootstrap", name_bootstrap(config));
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
        problems +=
            check(config, errors) + check_bootstrap(config, load, errors);
    note_trust(file, errors);
    fclose(errors);
    if (json)
        write_lines(file, config, problems, text);
    else if (problems > 0)
        fprintf(stderr, "%s%s: %d problem%s\n", text, file, problems,
                problems == 1 ? "" : "s");
    else {
        fputs(text, stderr);
        print_good(file, config);
    }
    free(text);
    wf_config_free(config);
    return problems > 0 ? EXIT_CONFIG : 0;
}

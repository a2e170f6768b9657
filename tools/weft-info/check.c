/* weft-info --check: every problem of a file, also in the options of plugins.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <stdlib.h>

/* A plugin that cannot be found is a problem: MPI_Init would stop there. */
static int check_plugins(struct wf_config *config, FILE *errors)
{
    struct info info;
    info_collect(&info, config, errors);
    int problems = info.problems;
    for (int i = 0; i < info.count; i++) {
        const struct info_transport *t = &info.transport[i];
        if (t->plugin == NULL && t->config->enable != 0) {
            fprintf(errors, "%s\n", t->why);
            problems++;
        }
    }
    return problems;
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

int info_check(const char *file, bool json)
{
    struct wf_config *config;
    char *text = NULL;
    size_t n = 0;
    FILE *errors = open_memstream(&text, &n);
    if (errors == NULL) {
        fprintf(stderr, "weft-info: out of memory\n");
        return 1;
    }
    int problems = wf_config_from_file(file, &config, errors, check_plugins);
    if (config != NULL)
        problems += check_plugins(config, errors);
    fclose(errors);
    if (json)
        write_lines(file, problems, text);
    else if (problems > 0)
        fprintf(stderr, "%s%s: %d problem%s\n", text, file, problems,
                problems == 1 ? "" : "s");
    else
        printf("%s: good\n", file);
    free(text);
    wf_config_free(config);
    return problems > 0 ? EXIT_CONFIG : 0;
}

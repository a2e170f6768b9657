/* This file implements weft-info --embed, which prints C text for programs
 * without files.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

#include <stdlib.h>

#include "os/trust.h"
#include "config/search.h"

static void put_string(const char *text, size_t n)
{
    printf("    \"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            printf(i + 1 < n ? "\\n\"\n    \"" : "\\n");
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == '?' || c < 0x20 || c > 0x7e)
            printf("\\%03o", c); /* also keeps trigraphs away */
        else
            putchar(c);
    }
    printf("\"");
}

int info_embed(const char *file)
{
    struct wf_config *config;
    char why[WF_TRUST_WHY_MAX];
    size_t n;
    int problems = wf_config_from_file(file, &config, stderr, NULL);
    wf_config_free(config);
    if (problems > 0)
        return EXIT_CONFIG;
    char *text = wf_file_read(file, &n, why, sizeof why);
    if (text == NULL) {
        fprintf(stderr, "weft-info: cannot read '%s': %s\n", file, why);
        return 1;
    }
    printf(
        "/* The configuration of this program, used when no mpi.ini is found."
        "\n * Made by weft-info --embed. */\n"
        "extern const char weft_ini_text[];\n"
        "const char weft_ini_text[] =\n");
    put_string(text, n);
    printf(";\n");
    free(text);
    return 0;
}

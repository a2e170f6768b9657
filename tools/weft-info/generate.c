/* This file implements weft-info --table and --embed, which print C code for
 * programs without files or dlopen.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/dl.h"
#include "info.h"

#include <ctype.h>
#include <stdlib.h>

#include "os/trust.h"
#include "config/search.h"

static bool make_identifier(const char *name, char *buf, size_t n)
{
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < n; i++) {
        char c = name[i] == '-' ? '_' : name[i];
        if (!isalnum((unsigned char)c) && c != '_')
            return false;
        buf[i] = c;
    }
    buf[i] = '\0';
    return i > 0 && name[i] == '\0' && !isdigit((unsigned char)buf[0]);
}

/* Print a table of plugins; self is in it whether named or not, because a
 * process must reach itself. */
int info_table(char *const *names, int n)
{
    char id[64];
    for (int i = 0; i < n; i++) {
        if (!make_identifier(names[i], id, sizeof id)) {
            fprintf(stderr, "weft-info: '%s' is not the name of a plugin\n",
                    names[i]);
            return 2;
        }
    }
    printf("/* The transports of this program: link it before libmpi.a.\n"
           " * Made by weft-info --table. */\n"
           "#include \"weft_transport.h\"\n"
           "extern const weft_plugin *const weft_builtin[];\n"
           "extern const weft_plugin weft_plugin_%d_self;\n",
           WEFT_ABI_MAJOR);
    for (int i = 0; i < n; i++) {
        make_identifier(names[i], id, sizeof id);
        if (strcmp(id, "self") != 0)
            printf("extern const weft_plugin weft_plugin_%d_%s;\n",
                   WEFT_ABI_MAJOR, id);
    }
    printf("const weft_plugin *const weft_builtin[] = {\n"
           "    &weft_plugin_%d_self,\n",
           WEFT_ABI_MAJOR);
    for (int i = 0; i < n; i++) {
        make_identifier(names[i], id, sizeof id);
        if (strcmp(id, "self") != 0)
            printf("    &weft_plugin_%d_%s,\n", WEFT_ABI_MAJOR, id);
    }
    printf("    0\n};\n");
    return 0;
}

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

/* This file implements weft-info --functions, which prints the implemented
 * functions of the standard from the table that core/api/generate.py writes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info.h"

static const struct function {
    const char *name, *chapter;
    bool implemented;
} functions[] = {
#define FUNCTION(name, chapter, implemented) {name, chapter, implemented},
#include "functions.def"
#undef FUNCTION
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static int count_implemented(void)
{
    int n = 0;

    for (int i = 0; i < FUNCTIONS; i++)
        n += functions[i].implemented;
    return n;
}

void info_function_count(char *text, size_t n)
{
    snprintf(text, n, "%d of %d", count_implemented(), FUNCTIONS);
}

static void print_functions(void)
{
    for (int i = 0; i < FUNCTIONS; i++)
        printf("%-36s %-4s %s\n", functions[i].name,
               functions[i].implemented ? "yes" : "no", functions[i].chapter);
    printf("%d of %d are implemented\n", count_implemented(), FUNCTIONS);
}

static void write_functions(void)
{
    struct json j = {.out = stdout};

    json_open(&j, NULL, '{');
    json_number(&j, "implemented", count_implemented());
    json_number(&j, "standard", FUNCTIONS);
    json_open(&j, "functions", '[');
    for (int i = 0; i < FUNCTIONS; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "name", functions[i].name);
        json_text(&j, "chapter", functions[i].chapter);
        json_flag(&j, "implemented", functions[i].implemented);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

int info_functions(bool json)
{
    if (json)
        write_functions();
    else
        print_functions();
    return 0;
}

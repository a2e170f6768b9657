/* Loading a text and keeping its problems, for the tests of core/route.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef CONFIG_RIG_H
#define CONFIG_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "config/config.h"

/* The problems of a text as one string; free() it. *config may be NULL. */
static inline char *problems_of(const char *ini, struct wf_config **config)
{
    enum { ROOM = 1 << 16 };
    char *text = calloc(1, ROOM);
    FILE *errors = text ? fmemopen(text, ROOM, "w") : NULL;
    struct wf_config *c;
    if (!errors)
        abort(); /* the compiler does not know that an assertion ends a test */
    wf_config_from_text(ini, &c, errors);
    fclose(errors);
    if (config != NULL)
        *config = c;
    else
        wf_config_free(c);
    return text;
}

static inline struct wf_config *parse_good(const char *ini)
{
    struct wf_config *c;
    char *problems = problems_of(ini, &c);
    assert_string_equal(problems, "");
    free(problems);
    assert_non_null(c);
    return c;
}

/* The text has exactly this problem, or this line among others. */
static inline void assert_problem(const char *ini, const char *line)
{
    char *problems = problems_of(ini, NULL);
    if (strstr(problems, line) == NULL)
        print_error("wanted: %s\nfound:  %s\n", line, problems);
    assert_non_null(strstr(problems, line));
    free(problems);
}

#endif

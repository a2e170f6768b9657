/* Collecting the problems of a configuration: see problem.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/problem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "os/trust.h"

/* The most problems that are shown, so that sorting them is cheap. */
enum { SHOWN_MAX = 100 };

struct wf_problem {
    struct wf_problem *next;
    struct wf_place at;
    char text[];
};

/* Whether a stands behind b in the same file. Files stay in the order of their
 * first problems. */
static int is_place_after(const struct wf_place *a, const struct wf_place *b)
{
    if (strcmp(a->file, b->file) != 0)
        return 0;
    return a->line > b->line || (a->line == b->line && a->col > b->col);
}

static void insert_problem(struct wf_problems *all, struct wf_problem *p)
{
    struct wf_problem **at = &all->list;
    while (*at != NULL && !is_place_after(&(*at)->at, &p->at))
        at = &(*at)->next;
    p->next = *at;
    *at = p;
}

void wf_problem_add(struct wf_problems *all, const struct wf_place *at,
                    const char *fmt, ...)
{
    if (++all->count > SHOWN_MAX)
        return;
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    struct wf_problem *p = malloc(sizeof *p + (size_t)(n < 0 ? 0 : n) + 1);
    all->failed = all->failed || p == NULL;
    if (p != NULL) {
        p->at = *at;
        p->text[0] = '\0';
        if (n > 0)
            vsnprintf(p->text, (size_t)n + 1, fmt, again);
        insert_problem(all, p);
    }
    va_end(again);
}

int wf_problems_flush(struct wf_problems *all, FILE *out)
{
    struct wf_problem *p = all->list;
    int count = all->count;
    while (p != NULL) {
        struct wf_problem *next = p->next;
        if (out != NULL && p->at.line > 0 && !wf_trust_caller())
            fprintf(out,
                    "%s:%d:%d: this is wrong; a set-user-ID program does not "
                    "show why, because its caller may not read the file\n",
                    p->at.file, p->at.line, p->at.col);
        else if (out != NULL && p->at.line > 0)
            fprintf(out, "%s:%d:%d: %s\n", p->at.file, p->at.line, p->at.col,
                    p->text);
        else if (out != NULL)
            fprintf(out, "%s: %s\n", p->at.file, p->text);
        free(p);
        p = next;
    }
    if (out != NULL && count > SHOWN_MAX)
        fprintf(out, "... and %d more problems\n", count - SHOWN_MAX);
    all->list = NULL;
    all->count = 0;
    return count;
}

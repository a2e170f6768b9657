/* Lines of words for -configfile: blanks separate, quotes and backslashes keep,
 * "#" starts a comment, a backslash at the end continues the line.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

struct words {
    char **list;
    size_t n;
    char *text; /* the word being read; NULL: none begun */
    size_t len;
};

static void *grown(void *p, size_t n)
{
    p = realloc(p, n);
    if (!p) {
        fprintf(stderr, "mpirun: out of memory\n");
        exit(1);
    }
    return p;
}

static void begin(struct words *w)
{
    if (!w->text) {
        w->text = grown(NULL, 1);
        w->len = 0;
    }
}

static void add(struct words *w, int c)
{
    begin(w);
    w->text = grown(w->text, w->len + 2);
    w->text[w->len++] = (char)c;
}

static void finish(struct words *w)
{
    if (!w->text)
        return;
    w->text[w->len] = 0;
    w->list = grown(w->list, (w->n + 2) * sizeof(*w->list));
    w->list[w->n++] = w->text;
    w->list[w->n] = NULL;
    w->text = NULL;
}

static void skip_comment(FILE *in)
{
    int c;
    while ((c = getc(in)) != EOF && c != '\n')
        ;
    if (c == '\n')
        ungetc(c, in);
}

/* After the opening quote; false: the file ended first. */
static bool quoted(struct words *w, FILE *in, int quote)
{
    int c;
    begin(w);
    while ((c = getc(in)) != EOF && c != quote) {
        if (c == '\\' && quote == '"' && (c = getc(in)) == EOF)
            return false;
        add(w, c);
    }
    return c == quote;
}

static void escaped(struct words *w, FILE *in)
{
    int c = getc(in);
    if (c != EOF && c != '\n')
        add(w, c);
}

char **wf_argfile_line(void *file, bool *bad)
{
    FILE *in = file;
    struct words w = {grown(NULL, sizeof(char *)), 0, NULL, 0};
    int c;
    w.list[0] = NULL;
    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == ' ' || c == '\t' || c == '\r')
            finish(&w);
        else if (c == '#' && !w.text)
            skip_comment(in);
        else if (c == '\\')
            escaped(&w, in);
        else if (c != '"' && c != '\'')
            add(&w, c);
        else if (!quoted(&w, in, c)) {
            *bad = true;
            break;
        }
    }
    finish(&w);
    if (!*bad && (c != EOF || w.n))
        return w.list;
    for (size_t i = 0; i < w.n; i++)
        free(w.list[i]);
    free(w.list);
    return NULL;
}

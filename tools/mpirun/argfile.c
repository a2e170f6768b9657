/* This file splits lines for -configfile into words: blanks separate, quotes
 * and backslashes keep, "#" starts a comment, a backslash at the end continues
 * the line.
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

static void *grow_memory(void *p, size_t n)
{
    p = realloc(p, n);
    if (!p) {
        fprintf(stderr, "mpirun: out of memory\n");
        exit(1);
    }
    return p;
}

static void begin_word(struct words *w)
{
    if (!w->text) {
        w->text = grow_memory(NULL, 1);
        w->len = 0;
    }
}

static void add_char(struct words *w, int c)
{
    begin_word(w);
    w->text = grow_memory(w->text, w->len + 2);
    w->text[w->len++] = (char)c;
}

static void finish_word(struct words *w)
{
    if (!w->text)
        return;
    w->text[w->len] = 0;
    w->list = grow_memory(w->list, (w->n + 2) * sizeof(*w->list));
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

/* Read a word from behind its opening quote on; returns false if the file ends
 * first. */
static bool read_quoted(struct words *w, FILE *in, int quote)
{
    int c;
    begin_word(w);
    while ((c = getc(in)) != EOF && c != quote) {
        if (c == '\\' && quote == '"' && (c = getc(in)) == EOF)
            return false;
        add_char(w, c);
    }
    return c == quote;
}

static void read_escaped(struct words *w, FILE *in)
{
    int c = getc(in);
    if (c != EOF && c != '\n')
        add_char(w, c);
}

char **wf_argfile_line(void *file, bool *bad)
{
    FILE *in = file;
    struct words w = {grow_memory(NULL, sizeof(char *)), 0, NULL, 0};
    int c;
    w.list[0] = NULL;
    while ((c = getc(in)) != EOF && c != '\n') {
        if (c == ' ' || c == '\t' || c == '\r')
            finish_word(&w);
        else if (c == '#' && !w.text)
            skip_comment(in);
        else if (c == '\\')
            read_escaped(&w, in);
        else if (c != '"' && c != '\'')
            add_char(&w, c);
        else if (!read_quoted(&w, in, c)) {
            *bad = true;
            break;
        }
    }
    finish_word(&w);
    if (!*bad && (c != EOF || w.n))
        return w.list;
    for (size_t i = 0; i < w.n; i++)
        free(w.list[i]);
    free(w.list);
    return NULL;
}

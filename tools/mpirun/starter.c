/* This file makes the commands that start agents: see starter.h.
 *
 * ssh and rsh give everything behind the host to a shell, as one line: it gets
 * a quoted path. Other commands execute the words as they are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "starter.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"
#include "os/prefix.h"

static const struct {
    const char *name, *command;
} starters[] = {
    {"ssh", "ssh %h"},
    {"rsh", "rsh %h"},
    /* srun starts a step of one task beside others, with all CPUs and memory of
     * its node; its input and output are the channel. */
    {"srun", "srun --quiet --nodes=1 --ntasks=1 --nodelist=%h --overlap "
             "--mem=0 --mpi=none --cpu-bind=none --export=ALL"},
    {"blaunch", "blaunch %h"},
    {"qrsh", "qrsh -inherit %h"},
    {"pbs_tmrsh", "pbs_tmrsh %h"}};

enum { STARTERS = sizeof starters / sizeof *starters };

const char *wf_starter_command(const char *name)
{
    for (int i = 0; i < STARTERS; i++)
        if (strcmp(starters[i].name, name) == 0)
            return starters[i].command;
    return NULL;
}

void wf_starter_names(char *text, size_t size)
{
    size_t n = 0;

    for (int i = 0; i < STARTERS && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
                              starters[i].name);
}

/* ---- words ------------------------------------------------------------- */

static bool names_a_host(const char *command)
{
    for (const char *at = command; (at = strchr(at, '%')) && at[1]; at += 2)
        if (at[1] == 'h' || at[1] == 'n')
            return true;
    return false;
}

/* Returns a word with %h and %n replaced. */
static char *expand_word(const char *word, size_t n, const struct host *h)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        char next = i + 1 < n ? word[i + 1] : '\0';
        if (word[i] != '%' || !next || !strchr("hn%", next)) {
            fputc(word[i], f);
            continue;
        }
        if (next == 'h')
            fputs(h->name, f);
        else if (next == 'n')
            fprintf(f, "%d", h->node);
        else
            fputc('%', f);
        i++;
    }
    return fclose(f) == 0 ? text : NULL;
}

static bool is_remote_shell(const char *word)
{
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

    return strcmp(name, "ssh") == 0 || strcmp(name, "rsh") == 0 ||
           strcmp(name, "remsh") == 0;
}

/* Returns the line exec 'path' --agent. */
static char *shell_line(const char *agent)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    fputs("exec '", f);
    for (const char *c = agent; *c; c++)
        if (*c == '\'')
            fputs("'\\''", f);
        else
            fputc(*c, f);
    fputs("' --agent", f);
    return fclose(f) == 0 ? text : NULL;
}

struct words {
    char **list;
    size_t n;
    bool failed;
};

/* Append a word, which the list owns from now on. */
static void add_word(struct words *w, char *word)
{
    char **more = realloc(w->list, (w->n + 2) * sizeof *more);

    if (more) {
        w->list = more;
        more[w->n] = word;
        more[w->n + 1] = NULL;
    }
    if (!more || !word) {
        if (!more)
            free(word);
        w->failed = true;
        return;
    }
    w->n++;
}

char **wf_starter_words(const char *command, const struct host *h,
                        const char *agent)
{
    struct words w = {NULL, 0, false};
    bool named = names_a_host(command);

    for (command += strspn(command, " "); *command;
         command += strspn(command, " ")) {
        size_t n = strcspn(command, " ");
        add_word(&w, expand_word(command, n, h));
        command += n;
    }
    if (!named)
        add_word(&w, strdup(h->name));
    if (!w.failed && is_remote_shell(w.list[0])) {
        add_word(&w, shell_line(agent));
    } else {
        add_word(&w, strdup(agent));
        add_word(&w, strdup("--agent"));
    }
    if (!w.failed)
        return w.list;
    wf_starter_free(w.list);
    return NULL;
}

void wf_starter_free(char **words)
{
    for (char **w = words; w && *w; w++)
        free(*w);
    free(words);
}

void wf_starter_text(char **words, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (char **w = words; *w && n < size; w++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "", *w);
}

char *wf_starter_agent(const char *prefix)
{
    char self[PATH_MAX];
    ssize_t n;

    if (prefix)
        return wf_prefix_resolve(prefix, WF_MPIRUN_FROM_PREFIX, self,
                                sizeof self)
                   ? strdup(self)
                   : NULL;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    return strndup(n > 0 ? self : "mpirun", n > 0 ? (size_t)n : 6);
}

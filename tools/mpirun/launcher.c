/* --launcher-exec: another command starts each rank on its host.
 *
 * Its words stand before the program's. The command must hand on descriptors
 * and environment, as ip netns exec, numactl, chroot and the like do: the
 * rank's line to mpirun is an inherited descriptor.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* One word with %n and %r replaced by the rank's node and number. */
static char *expand(const char *word, size_t n, const struct rank *r)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        char next = i + 1 < n ? word[i + 1] : '\0';
        if (word[i] == '%' && (next == 'n' || next == 'r'))
            fprintf(f, "%d", next == 'n' ? r->node : r->id);
        else if (word[i] == '%' && next == '%')
            fputc('%', f);
        else {
            fputc(word[i], f);
            continue;
        }
        i++;
    }
    return fclose(f) == 0 ? text : NULL;
}

static size_t count_words(const char *text)
{
    size_t n = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        text += strcspn(text, " ");
        n++;
    }
    return n;
}

char **wf_launcher_words(const struct job *job, const struct rank *r)
{
    const char *text = job->set.launcher;
    const struct app *app = r->app;
    size_t n = count_words(text), args = 0, at = 0;
    char **words;

    while (app->argv[args])
        args++;
    words = calloc(n + args + 1, sizeof *words);
    if (!words)
        return NULL;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        words[at] = expand(text, len, r);
        if (!words[at++]) {
            wf_launcher_free(job, words);
            return NULL;
        }
        text += len;
    }
    words[at++] = app->program;
    for (size_t i = 1; i < args; i++)
        words[at++] = app->argv[i];
    return words;
}

void wf_launcher_free(const struct job *job, char **words)
{
    for (size_t i = 0; i < count_words(job->set.launcher); i++)
        free(words[i]);
    free(words);
}

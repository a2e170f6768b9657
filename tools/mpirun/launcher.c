/* --launcher-exec, or ssh for a list of hosts: another command starts each rank
 * on its host.
 *
 * Its words stand before the program's. The command must hand on descriptors
 * and environment, as ip netns exec, numactl, chroot and the like do: the
 * rank's line to mpirun is an inherited descriptor.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

static const char *host_of(const struct job *job, const struct rank *r)
{
    const struct host_list *hosts = &job->set.hosts;

    return hosts->elsewhere ? hosts->all[r->node].name : "localhost";
}

/* One word with %n, %h and %r replaced by the rank's node, its host and its
 * number. */
static char *expand(const struct job *job, const char *word, size_t n,
                    const struct rank *r)
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
        else if (word[i] == '%' && next == 'h')
            fputs(host_of(job, r), f);
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

/* By ssh, and the weft-remote that stands beside mpirun. */
static const char *usual(void)
{
    static const char remote[] = "weft-remote ssh %h --";
    static char text[PATH_MAX + sizeof remote];
    ssize_t n = readlink("/proc/self/exe", text, PATH_MAX);
    char *name = n > 0 ? memrchr(text, '/', (size_t)n) : NULL;

    if (!name)
        return remote;
    strcpy(name + 1, "weft-remote");
    if (access(text, X_OK) < 0 || strpbrk(text, " %"))
        return remote;
    strcpy(name + 1, remote);
    return text;
}

const char *wf_launcher_of(const struct job *job, const struct rank *r)
{
    const struct host_list *hosts = &job->set.hosts;

    if (job->set.launcher)
        return job->set.launcher;
    return hosts->elsewhere && !hosts->all[r->node].here ? usual() : NULL;
}

char **wf_launcher_words(const struct job *job, const struct rank *r)
{
    const char *text = wf_launcher_of(job, r), *whole = text;
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
        words[at] = expand(job, text, len, r);
        if (!words[at++]) {
            wf_launcher_free(whole, words);
            return NULL;
        }
        text += len;
    }
    words[at++] = app->program;
    for (size_t i = 1; i < args; i++)
        words[at++] = app->argv[i];
    return words;
}

void wf_launcher_free(const char *launcher, char **words)
{
    for (size_t i = 0; i < count_words(launcher); i++)
        free(words[i]);
    free(words);
}

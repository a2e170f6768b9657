/* The search for the file of a plugin: see search.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adi/search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "os/dl.h"
#include "os/library.h"
#include "os/trust.h"

void wf_search_copy_name(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s", name);
    for (; *out; out++)
        if (*out == '-')
            *out = '_';
}

static void note_attempt(struct wf_search *s, const char *what, const char *why)
{
    size_t len = strlen(what);
    int n;

    if (strncmp(why, what, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2; /* the reason begins with the name already */
    if (strstr(why, strerror(ENOMEM)))
        s->lack = ENOMEM;
    else if (strstr(why, strerror(EMFILE)))
        s->lack = EMFILE;
    n = snprintf(s->tried + s->used, sizeof s->tried - s->used,
                 "; tried %s: %s", what, why);
    if (n > 0 && s->used + (size_t)n < sizeof s->tried)
        s->used += (size_t)n;
}

/* Load the file, or with s->left only name it. Returns the fault or NULL; errno
 * is ENOEXEC if the file is for another kind of machine. */
static const char *load_or_name(struct wf_search *s, int fd, const char *file,
                                char *why, size_t n)
{
    const void *p;

    if (s->left) {
        close(fd);
        *s->left = strdup(file);
        return NULL;
    }
    p = weft_dl_loader.load(fd, file, s->symbol, why, n);
    if (!p)
        return why;
    errno = 0;
    if (s->check(p, s->name, file, why, n) != 0)
        return why;
    s->found = p;
    return NULL;
}

/* Try to load a file; true: the search ends. It ends at the first file that is
 * there, whether it can be used or not, for another file of the same name is
 * not the one that was meant. Directories of several kinds of machines may
 * stand in one list. */
static bool try_file(struct wf_search *s, const char *file)
{
    char why[WF_TRUST_WHY_MAX] = "";
    int fd = wf_trust_open(file, why, sizeof why);
    const char *fault = why;
    bool foreign = false;

    if (fd >= 0) {
        fault = load_or_name(s, fd, file, why, sizeof why);
        foreign = fault && errno == ENOEXEC;
    }
    if (!fault)
        return true;
    note_attempt(s, file, fault);
    s->there = fd != WF_TRUST_ABSENT && !foreign;
    return s->there;
}

static bool try_dirs(struct wf_search *s, const char *dirs)
{
    char file[PATH_MAX];

    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");
        snprintf(file, sizeof file, "%.*s/weft_%s.so", (int)n, dirs, s->name);
        if (n && *dirs != '/')
            note_attempt(s, file,
                         "the directory is relative; write an absolute one");
        else if (n && try_file(s, file))
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* Try the installation of the library, then that of the mpirun or weft-info
 * which started the process. */
static bool try_installed(struct wf_search *s)
{
    const char *lib = wf_library_dir();
    const char *launcher = wf_trust_getenv("WEFT_LAUNCHER_PLUGINS");
    char **left = s->left, dir[PATH_MAX] = "";
    bool done;

    s->left = NULL;
    if (lib)
        snprintf(dir, sizeof dir, "%s/weft", lib);
    if (launcher && strcmp(launcher, dir) == 0)
        launcher = NULL;
    done = try_dirs(s, dir) || try_dirs(s, launcher);
    s->left = left;
    return done;
}

static bool try_named(struct wf_search *s, const struct wf_config *config)
{
    const char *dirs = config ? wf_config_core(config)->plugin_path : NULL;

    if (s->path && *s->path != '/')
        note_attempt(s, s->path, "the path is relative; write an absolute one");
    else if (s->path)
        try_file(s, s->path);
    return s->path || try_dirs(s, wf_trust_getenv("WEFT_PLUGIN_PATH")) ||
           try_dirs(s, dirs);
}

void wf_search_run(struct wf_search *s, const struct wf_config *config)
{
    if (!try_named(s, config))
        try_installed(s);
}

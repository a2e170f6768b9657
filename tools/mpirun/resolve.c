/* This file finds the programs and directories of the command line before
 * anything is started.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"
#include "starter.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

static int access_status(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return STATUS_NOT_FOUND;
    return S_ISREG(st.st_mode) && access(path, X_OK) == 0
               ? 0
               : STATUS_NOT_EXECUTABLE;
}

static char *join_path(const char *dir, size_t n, const char *name)
{
    char *path;
    if (asprintf(&path, "%.*s%s%s", (int)n, dir, n ? "/" : "", name) < 0)
        return NULL;
    return path;
}

int wf_resolve_search(const char *path, const char *name, char **found)
{
    int status = STATUS_NOT_FOUND;
    for (path = path ? path : "/usr/bin:/bin";; path++) {
        size_t n = strcspn(path, ":");
        char *full = join_path(n ? path : ".", n ? n : 1, name);
        int s = full ? access_status(full) : STATUS_NOT_FOUND;
        if (s == 0) {
            *found = full;
            return 0;
        }
        free(full);
        status = s == STATUS_NOT_EXECUTABLE ? s : status;
        path += n;
        if (!*path)
            return status;
    }
}

/* Returns PATH as the ranks will have it. */
static const char *path_of(const struct app *app)
{
    const char *path = app->own_env ? getenv("PATH") : NULL;

    for (char **e = app->sent_env; e && *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0)
            path = *e + 5;
    return app->sent_env ? path : getenv("PATH");
}

/* Find the program; a relative path is relative to the directory where the rank
 * starts. */
static int find_program(struct app *app)
{
    const char *name = app->argv[0];

    if (!strchr(name, '/') && app->path &&
        wf_resolve_search(app->path, name, &app->program) == 0)
        return 0;
    if (!strchr(name, '/'))
        return wf_resolve_search(path_of(app), name, &app->program);
    const char *dir = name[0] == '/' || !app->wdir ? "" : app->wdir;
    app->program = join_path(dir, strlen(dir), name);
    return app->program ? access_status(app->program) : 1;
}

static int resolve_app(struct job *job, struct app *app)
{
    const char *name = app->argv[0];
    struct stat st;
    if (app->program)
        return 0;
    if (job->set.check_net) { /* it is this program, wherever that is */
        app->program = wf_starter_agent(NULL);
        return app->program ? 0 : 1;
    }
    if (app->wdir && (stat(app->wdir, &st) < 0 || !S_ISDIR(st.st_mode))) {
        wf_job_fail(job, 1, "%s%s: %s%s", job->up ? "" : "--wdir ", app->wdir,
                    errno == ENOENT ? "no such directory" : "not a directory",
                    job->up ? " there; --wdir names another" : "");
        return 1;
    }
    int status = find_program(app);
    if (status == STATUS_NOT_EXECUTABLE)
        wf_job_fail(job, status, "%s is not an executable file", name);
    else if (status && !strchr(name, '/') && access_status(name) == 0)
        wf_job_fail(job, status, "%s is not in PATH; did you mean ./%s?", name,
                    name);
    else if (status)
        wf_job_fail(job, status, "%s: no such program", name);
    return status;
}

static bool is_started_here(const struct job *job, const struct app *app)
{
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].app == app && job->ranks[i].host->here)
            return true;
    return false;
}

int wf_resolve_all(struct job *job)
{
    int status = 0;
    for (int a = 0; a < job->app_count && status == 0; a++)
        if (is_started_here(job, &job->apps[a]))
            status = resolve_app(job, &job->apps[a]);
    return status;
}

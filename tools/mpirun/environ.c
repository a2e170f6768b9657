/* This file makes the environment of each rank: that of mpirun, changed as the
 * options say, then the variables that name the rank.
 *
 * Variables by which a launcher names a rank are never passed on from mpirun's
 * own environment: mpirun may itself run inside a rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"
#include "layout.h"
#include "os/place.h"
#include "os/prefix.h"
#include "state_page_file.h"

extern char **environ;

static const char *const per_rank[] = {
    "PMI_SAY",         "PMI_FD",          "PMI_PORT",    "PMI_ID",
    "PMI_RANK",
    "PMI_SIZE",        "PMI_JOBID",       "PMI_SPAWNED", "PMI_APPNUM",
    "PMI_UNIVERSE_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
    "WEFT_NODE",       "WEFT_LOCAL_RANK", "WEFT_RANK",  "WEFT_SIZE",
    "WEFT_BOUND_CPUS", "WEFT_PROCESS_RANKS", "PMI_GUARD",
    WF_STATE_VARIABLE};
static const char *const foreign[] = {"OMPI_COMM_WORLD_", "PMIX_", "HYDI_",
                                      "PRTE_"};

/* Variables of a machine or a login are not sent to other hosts unless the user
 * names them. Variables of a login are known by their prefixes. */
static const char *const of_machine[] = {
    "HOME",    "USER",    "LOGNAME",    "SHELL",  "MAIL",   "HOSTNAME", "HOST",
    "DISPLAY", "TMPDIR",  "XAUTHORITY", "PWD",    "OLDPWD", "SHLVL",    "_",
    "TTY",     "WINDOWID"};
static const char *const of_login[] = {"SSH_", "XDG_", "DBUS_", "WAYLAND_",
                                       "SUDO_"};

static bool is_name(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool names_a_rank(const char *entry)
{
    for (size_t i = 0; i < sizeof(per_rank) / sizeof(per_rank[0]); i++)
        if (is_name(entry, per_rank[i]))
            return true;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (strncmp(entry, foreign[i], strlen(foreign[i])) == 0)
            return true;
    return false;
}

static bool belongs_to_machine(const char *entry)
{
    for (size_t i = 0; i < sizeof(of_machine) / sizeof(of_machine[0]); i++)
        if (is_name(entry, of_machine[i]))
            return true;
    for (size_t i = 0; i < sizeof(of_login) / sizeof(of_login[0]); i++)
        if (strncmp(entry, of_login[i], strlen(of_login[i])) == 0)
            return true;
    return false;
}

void wf_env_change(struct env_changes *c, const char *name, const char *value)
{
    c->list =
        wf_job_check_memory(realloc(c->list, (c->n + 1) * sizeof(*c->list)));
    c->list[c->n].name = wf_job_check_memory(strdup(name));
    c->list[c->n++].value = value;
}

void wf_env_forget(struct env_changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->list[i].name);
    free(c->list);
    *c = (struct env_changes){0};
}

static size_t count_entries(char **env)
{
    size_t n = 0;
    while (env[n])
        n++;
    return n;
}

/* Set a variable in env, which has room for it; the last setting of a name
 * wins. */
static void set_variable(char **env, const char *name, const char *value)
{
    size_t n = strlen(name) + strlen(value) + 2;
    char *entry = wf_job_check_memory(malloc(n));
    snprintf(entry, n, "%s=%s", name, value);
    size_t i = 0;
    while (env[i] && !is_name(env[i], name))
        i++;
    free(env[i]);
    env[i] = entry;
}

static void apply_changes(char **env, const struct env_changes *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *value = c->list[i].value;
        if (!value)
            value = getenv(c->list[i].name);
        if (value)
            set_variable(env, c->list[i].name, value);
    }
}

static void check_changes(const struct job *job, const struct env_changes *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->list[i].value && !getenv(c->list[i].name))
            wf_job_say(job, "%s is not set here, so it is not passed",
                       c->list[i].name);
}

void wf_env_check(const struct job *job)
{
    check_changes(job, &job->set.env);
    for (int a = 0; a < job->app_count; a++)
        check_changes(job, &job->apps[a].env);
}

/* Set the paths of Weft's installation, which is near this program; programs
 * that are linked with libmpi.a may lie anywhere. */
static void set_installation(char **env)
{
    char path[PATH_MAX], moved[2 * PATH_MAX];

    if (wf_place_moved(moved, sizeof(moved)))
        set_variable(env, "WEFT_LAUNCHER_MOVED", moved);
    if (wf_prefix_path(WF_PLUGINS_FROM_BIN, path, sizeof(path)))
        set_variable(env, "WEFT_LAUNCHER_PLUGINS", path);
    if (wf_prefix_path(WF_INI_FROM_BIN, path, sizeof(path)))
        set_variable(env, "WEFT_LAUNCHER_INI", path);
}

enum { ENV_OWN = 24 }; /* variables added by mpirun itself */

static int base_of(const struct job *job, const struct app *app)
{
    return app->env.base ? (int)app->env.base : (int)job->set.env.base;
}

bool wf_env_has_base(const struct job *job, const struct app *app)
{
    int base = base_of(job, app);
    return base == ENV_DEFAULT || base == ENV_ALL;
}

/* Copy mpirun's environment without the variables that name a rank, with room
 * for so many more. */
static char **copy_own(bool here, bool all, size_t more)
{
    char **env = wf_job_check_memory(
        calloc(count_entries(environ) + more + ENV_OWN + 1, sizeof(*env)));
    size_t n = 0;
    for (char **e = environ; all && *e; e++)
        if (!names_a_rank(*e) && (here || !belongs_to_machine(*e)))
            env[n++] = wf_job_check_memory(strdup(*e));
    return env;
}

/* Make the changes that the command line asks for. */
static void change_all(char **env, const struct job *job, const struct app *app)
{
    apply_changes(env, &job->set.env);
    apply_changes(env, &app->env);
    if (job->set.route)
        set_variable(env, "WEFT_ROUTE", job->set.route);
    if (job->set.ini)
        set_variable(env, "WEFT_INI", job->set.ini);
    if (job->set.set)
        set_variable(env, "WEFT_SET", job->set.set);
}

char **wf_env_for_agent(const struct job *job, const struct app *app)
{
    char **env = copy_own(base_of(job, app) == ENV_ALL,
                          wf_env_has_base(job, app),
                          job->set.env.n + app->env.n);
    change_all(env, job, app);
    return env;
}

/* Put DIR of --prefix in front of the directories that a variable lists. */
static void prepend_directory(char **env, const char *name, const char *dir)
{
    size_t i = 0;
    char *text;
    while (env[i] && !is_name(env[i], name))
        i++;
    const char *old = env[i] ? env[i] + strlen(name) + 1 : "";
    if (asprintf(&text, "%s%s%s", dir, *old ? ":" : "", old) < 0)
        wf_job_check_memory(NULL);
    set_variable(env, name, text);
    free(text);
}

static void set_prefix(char **env)
{
    char path[PATH_MAX];
    if (wf_prefix_path("../" WF_BIN_NAME, path, sizeof(path)))
        prepend_directory(env, "PATH", path);
    if (wf_prefix_path(WF_LIB_FROM_BIN, path, sizeof(path)))
        prepend_directory(env, "LD_LIBRARY_PATH", path);
}

/* Returns the environment of an agent's rank: what came with the launch
 * request, set over the agent's own environment. */
static char **env_of_order(const struct job *job, const struct app *app)
{
    char **env = copy_own(true, app->own_env, count_entries(app->sent_env));
    for (char **e = app->sent_env; *e; e++) {
        char *name = wf_job_check_memory(strndup(*e, strcspn(*e, "=")));
        if (strchr(*e, '='))
            set_variable(env, name, strchr(*e, '=') + 1);
        free(name);
    }
    if (job->set.prefix)
        set_prefix(env);
    return env;
}

static char **env_of_options(const struct job *job, const struct app *app)
{
    char **env = copy_own(true, wf_env_has_base(job, app),
                          job->set.env.n + app->env.n);
    change_all(env, job, app);
    return env;
}

char **wf_env_of_app(const struct job *job, const struct app *app)
{
    char **env = app->sent_env ? env_of_order(job, app)
                              : env_of_options(job, app);
    if (app->wdir)
        set_variable(env, "PWD", app->wdir);
    set_variable(env, "PMI_JOBID", job->name);
    set_variable(env, "PMI_GUARD", job->mark);
    set_installation(env);
    return env;
}

static void set_int(char **env, const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    set_variable(env, name, text);
}

/* Name the PMI descriptor for fatal messages, which go there instead of
 * standard error if standard error is still the one that the rank was given:
 * core/boot/fatal_message.c. */
static void set_say(char **env, int pmi_fd, int err_fd)
{
    struct stat pmi, err;
    char text[96];
    if (fstat(pmi_fd, &pmi) != 0 || fstat(err_fd, &err) != 0)
        return;
    snprintf(text, sizeof(text), "%d:%llu:%llu:%llu", pmi_fd,
             (unsigned long long)pmi.st_ino, (unsigned long long)err.st_dev,
             (unsigned long long)err.st_ino);
    set_variable(env, "PMI_SAY", text);
}

static void set_descriptor(char **env, const char *name, int fd)
{
    char text[48];
    if (wf_state_page_name(fd, text, sizeof(text)))
        set_variable(env, name, text);
}

char **wf_env_of_rank(char **app_env, const struct job *job,
                      const struct rank *r, int pmi_fd, int err_fd)
{
    size_t n = count_entries(app_env);
    char node[24];
    char **env = wf_job_check_memory(calloc(n + ENV_OWN + 1, sizeof(*env)));
    for (size_t i = 0; i < n; i++)
        env[i] = wf_job_check_memory(strdup(app_env[i]));
    set_int(env, "PMI_FD", pmi_fd);
    if (!job->set.output.captured && !job->set.output.merge)
        set_say(env, pmi_fd, err_fd);
    set_descriptor(env, WF_STATE_VARIABLE, r->state_page);
    set_int(env, "PMI_RANK", r->id);
    set_int(env, "PMI_SIZE", job->size);
    if (job->is_spawned)
        set_int(env, "PMI_SPAWNED", 1);
    if (r->app->each > 1)
        set_int(env, "WEFT_PROCESS_RANKS", r->rank_count);
    set_int(env, "MPI_LOCALRANKID", r->local);
    set_int(env, "MPI_LOCALNRANKS", r->local_count);
    set_int(env, "WEFT_LOCAL_RANK", r->local);
    if (r->cpus)
        set_int(env, "WEFT_BOUND_CPUS", job->bound_cpus);
    if (job->set.nodes) {
        snprintf(node, sizeof(node), "node%d", r->host->node);
        set_variable(env, "WEFT_NODE", node);
    }
    return env;
}

void wf_env_free(char **env)
{
    for (char **e = env; e && *e; e++)
        free(*e);
    free(env);
}

/* Warn of settings of other MPI libraries that have no effect here. */
void wf_env_hint(const struct job *job)
{
    static const char *const prefixes[] = {"OMPI_MCA_", "I_MPI_", "MPIR_CVAR_",
                                           "UCX_", "FI_"};
    for (char **e = environ; *e; e++)
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
            if (strncmp(*e, prefixes[i], strlen(prefixes[i])) == 0)
                wf_job_say(job, "%.*s is set; Weft does not read it",
                           (int)strcspn(*e, "="), *e);
}

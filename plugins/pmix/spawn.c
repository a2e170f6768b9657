/* Starting processes as a new job: PMIx_Spawn.
 *
 * The new processes find the port of the one that has asked for them in their
 * environment, which only the same user can read; they take it out when they
 * connect. The server itself says what it cannot do. Open MPI's mpirun and
 * PRRTE start processes, Slurm starts none.
 *
 * The answer is awaited for a time only. A later one finds that nobody waits,
 * and frees what belongs to the request.
 *
 * DESIGN  Nobody tells that a job has ended: Open MPI's server fails to make
 * the event of PMIX_NOTIFY_COMPLETION, and sends none for processes. So it is
 * asked two things, of which either alone is said of living jobs, too: is the
 * job unknown, and have all its processes left?
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static const char parent_name[] = "PMIX_WEFT_PARENT_PORT";

struct spawning {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool over, unawaited;
    pmix_status_t status;
    char *space; /* the name of the new job, or NULL */
    pmix_app_t *apps;
    size_t count;
};

/* ---- the request --------------------------------------------------------- */

static void free_words(char **words)
{
    for (char **w = words; w && *w; w++) {
        explicit_bzero(*w, strlen(*w)); /* one is the port */
        free(*w);
    }
    free(words);
}

static void free_spawning(struct spawning *s)
{
    for (size_t i = 0; i < s->count; i++) {
        pmix_app_t *a = &s->apps[i];
        free(a->cmd);
        free(a->cwd);
        free_words(a->argv);
        free_words(a->env);
        if (a->info)
            PMIX_INFO_FREE(a->info, a->ninfo);
    }
    free(s->apps);
    free(s->space);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->answered);
    free(s);
}

static struct spawning *create_spawning(size_t count)
{
    struct spawning *s = calloc(1, sizeof *s);
    pthread_condattr_t clock;

    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->answered, &clock);
    pthread_condattr_destroy(&clock);
    s->apps = calloc(count, sizeof *s->apps);
    s->count = s->apps ? count : 0;
    return s;
}

static const char *find_info(const weft_boot_command *c, const char *key)
{
    for (uint32_t i = 0; i < c->info_count; i++)
        if (strcmp(c->info[i].key, key) == 0)
            return c->info[i].value;
    return NULL;
}

static bool copy_argv(pmix_app_t *a, const weft_boot_command *c)
{
    size_t n = 0;
    bool good;

    while (c->argv && c->argv[n])
        n++;
    a->argv = calloc(n + 2, sizeof *a->argv);
    good = a->argv && (a->argv[0] = strdup(c->program));
    for (size_t i = 0; good && i < n; i++)
        good = (a->argv[i + 1] = strdup(c->argv[i])) != NULL;
    return good;
}

/* Make the environment: the port, and the lines NAME=VALUE of the info key
 * "env". */
static bool make_environment(pmix_app_t *a, const char *lines, const char *port)
{
    size_t n = 0, most = 3;

    for (const char *at = lines; at && *at; at++)
        most += *at == '\n';
    a->env = calloc(most, sizeof *a->env);
    if (!a->env || asprintf(&a->env[0], "%s=%s", parent_name, port) < 0)
        return false;
    while (lines && *lines) {
        size_t len = strcspn(lines, "\n");
        if (memchr(lines, '=', len) && !(a->env[++n] = strndup(lines, len)))
            return false;
        lines += len + (lines[len] != '\0');
    }
    return true;
}

/* Name the hosts of the info key "host". */
static bool name_hosts(pmix_app_t *a, const char *hosts)
{
    if (!hosts)
        return true;
    PMIX_INFO_CREATE(a->info, 1);
    if (!a->info)
        return false;
    a->ninfo = 1;
    wf_pmix_set_flag(a->info, PMIX_HOST, true);
    a->info->value.type = PMIX_STRING;
    a->info->value.data.string = strdup(hosts);
    return a->info->value.data.string;
}

static bool make_app(pmix_app_t *a, const weft_boot_command *c,
                     const char *port)
{
    const char *wdir = find_info(c, "wdir");

    a->maxprocs = (int)c->count;
    a->cmd = strdup(c->program);
    a->cwd = wdir ? strdup(wdir) : getcwd(NULL, 0);
    return a->cmd && a->cwd && copy_argv(a, c) &&
           make_environment(a, find_info(c, "env"), port) &&
           name_hosts(a, find_info(c, "host"));
}

static struct spawning *make_spawning(const weft_boot_spawn *q)
{
    struct spawning *s = create_spawning(q->command_count);
    bool good = s && s->count;

    for (uint32_t i = 0; good && i < q->command_count; i++)
        good = make_app(&s->apps[i], &q->commands[i], q->parent_port);
    if (good)
        return s;
    if (s)
        free_spawning(s);
    return NULL;
}

/* ---- the answer ---------------------------------------------------------- */

static void note_spawn(pmix_status_t status, char *space, void *arg)
{
    struct spawning *s = arg;
    bool unawaited;

    pthread_mutex_lock(&s->lock);
    s->status = status;
    s->space = space ? strdup(space) : NULL;
    s->over = true;
    unawaited = s->unawaited;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
    if (unawaited)
        free_spawning(s);
}

/* Wait for the answer; false: it has not come in time. */
static bool await_answer(struct spawning *s, int ms)
{
    struct timespec until;
    bool over;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000 + 1; /* the rest of a second is given, too */
    pthread_mutex_lock(&s->lock);
    while (!s->over &&
           pthread_cond_timedwait(&s->answered, &s->lock, &until) != ETIMEDOUT)
        ;
    over = s->over;
    s->unawaited = true;
    pthread_mutex_unlock(&s->lock);
    return over;
}

static int explain_refusal(pmix_status_t status, weft_boot_error *why)
{
    bool never =
        status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_NOT_AVAILABLE;

    snprintf(why->text, sizeof why->text,
             never ? "the PMIx server starts no processes for others (%s)"
                   : "the PMIx server has not started the processes: %s",
             PMIx_Error_string(status));
    return never ? WEFT_ENOTSUP : WEFT_EUNREACH;
}

/* Remember a new job, whose name is taken out of the request. Returns its
 * number; 0: without its name nobody can ask for it. */
static int remember_job(struct weft_boot *b, struct spawning *s)
{
    char **space = &b->spaces[(b->jobs + 1) % JOBS];

    if (!s->space || b->jobs == INT_MAX)
        return 0;
    free(*space);
    *space = s->space;
    s->space = NULL;
    return ++b->jobs;
}

int wf_pmix_spawn(struct weft_boot *b, const weft_boot_spawn *q,
                  weft_boot_error *why)
{
    struct spawning *s = make_spawning(q);
    pmix_status_t r;
    int rc;

    if (!s) {
        snprintf(why->text, sizeof why->text, "no memory for a spawn request");
        return WEFT_ENOMEM;
    }
    r = PMIx_Spawn_nb(NULL, 0, s->apps, s->count, note_spawn, s);
    if (r == PMIX_SUCCESS && !await_answer(s, q->wait_ms)) {
        snprintf(why->text, sizeof why->text,
                 "the PMIx server has not said within %.3g s (core."
                 "start_timeout) that it has started '%.100s'",
                 q->wait_ms / 1e3, q->commands[0].program);
        return WEFT_EUNREACH;
    }
    if (r == PMIX_SUCCESS)
        r = s->status;
    rc = r == PMIX_SUCCESS || r == PMIX_OPERATION_SUCCEEDED
             ? remember_job(b, s)
             : explain_refusal(r, why);
    free_spawning(s);
    return rc;
}

/* ---- the end of a job ---------------------------------------------------- */

/* Whether the server of this node knows the job. One that has ended is unknown,
 * and so may be one that has no process on this node. */
static bool is_known(const char *space)
{
    pmix_value_t *v = NULL;
    pmix_proc_t all;
    pmix_info_t how[2];
    pmix_status_t r;

    memset(&all, 0, sizeof all);
    snprintf(all.nspace, sizeof all.nspace, "%s", space);
    all.rank = PMIX_RANK_WILDCARD;
    wf_pmix_set_flag(&how[0], PMIX_IMMEDIATE, true);
    wf_pmix_set_flag(&how[1], PMIX_GET_REFRESH_CACHE, true);
    r = PMIx_Get(&all, PMIX_JOB_SIZE, how, 2, &v);
    if (v)
        PMIX_VALUE_RELEASE(v);
    return r != PMIX_ERR_NOT_FOUND;
}

/* Whether a process has ended, or has closed its output: Open MPI has no state
 * for either, and says 0. */
static bool has_left(const pmix_proc_info_t *p)
{
    return p->state >= PMIX_PROC_STATE_TERMINATED ||
           (p->state == PMIX_PROC_STATE_UNDEF && p->pid > 0);
}

/* Whether a table of processes says that all have left. Servers give the
 * records as they are, or each in an info. */
static bool have_all_left(const pmix_data_array_t *table)
{
    const pmix_proc_info_t *p = table->array;
    const pmix_info_t *info = table->array;
    bool wrapped = table->type == PMIX_INFO, left = table->size > 0;

    if (!wrapped && table->type != PMIX_PROC_INFO)
        return false;
    for (size_t i = 0; left && i < table->size; i++)
        left = !wrapped ? has_left(&p[i])
                        : info[i].value.type == PMIX_PROC_INFO &&
                              has_left(info[i].value.data.pinfo);
    return left;
}

static bool have_processes_left(char *space)
{
    const pmix_value_t *v;
    pmix_info_t which, *answers;
    bool left;
    size_t n;

    wf_pmix_set_flag(&which, PMIX_NSPACE, true);
    which.value.type = PMIX_STRING;
    which.value.data.string = space;
    answers = wf_pmix_ask_query(PMIX_QUERY_PROC_TABLE, &which, &n);
    v = wf_pmix_find_answer(answers, n, PMIX_QUERY_PROC_TABLE, PMIX_DATA_ARRAY);
    left = v && v->data.darray && have_all_left(v->data.darray);
    if (answers)
        PMIX_INFO_FREE(answers, n);
    return left;
}

int wf_pmix_has_ended(struct weft_boot *b, int job)
{
    char *space = job > 0 && job <= b->jobs && b->jobs - job < JOBS
                      ? b->spaces[job % JOBS]
                      : NULL;

    return space && !is_known(space) && have_processes_left(space);
}

void wf_pmix_forget_jobs(struct weft_boot *b)
{
    for (int i = 0; i < JOBS; i++)
        free(b->spaces[i]);
}

/* ---- the other side ------------------------------------------------------ */

int wf_pmix_take_parent(char **port)
{
    const char *value = getenv(parent_name);

    *port = value ? strdup(value) : NULL;
    if (value && !*port)
        return WEFT_ENOMEM;
    unsetenv(parent_name); /* programs that this one starts are no children */
    return 0;
}

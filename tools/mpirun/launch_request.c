/* This file writes and reads launch requests: see launch_request.h.
 *
 *   settings | programs | hosts | ranks
 *
 * Numbers have four bytes, little-endian; a text is its length, its bytes and a
 * zero byte, so that the reader may point into the request. The reader trusts
 * nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "launch_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "machine.h"

enum launch_flag {
    LAUNCH_CAPTURED = 1,
    LAUNCH_VERBOSE = 2,
    LAUNCH_MERGE = 4,
    LAUNCH_REPORT_BINDINGS = 8,
    LAUNCH_PRETENDED = 16, /* the nodes are those of --nodes */
    LAUNCH_PREFIX = 32,
    LAUNCH_CHECK_NET = 64,
    LAUNCH_SPAWNED = 128
};

/* ---- writing ------------------------------------------------------------- */

static void put_number(FILE *f, uint32_t n)
{
    char bytes[4];

    wf_number_write(bytes, n);
    fwrite(bytes, 1, sizeof bytes, f);
}

static void put_text(FILE *f, const char *text)
{
    put_number(f, (uint32_t)strlen(text));
    fwrite(text, 1, strlen(text) + 1, f);
}

static void put_list(FILE *f, char **list)
{
    uint32_t n = 0;

    while (list && list[n])
        n++;
    put_number(f, n);
    for (uint32_t i = 0; i < n; i++)
        put_text(f, list[i]);
}

static uint32_t flags_of(const struct job *job)
{
    return (job->set.output.captured ? LAUNCH_CAPTURED : 0) |
           (job->set.output.merge ? LAUNCH_MERGE : 0) |
           (job->set.verbose ? LAUNCH_VERBOSE : 0) |
           (job->set.report_bindings ? LAUNCH_REPORT_BINDINGS : 0) |
           (job->set.nodes ? LAUNCH_PRETENDED : 0) |
           (job->set.prefix ? LAUNCH_PREFIX : 0) |
           (job->set.check_net ? LAUNCH_CHECK_NET : 0) |
           (job->is_spawned ? LAUNCH_SPAWNED : 0);
}

/* Write the part of the placement that is decided on the host. */
static void put_placement(FILE *f, const struct placement *p)
{
    const uint32_t numbers[] = {p->map, (uint32_t)p->per, (uint32_t)p->width,
                                p->by_thread, p->rank, p->binding, p->bind,
                                p->overload, p->if_supported};
    const char *const texts[] = {p->map_text, p->rank_text, p->bind_text,
                                 p->cpus, p->list};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_number(f, numbers[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(f, texts[i] ? texts[i] : "");
}

static void put_settings(FILE *f, const struct job *job)
{
    put_text(f, job->name);
    put_number(f, (uint32_t)job->size);
    put_number(f, flags_of(job));
    put_number(f, (uint32_t)job->set.umask);
    put_number(f, (uint32_t)job->set.tree_width);
    put_number(f, (uint32_t)(job->set.host_timeout * 1000));
    put_number(f, (uint32_t)(job->set.wait_hosts * 1000));
    put_text(f, job->set.starter);
    put_text(f, job->set.agent);
    put_placement(f, &job->set.place);
}

static void put_app(FILE *f, struct job *job, struct app *app)
{
    char *dir = app->wdir ? NULL : getcwd(NULL, 0);
    char **env = app->sent_env ? NULL : wf_env_for_agent(job, app);

    put_number(f, (uint32_t)app->each);
    put_list(f, app->argv);
    put_text(f, app->wdir ? app->wdir : dir ? dir : "/");
    put_text(f, app->path ? app->path : "");
    put_number(f, app->sent_env ? app->own_env : wf_env_has_base(job, app));
    put_list(f, app->sent_env ? app->sent_env : env);
    wf_env_free(env);
    free(dir);
}

/* Write the CPUs to which the agent of a pretended host binds the process. */
static void put_cpus(FILE *f, const struct wf_cpus *s)
{
    static char text[5 * WF_CPUS_MAX];

    if (s)
        wf_cpus_text(s, text, sizeof text);
    put_text(f, s ? text : "");
}

static void put_rank(FILE *f, const struct job *job, const struct rank *r)
{
    put_number(f, (uint32_t)r->index);
    put_number(f, (uint32_t)r->id);
    put_number(f, (uint32_t)r->rank_count);
    put_number(f, (uint32_t)(r->app - job->apps));
    put_number(f, (uint32_t)r->host->node);
    put_number(f, (uint32_t)r->local);
    put_number(f, (uint32_t)r->local_count);
    put_number(f, r->reads_input);
    put_cpus(f, r->cpus);
}

static void put_hosts(FILE *f, const struct job *job, const struct link *l)
{
    uint32_t n = 0;

    for (int i = 0; i < job->hosts.count; i++)
        n += job->hosts.all[i].link == l;
    put_number(f, n);
    for (int i = 0; i < job->hosts.count; i++)
        if (job->hosts.all[i].link == l) {
            put_number(f, (uint32_t)job->hosts.all[i].node);
            put_text(f, job->hosts.all[i].name);
        }
}

static void put_ranks(FILE *f, const struct job *job, const struct link *l)
{
    uint32_t n = 0;

    for (int i = 0; i < job->count; i++)
        n += job->ranks[i].host->link == l;
    put_number(f, n);
    for (int i = 0; i < job->count; i++)
        if (job->ranks[i].host->link == l)
            put_rank(f, job, &job->ranks[i]);
}

void wf_launch_request_send(struct job *job, struct link *l)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (f) {
        put_settings(f, job);
        put_number(f, (uint32_t)job->app_count);
        for (int a = 0; a < job->app_count; a++)
            put_app(f, job, &job->apps[a]);
        put_hosts(f, job, l);
        put_ranks(f, job, l);
    }
    if (f && fclose(f) == 0)
        wf_channel_send(job, &l->channel, FRAME_LAUNCH, l->host->node, 0, text,
                        n);
    free(text);
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const char *at;
    size_t left;
    bool bad;
};

static uint32_t get_number(struct reader *r)
{
    uint32_t n;

    r->bad = r->bad || r->left < 4;
    if (r->bad)
        return 0;
    n = wf_number_read(r->at);
    r->at += 4;
    r->left -= 4;
    return n;
}

/* Read a number that is at most `most`. */
static int get_count(struct reader *r, uint32_t most)
{
    uint32_t n = get_number(r);

    r->bad = r->bad || n > most;
    return r->bad ? 0 : (int)n;
}

/* Read a text; the result is never NULL. */
static char *get_text(struct reader *r)
{
    static char none[1];
    size_t n = get_number(r);
    char *text;

    r->bad = r->bad || r->left <= n || r->at[n] != '\0' ||
             memchr(r->at, '\0', n) != NULL;
    if (r->bad)
        return none;
    text = (char *)(uintptr_t)r->at;
    r->at += n + 1;
    r->left -= n + 1;
    return text;
}

/* Allocate an array if so many members of at least this size can follow. */
static void *get_array(struct reader *r, int *count, size_t least, size_t size)
{
    uint32_t n = get_number(r);
    void *list;

    r->bad = r->bad || n > r->left / least;
    list = r->bad ? NULL : calloc((size_t)n + 1, size);
    r->bad = r->bad || !list;
    *count = list ? (int)n : 0;
    return list;
}

static char **get_list(struct reader *r)
{
    int n;
    char **list = get_array(r, &n, 5, sizeof *list);

    for (int i = 0; i < n; i++)
        list[i] = get_text(r);
    return list;
}

static const char *get_option(struct reader *r)
{
    const char *text = get_text(r);

    return *text ? text : NULL;
}

static void get_placement(struct reader *r, struct placement *p)
{
    struct wf_cpus s;

    p->map = get_count(r, PLACE_THREAD);
    p->per = get_count(r, PLACEMENT_MOST);
    p->width = get_count(r, PLACEMENT_MOST);
    p->by_thread = get_count(r, 1);
    p->rank = get_count(r, PLACE_THREAD);
    p->binding = get_count(r, BIND_LIST);
    p->bind = get_count(r, PLACE_THREAD);
    p->overload = get_count(r, 1);
    p->if_supported = get_count(r, 1);
    p->map_text = get_option(r);
    p->rank_text = get_option(r);
    p->bind_text = get_option(r);
    p->cpus = get_option(r);
    p->list = get_option(r);
    r->bad = r->bad || (p->cpus && !wf_cpus_read(p->cpus, &s)) ||
             (p->binding == BIND_PART && p->bind < PLACE_NODE) ||
             (p->binding == BIND_LIST && (!p->list || !p->bind_text)) ||
             (p->per && !wf_place_is_part(p->map));
}

static void get_settings(struct reader *r, struct job *job)
{
    uint32_t flags;

    snprintf(job->name, sizeof job->name, "%s", get_text(r));
    job->size = get_count(r, INT32_MAX);
    flags = get_number(r);
    job->set.output.captured = flags & LAUNCH_CAPTURED;
    job->set.output.merge = flags & LAUNCH_MERGE;
    job->set.verbose = flags & LAUNCH_VERBOSE;
    job->set.report_bindings = flags & LAUNCH_REPORT_BINDINGS;
    job->set.nodes = flags & LAUNCH_PRETENDED ? 1 : 0;
    job->set.prefix = flags & LAUNCH_PREFIX ? "" : NULL;
    job->set.check_net = flags & LAUNCH_CHECK_NET ? "" : NULL;
    job->is_spawned = flags & LAUNCH_SPAWNED;
    job->set.umask = get_count(r, 0777);
    job->set.tree_width = get_count(r, INT32_MAX);
    job->set.host_timeout = get_number(r) / 1000.0;
    job->set.wait_hosts = get_number(r) / 1000.0;
    job->set.starter = get_text(r);
    job->set.agent = get_text(r);
    get_placement(r, &job->set.place);
    r->bad = r->bad || job->set.tree_width < 1 || !job->set.starter[0];
}

static void get_app(struct reader *r, struct app *app)
{
    app->each = get_count(r, INT32_MAX);
    app->argv = get_list(r);
    app->wdir = get_text(r);
    app->path = get_option(r);
    app->own_env = get_count(r, 1);
    app->sent_env = get_list(r);
    r->bad = r->bad || !app->argv || !app->argv[0];
}

static void get_host(struct reader *r, struct job *job, int i)
{
    struct host *h = &job->hosts.all[i];

    h->node = get_count(r, INT32_MAX);
    h->name = get_text(r);
    h->here = i == 0;
    r->bad = r->bad || (i > 0 && h->node <= h[-1].node);
}

static const struct wf_cpus *get_cpus(struct reader *r)
{
    const char *text = get_text(r);
    struct wf_cpus *s;

    if (!*text)
        return NULL;
    s = calloc(1, sizeof *s);
    r->bad = r->bad || !s || !wf_cpus_read(text, s);
    return s;
}

static void get_rank(struct reader *r, struct job *job, int i)
{
    struct rank *rank = &job->ranks[i];
    int app;

    wf_map_clear(rank);
    rank->index = get_count(r, INT32_MAX);
    rank->id = get_count(r, INT32_MAX);
    rank->rank_count = get_count(r, INT32_MAX);
    app = get_count(r, INT32_MAX);
    rank->host = wf_host_of_node(&job->hosts, get_count(r, INT32_MAX));
    rank->local = get_count(r, INT32_MAX);
    rank->local_count = get_count(r, INT32_MAX);
    rank->reads_input = get_count(r, 1);
    rank->cpus = get_cpus(r);
    r->bad = r->bad || app >= job->app_count || !rank->host ||
             (i > 0 && rank->index <= rank[-1].index);
    if (!r->bad)
        rank->app = &job->apps[app];
}

bool wf_launch_request_read(struct job *job, const char *data, size_t n)
{
    struct reader r = {data, n, false};

    get_settings(&r, job);
    job->apps = get_array(&r, &job->app_count, 25, sizeof *job->apps);
    for (int i = 0; i < job->app_count && !r.bad; i++)
        get_app(&r, &job->apps[i]);
    job->hosts.all = get_array(&r, &job->hosts.count, 9, sizeof(struct host));
    for (int i = 0; i < job->hosts.count && !r.bad; i++)
        get_host(&r, job, i);
    job->ranks = get_array(&r, &job->count, 32, sizeof *job->ranks);
    for (int i = 0; i < job->count && !r.bad; i++)
        get_rank(&r, job, i);
    return !r.bad && r.left == 0 && job->hosts.count > 0;
}

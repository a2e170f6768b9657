/* The bootstrap whose launcher a plugin speaks with.
 *
 * DESIGN  The plugin's own thread says that a fence has ended, so an eventfd
 * carries the news to whoever waits: it is readable from then on.
 *
 * INVARIANTS  What the launcher says has been checked before the core sees it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/by_plugin.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "boot/boot.h"
#include "boot/fatal_message.h"
#include "boot/spawn.h"
#include "os/atomic.h"
#include "os/hash.h"
#include "report/error.h"

struct by_plugin {
    struct wf_boot base;
    struct wf_boot_ops ops; /* with the plugin's name */
    const weft_bootstrap *plugin;
    weft_boot *boot;
    weft_boot_host host;
    int event;             /* readable when a fence has ended */
    wf_atomic_u32 passed;  /* the fence has ended */
    wf_atomic_u32 failure; /* its result, negated */
    weft_boot_pset *psets; /* once `asked` */
    struct wf_boot_pset *sets;
    uint32_t set_count;
    bool asked;
};

static struct by_plugin *plugin_of(struct wf_boot *boot)
{
    return wf_container(boot, struct by_plugin, base);
}

/* Record why the launcher did not do `what`; returns rc. */
static int record_failure(const struct by_plugin *p, int rc, const char *what,
                          const char *why)
{
    if (rc != WEFT_ENOMEM && rc != WEFT_EUNREACH)
        wf_fail(WEFT_ESYS, "%s %s: %s", p->plugin->name, what, why);
    return rc;
}

/* ---- put and get --------------------------------------------------------- */

/* Returns the process that puts this key: of "weft.card.7" and "weft.card.7.1"
 * process 7; rank 0 of any other. */
static uint32_t find_owner(const char *key, uint32_t size)
{
    static const char card[] = "weft.card.";
    unsigned long rank = 0;

    if (strncmp(key, card, sizeof card - 1) == 0)
        rank = strtoul(key + sizeof card - 1, NULL, 10);
    return rank < size ? (uint32_t)rank : 0;
}

static int by_plugin_put(struct wf_boot *boot, const char *key,
                         const void *value, size_t n)
{
    struct by_plugin *p = plugin_of(boot);
    weft_boot_error why = {""};
    int rc = p->plugin->put(p->boot, key, value, n, &why);

    return rc < 0 ? record_failure(p, rc, "put", why.text) : 0;
}

static int by_plugin_get(struct wf_boot *boot, const char *key, void **value,
                         size_t *n)
{
    struct by_plugin *p = plugin_of(boot);
    weft_boot_error why = {""};
    int rc = p->plugin->get(p->boot, find_owner(key, boot->size), key, value, n,
                            &why);

    return rc < 0 ? record_failure(p, rc, "get", why.text) : 0;
}

/* ---- the fence ----------------------------------------------------------- */

/* The plugin's thread calls this; nothing of the boot is touched after the
 * write. */
static void note_end_of_fence(void *arg, int result)
{
    struct by_plugin *p = arg;
    const uint64_t one = 1;
    int event = p->event;

    wf_store_relaxed(&p->failure, result < 0 ? (uint32_t)-result : 0);
    wf_store_release(&p->passed, 1);
    while (write(event, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static int by_plugin_fence_start(struct wf_boot *boot, int *fd)
{
    struct by_plugin *p = plugin_of(boot);
    weft_boot_error why = {""};
    int rc;

    *fd = p->event;
    wf_store_relaxed(&p->passed, 0);
    rc = p->plugin->fence(p->boot, &why);
    return rc < 0 ? record_failure(p, rc, "fence", why.text) : 0;
}

static bool by_plugin_fence_passed(struct wf_boot *boot)
{
    return wf_load_acquire(&plugin_of(boot)->passed); /* note_end_of_fence() */
}

static int by_plugin_fence_end(struct wf_boot *boot)
{
    struct by_plugin *p = plugin_of(boot);
    struct pollfd in = {.fd = p->event, .events = POLLIN};
    uint64_t count;
    int rc;

    while (poll(&in, 1, -1) < 0 && errno == EINTR)
        ;
    if (read(p->event, &count, sizeof count) < 0)
        return record_failure(p, WEFT_ESYS, "fence", strerror(errno));
    rc = -(int)wf_load_relaxed(&p->failure);
    return rc < 0 ? record_failure(p, rc, "fence",
                                   "it ended before all processes had arrived")
                  : 0;
}

/* ---- process sets -------------------------------------------------------- */

static bool is_set_valid(const weft_boot_pset *set, uint32_t size)
{
    bool valid = set->count && set->ranks && set->name && set->name[0] &&
                 strlen(set->name) < MPI_MAX_PSET_NAME_LEN;

    for (uint32_t i = 0; valid && i < set->count; i++)
        valid = set->ranks[i] < size;
    return valid;
}

static int by_plugin_psets(struct wf_boot *boot,
                           const struct wf_boot_pset **sets, uint32_t *count)
{
    struct by_plugin *p = plugin_of(boot);
    uint32_t n = 0;

    if (!p->asked && WEFT_HAS(p->plugin, weft_bootstrap, psets) &&
        p->plugin->psets(p->boot, &p->psets) == WEFT_ENOMEM)
        return WEFT_ENOMEM;
    p->asked = true;
    for (weft_boot_pset *s = p->psets; s; s = s->next)
        n++;
    if (n && !p->sets) {
        p->sets = calloc(n, sizeof *p->sets);
        if (!p->sets)
            return WEFT_ENOMEM;
        for (weft_boot_pset *s = p->psets; s; s = s->next)
            if (is_set_valid(s, boot->size))
                p->sets[p->set_count++] =
                    (struct wf_boot_pset){s->name, s->count, s->ranks};
    }
    *sets = p->sets;
    *count = p->set_count;
    return 0;
}

static void free_psets(struct by_plugin *p)
{
    while (p->psets) {
        weft_boot_pset *s = p->psets;
        p->psets = s->next;
        free(s->ranks);
        free(s->name);
        free(s);
    }
    free(p->sets);
}

/* ---- spawning ------------------------------------------------------------ */

static int by_plugin_spawn(struct wf_boot *boot,
                           const struct weft_boot_spawn *q)
{
    struct by_plugin *p = plugin_of(boot);
    weft_boot_error why = {"it starts no processes for others"};
    int rc = WEFT_HAS(p->plugin, weft_bootstrap, spawn)
                 ? p->plugin->spawn(p->boot, q, &why)
                 : WEFT_ENOTSUP;

    return rc < 0 ? wf_fail(rc, "%s: %s", p->plugin->name, why.text) : rc;
}

static bool by_plugin_has_ended(struct wf_boot *boot, int job)
{
    struct by_plugin *p = plugin_of(boot);

    return WEFT_HAS(p->plugin, weft_bootstrap, has_ended) &&
           p->plugin->has_ended(p->boot, job) > 0;
}

/* ---- the end ------------------------------------------------------------- */

static void by_plugin_abort(struct wf_boot *boot, int code, const char *message)
{
    struct by_plugin *p = plugin_of(boot);

    p->plugin->abort(p->boot, code, message);
}

static int by_plugin_finalize(struct wf_boot *boot)
{
    struct by_plugin *p = plugin_of(boot);
    weft_boot_error why = {""};
    int rc = p->plugin->finalize(p->boot, &why);

    return rc < 0 ? record_failure(p, rc, "finalize", why.text) : 0;
}

static void by_plugin_close(struct wf_boot *boot)
{
    struct by_plugin *p = plugin_of(boot);

    if (p->boot)
        p->plugin->close(p->boot);
    if (p->event >= 0)
        close(p->event);
    free_psets(p);
    if (boot->parent_port)
        explicit_bzero(boot->parent_port, strlen(boot->parent_port));
    free(boot->parent_port);
    free(boot->node_of);
    free(p);
}

/* End the process, because its launcher is gone: nobody else would end it. */
static void end_without_launcher(void *arg, const char *why)
{
    const struct by_plugin *p = arg;
    char text[WEFT_BOOT_WHY];
    int n = snprintf(text, sizeof text,
                     "weft " WEFT_VERSION ": rank %u: the launcher is gone "
                     "(%s: %.100s); this process ends\n",
                     p->base.rank, p->plugin->name, why);

    wf_boot_print_fatal(text, (size_t)n);
    _exit(1);
}

/* ---- opening ------------------------------------------------------------- */

/* Take over what the launcher says of the job; false: it makes no sense. */
static bool take_facts(struct by_plugin *p, weft_boot_job *job)
{
    struct wf_boot *b = &p->base;
    bool known = job->node_of && job->nodes;

    b->node_of = job->node_of;
    b->parent_port = job->parent_port;
    b->is_spawned = b->parent_port != NULL;
    b->rank = job->rank;
    b->size = job->count;
    b->appnum = job->appnum;
    b->universe_size = job->universe;
    for (uint32_t i = 0; known && i < b->size; i++)
        known = b->node_of[i] < job->nodes;
    if (!known) {
        free(b->node_of);
        b->node_of = NULL;
    }
    b->node_count = known ? job->nodes : 0;
    b->one_host = b->node_count == 1;
    job->name[sizeof job->name - 1] = 0;
    /* the part by which names differ may be at the end */
    snprintf(b->job, sizeof b->job, "%.40s-%016llx", job->name,
             (unsigned long long)wf_hash_text(job->name));
    return b->size > 0 && b->size <= INT32_MAX && b->rank < b->size;
}

static const struct wf_boot_ops by_plugin_ops = {
    .put = by_plugin_put,
    .get = by_plugin_get,
    .fence_start = by_plugin_fence_start,
    .fence_passed = by_plugin_fence_passed,
    .fence_end = by_plugin_fence_end,
    .psets = by_plugin_psets,
    .spawn = by_plugin_spawn,
    .has_ended = by_plugin_has_ended,
    .abort = by_plugin_abort,
    .finalize = by_plugin_finalize,
    .close = by_plugin_close,
};

int wf_boot_by_plugin_open(const weft_bootstrap *plugin, struct wf_boot **out,
                           char *err, size_t err_len)
{
    weft_boot_error why = {""};
    weft_boot_job job = {.size = sizeof job, .appnum = -1};
    struct by_plugin *p = calloc(1, sizeof *p);
    int rc;

    if (!p) {
        snprintf(err, err_len, "no memory to talk with the launcher");
        return WEFT_ENOMEM;
    }
    p->ops = by_plugin_ops;
    p->ops.name = plugin->name;
    p->base.ops = &p->ops;
    p->base.is_launched = 1;
    p->plugin = plugin;
    p->host = (weft_boot_host){sizeof p->host, p, note_end_of_fence,
                               end_without_launcher};
    p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->event < 0) {
        snprintf(err, err_len, "eventfd: %s", strerror(errno));
        rc = errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
    } else {
        rc = plugin->open(&p->host, &p->boot, &job, &why);
        snprintf(err, err_len, "%s", why.text);
    }
    if (rc == 0 && !take_facts(p, &job)) {
        snprintf(err, err_len, "the launcher says rank %u of %u", job.rank,
                 job.count);
        rc = WEFT_EPROTO;
    }
    if (rc < 0) {
        by_plugin_close(&p->base);
        return rc;
    }
    *out = &p->base;
    return 0;
}

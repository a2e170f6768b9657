/* A key-value space in this process: for a singleton, for several instances
 * in one process, and for tests.
 *
 * The fence returns at once: the creator of several boots must let all of them
 * put before any of them gets.
 *
 * A singleton that spawns others starts a launcher of its own.
 *
 * LOCK  space.lock covers entries and users; ranks may live on threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "boot/boot.h"
#include "boot/pmi1.h"

struct entry {
    struct entry *next;
    char *key;
    size_t n;
    uint8_t value[];
};

struct space {
    pthread_mutex_t lock;
    struct entry *entries; /* newest first, so that a second put wins */
    uint32_t users;        /* boots not yet closed */
};

struct memory_boot {
    struct wf_boot base;
    struct space *space;
};

static struct space *space_of(struct wf_boot *boot)
{
    return wf_container(boot, struct memory_boot, base)->space;
}

static int memory_put(struct wf_boot *boot, const char *key, const void *value,
                      size_t n)
{
    struct space *s = space_of(boot);
    struct entry *e = malloc(sizeof(*e) + n);
    if (!e)
        return WEFT_ENOMEM;
    e->key = strdup(key);
    if (!e->key) {
        free(e);
        return WEFT_ENOMEM;
    }
    e->n = n;
    if (n)
        memcpy(e->value, value, n);
    pthread_mutex_lock(&s->lock);
    e->next = s->entries;
    s->entries = e;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static int copy_out(const struct entry *e, void **value, size_t *n)
{
    void *copy = malloc(e->n ? e->n : 1);
    if (!copy)
        return WEFT_ENOMEM;
    memcpy(copy, e->value, e->n);
    *value = copy;
    *n = e->n;
    return 0;
}

static int memory_get(struct wf_boot *boot, const char *key, void **value,
                      size_t *n)
{
    struct space *s = space_of(boot);
    int rc = WEFT_EUNREACH;
    pthread_mutex_lock(&s->lock);
    for (struct entry *e = s->entries; e; e = e->next) {
        if (strcmp(e->key, key) == 0) {
            rc = copy_out(e, value, n);
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static int memory_fence_start(struct wf_boot *boot, int *fd)
{
    *fd = -1;
    return 0;
}

static int do_nothing(struct wf_boot *boot)
{
    return 0;
}

static void memory_abort(struct wf_boot *boot, int code, const char *message)
{
    /* No launcher: the caller ends the process. */
}

static void leave_space(struct space *s)
{
    pthread_mutex_lock(&s->lock);
    bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    while (s->entries) {
        struct entry *e = s->entries;
        s->entries = e->next;
        free(e->key);
        free(e);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void memory_close(struct wf_boot *boot)
{
    struct memory_boot *m = wf_container(boot, struct memory_boot, base);
    leave_space(m->space);
    free(boot->node_of);
    free(m);
}

static const struct wf_boot_ops memory_ops = {
    .name = "memory",
    .put = memory_put,
    .get = memory_get,
    .fence_start = memory_fence_start,
    .fence_end = do_nothing,
    .abort = memory_abort,
    .finalize = do_nothing,
    .close = memory_close,
};
/* ---- a process without a launcher ---------------------------------------- */

static int singleton_finalize(struct wf_boot *boot)
{
    return boot->server ? boot->server->ops->finalize(boot->server) : 0;
}

static void singleton_close(struct wf_boot *boot)
{
    if (boot->server)
        boot->server->ops->close(boot->server);
    memory_close(boot);
}

static const struct wf_boot_ops singleton_ops = {
    .name = "singleton",
    .put = memory_put,
    .get = memory_get,
    .fence_start = memory_fence_start,
    .fence_end = do_nothing,
    .abort = memory_abort,
    .finalize = singleton_finalize,
    .close = singleton_close,
};

static struct wf_boot *create_boot(struct space *s, uint32_t rank,
                                   uint32_t size)
{
    struct memory_boot *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->base.ops = &memory_ops;
    m->base.rank = rank;
    m->base.size = size;
    m->base.appnum = -1;
    m->base.node_of = calloc(size, sizeof(uint32_t)); /* NULL: unknown */
    m->base.node_count = 1;
    m->base.one_host = 1;
    m->space = s;
    s->users++;
    return &m->base;
}

int wf_boot_memory_create(uint32_t size, struct wf_boot **ranks)
{
    struct space *s = calloc(1, sizeof(*s));
    char job[64];
    if (!s)
        return WEFT_ENOMEM;
    pthread_mutex_init(&s->lock, NULL);
    wf_boot_unique_name(job, "memory");
    s->users = 1; /* this function, so that a failure can close the boots */
    uint32_t r = 0;
    for (; r < size; r++) {
        ranks[r] = create_boot(s, r, size);
        if (!ranks[r])
            break;
        memcpy(ranks[r]->job, job, sizeof(job));
    }
    bool complete = r == size;
    while (!complete && r-- > 0)
        memory_close(ranks[r]);
    leave_space(s);
    return complete ? 0 : WEFT_ENOMEM;
}

int wf_boot_singleton_open(struct wf_boot **out, char *err, size_t err_len)
{
    int rc = wf_boot_memory_create(1, out);
    if (rc < 0) {
        snprintf(err, err_len, "out of memory");
        return rc;
    }
    (*out)->ops = &singleton_ops;
    (*out)->starts_launcher = 1;
    wf_boot_unique_name((*out)->job, "single");
    return 0;
}

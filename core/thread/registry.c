/* The registry of the mailboxes of this process, by index: ranks find each
 * other's mailboxes here.
 *
 * This is the only state that ranks of a process share besides what they were
 * started with. An address names the process by random bytes, which a child
 * made by fork does not keep.
 *
 * LOCK  registry.lock protects everything here but deaths.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "thread/registry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "thread/mailbox.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static struct {
    pthread_mutex_t lock; /* an unfair lock: a thousand ranks come at once */
    pid_t pid;            /* of the process that process[] names */
    uint64_t process[2];
    struct mailbox **list;
    uint32_t n, room, generation;
    uint32_t free; /* no index below it is free */
    wf_atomic_u32 deaths;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Chooses the random name of this process. The lock is held. Returns false if
 * there are no random bytes. */
static bool name_process(void)
{
    if (registry.pid == getpid())
        return true;
    if (getrandom(registry.process, sizeof registry.process, 0) !=
        (ssize_t)sizeof registry.process)
        return false;
    registry.pid = getpid();
    return true;
}

/* Returns a free index, or -1. The lock is held. */
static int64_t take_free_index(void)
{
    uint32_t i = registry.free;
    while (i < registry.n && registry.list[i])
        i++;
    if (i == registry.room) {
        uint32_t room = registry.room ? 2 * registry.room : 16;
        void *list = i < MAIL_SENDERS
                         ? realloc(registry.list, room * sizeof(void *))
                         : NULL;
        if (!list)
            return -1;
        registry.list = list;
        registry.room = room;
    }
    if (i == registry.n)
        registry.n++;
    registry.free = i + 1;
    return i;
}

static int register_mailbox(struct mailbox *m)
{
    int64_t i = -1;
    pthread_mutex_lock(&registry.lock);
    if (name_process())
        i = take_free_index();
    if (i >= 0) {
        m->index = (uint32_t)i;
        m->generation = ++registry.generation;
        registry.list[i] = m;
    }
    pthread_mutex_unlock(&registry.lock);
    return i < 0 ? WEFT_ENOMEM : 0;
}

static size_t ring_bytes(const struct mailbox *m)
{
    return ((size_t)m->mask + 1) * sizeof *m->lines;
}

struct mailbox *wf_mail_open(uint32_t loc_id, uint32_t lines, int *error)
{
    struct mailbox *m = aligned_alloc(64, sizeof *m);
    *error = WEFT_ENOMEM;
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    m->loc_id = loc_id;
    m->refs = 1;
    m->mask = MAIL_LINES_MIN - 1;
    while (m->mask < lines - 1)
        m->mask = 2 * m->mask + 1;
    /* pages are allocated when they are touched */
    m->lines = mmap(NULL, ring_bytes(m), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->lines == MAP_FAILED)
        goto err_lines;
    m->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->bell < 0) {
        *error = WEFT_ESYS;
        goto err_bell;
    }
    if ((*error = register_mailbox(m)) == 0)
        return m;
    close(m->bell);
err_bell:
    munmap(m->lines, ring_bytes(m));
err_lines:
    free(m);
    return NULL;
}

void wf_mail_populate(struct mailbox *m)
{
    /* an old kernel does not know this: then the first messages touch them */
    (void)madvise(m->lines, ring_bytes(m), MADV_POPULATE_WRITE);
}

void wf_mail_release(struct mailbox *m)
{
    if (wf_add_acq_rel(&m->refs, UINT32_MAX) > 1)
        return;
    close(m->bell);
    munmap(m->lines, ring_bytes(m));
    free(m);
}

void wf_mail_close(struct mailbox *m)
{
    bool left = wf_load_relaxed(&m->closed) == MAIL_LEAVING;
    pthread_mutex_lock(&registry.lock);
    registry.list[m->index] = NULL;
    if (m->index < registry.free)
        registry.free = m->index;
    wf_store_release(&m->closed, MAIL_GONE); /* pairs with report_dead_peers */
    if (!left)
        wf_add_acq_rel(&registry.deaths, 1);
    for (uint32_t i = 0; !left && i < registry.n; i++)
        if (registry.list[i])
            wf_mail_wake(registry.list[i]);
    pthread_mutex_unlock(&registry.lock);
    wf_mail_release(m);
}

void wf_mail_address(const struct mailbox *m, struct mail_address *a)
{
    pthread_mutex_lock(&registry.lock);
    *a = (struct mail_address){
        {registry.process[0], registry.process[1]}, m->index, m->generation};
    pthread_mutex_unlock(&registry.lock);
}

static bool names_this_process(const struct mail_address *a)
{
    return registry.pid == getpid() && a->process[0] == registry.process[0] &&
           a->process[1] == registry.process[1];
}

struct mailbox *wf_mail_find(const struct mail_address *a)
{
    struct mailbox *m = NULL;
    pthread_mutex_lock(&registry.lock);
    if (names_this_process(a) && a->index < registry.n)
        m = registry.list[a->index];
    if (m && m->generation != a->generation)
        m = NULL;
    if (m)
        wf_add_acq_rel(&m->refs, 1);
    pthread_mutex_unlock(&registry.lock);
    return m;
}

int64_t wf_mail_loc_id(uint32_t index)
{
    int64_t id = -1;
    pthread_mutex_lock(&registry.lock);
    if (index < registry.n && registry.list[index])
        id = registry.list[index]->loc_id;
    pthread_mutex_unlock(&registry.lock);
    return id;
}

void wf_mail_refuse(uint32_t index, uint32_t me)
{
    struct mail_claim c;
    uint64_t seen = 0;
    pthread_mutex_lock(&registry.lock);
    struct mailbox *m = index < registry.n ? registry.list[index] : NULL;
    if (m)
        seen = wf_load_acquire(&m->head);
    if (m && mail_claim_lines(m, 1, &seen, me, &c))
        mail_publish(m, &c, mail_make_word(MAIL_REFUSE, me));
    pthread_mutex_unlock(&registry.lock);
}

void wf_mail_wake_index(uint32_t index)
{
    pthread_mutex_lock(&registry.lock);
    if (index < registry.n && registry.list[index])
        wf_mail_wake(registry.list[index]);
    pthread_mutex_unlock(&registry.lock);
}

uint32_t wf_mail_count_deaths(void)
{
    return wf_load_acquire(&registry.deaths);
}

void wf_mail_ring_bell(const struct mailbox *m)
{
    uint64_t one = 1;
    ssize_t n;
    do /* EAGAIN: the counter is full, so the bell has rung */
        n = write(m->bell, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

void wf_mail_wake(struct mailbox *m)
{
    uint64_t tail = atomic_fetch_and_explicit(&m->tail, ~(uint64_t)MAIL_ASLEEP,
                                              memory_order_acq_rel);
    if (tail & MAIL_ASLEEP)
        wf_mail_ring_bell(m);
}

bool wf_mail_claim_after_pad(struct mailbox *m, uint32_t n, uint32_t lines,
                    uint64_t *seen, uint32_t from, struct mail_claim *c)
{
    c->first->env[0] = lines;
    mail_publish(m, c, mail_make_word(MAIL_PAD, from));
    return mail_claim_lines(m, n, seen, from, c);
}

/* The boots of the ranks of one process: see hosted.h.
 *
 *   boot of rank 4 --+
 *   boot of rank 5 --+-- space: cards of ranks 4..7 -- the launcher's boot
 *   boot of rank 6 --+          what else was put
 *   boot of rank 7 --+
 *
 * DESIGN  The launcher knows processes, not ranks. Each rank that needs an
 * answer asks it, one at a time. It is never asked for a card of this process:
 * get waits until the rank has put it. It is asked for cards of other processes
 * only when all ranks of this one have put theirs: it answers when the card is
 * there, and a rank that waits for it must not delay the put of another rank,
 * for which another process may wait in the same way.
 *
 * The last rank to enter the fence enters the launcher's, for all. It reads
 * what the launcher sends until that is the end; a rank that asks the launcher
 * meanwhile may read the end instead, and wakes it.
 *
 * LOCK  space.lock covers everything in the space. space.up_lock covers the
 *       launcher's boot; it is held while that is asked, and taken before
 *       space.lock.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/hosted.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "boot/auth.h"
#include "boot/auth_key.h"
#include "boot/boot.h"
#include "boot/values.h"
#include "os/futex.h"

struct space {
    pthread_mutex_t lock, up_lock;
    wf_atomic_u32 changes; /* the last card came, or the fence ended; futex
                              word */
    struct wf_boot *up;
    uint32_t first, count;
    struct wf_blob *cards; /* [count] */
    uint32_t settled;    /* cards that are there or absent */
    struct wf_named *named; /* newest first */
    uint32_t in_fence, gone, finalized, users;
    bool started; /* the launcher's fence; up_lock */
    bool passed;
    uint32_t *node_of;
    struct hosted **ranks; /* [count]; NULL: closed */
};

struct hosted {
    struct wf_boot base;
    struct space *space;
    bool settled; /* its card is there or absent */
    bool closes;  /* it was the last to enter the fence */
    bool fenced;  /* it is in the fence */
    bool leaves;  /* it has called finalize */
};

static struct hosted *hosted_of(const struct wf_boot *boot)
{
    return wf_container(boot, struct hosted, base);
}

/* The place of a card of this process, or NULL. *remote: the key is that of a
 * card of another process. */
static struct wf_blob *find_card_place(struct space *s, const char *key,
                                       bool *remote)
{
    static const char card[] = "weft.card.";
    char *end;
    *remote = false;
    if (strncmp(key, card, sizeof card - 1) != 0)
        return NULL;
    unsigned long rank = strtoul(key + sizeof card - 1, &end, 10);
    *remote = *end == 0;
    if (*end || rank < s->first || rank - s->first >= s->count)
        return NULL;
    *remote = false;
    return &s->cards[rank - s->first];
}

/* ---- put and get --------------------------------------------------------- */

/* Wake those that wait for a change. Callers of this and of await_change hold
 * the lock; await_change releases it while it waits. Each card has a word of
 * its own, so that a card does not wake all that wait for others. This is no
 * condition variable, because that would add 8 KB to a static program. */
static void announce_change(wf_atomic_u32 *changes)
{
    wf_add_acq_rel(changes, 1);
    wf_futex_wake(changes);
}

static void await_change(struct space *s, wf_atomic_u32 *changes)
{
    uint32_t seen = wf_load_relaxed(changes);

    pthread_mutex_unlock(&s->lock);
    wf_futex_wait(changes, seen, NULL);
    pthread_mutex_lock(&s->lock);
}

/* Count a card as one that no rank needs to wait for any more. */
static void settle_card(struct hosted *h)
{
    struct space *s = h->space;
    if (h->settled)
        return;
    h->settled = true;
    announce_change(&s->cards[h->base.rank - s->first].changes);
    if (++s->settled == s->count)
        announce_change(&s->changes);
}

static int put_here(struct hosted *h, const char *key, const void *value,
                    size_t n)
{
    struct space *s = h->space;
    bool remote;
    pthread_mutex_lock(&s->lock);
    struct wf_blob *card = find_card_place(s, key, &remote);
    int r = !card         ? wf_named_put(&s->named, key, value, n)
            : card->bytes ? WEFT_EINVAL
                          : wf_blob_fill(card, value, n);
    if (r == 0 && card)
        settle_card(h);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* Put at the launcher first: a rank that sees the last card here may ask it for
 * cards of other processes. */
static int hosted_put(struct wf_boot *boot, const char *key, const void *value,
                      size_t n)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    int r = 0;
    if (s->up) {
        pthread_mutex_lock(&s->up_lock);
        r = s->up->ops->put(s->up, key, value, n);
        pthread_mutex_unlock(&s->up_lock);
    }
    return r < 0 ? r : put_here(h, key, value, n);
}

/* End the fence for all ranks. The lock is held. A rank cannot close while it
 * is in the fence, so its wake may be called. */
static void end_fence(struct space *s)
{
    s->passed = true;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->ranks[i] && s->ranks[i]->fenced && s->ranks[i]->base.wake)
            s->ranks[i]->base.wake(s->ranks[i]->base.wake_arg);
    announce_change(&s->changes);
}

/* Returns whether the launcher's fence has ended or failed. Reads what the
 * launcher has sent; up_lock is held, so that no answer is awaited. */
static bool has_launcher_passed(const struct space *s)
{
    const struct wf_boot_ops *ops = s->up->ops;

    if (!s->started)
        return false;
    if (ops->hear && ops->hear(s->up) < 0)
        return true;
    return ops->fence_passed ? ops->fence_passed(s->up) : s->up->fence_passed;
}

/* The end of the fence may come with the answer: the rank that waits for it
 * does not see it then. */
static int get_from_launcher(struct space *s, const char *key, void **value,
                             size_t *n)
{
    int r;

    if (!s->up)
        return WEFT_EUNREACH;
    pthread_mutex_lock(&s->up_lock);
    r = s->up->ops->get(s->up, key, value, n);
    if (has_launcher_passed(s)) {
        pthread_mutex_lock(&s->lock);
        end_fence(s);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&s->up_lock);
    return r;
}

/* Returns the place of a value that a rank of this process has put, or is to
 * put if it is a card, for which this waits; NULL: the launcher may know it.
 * The lock is held. */
static const struct wf_blob *await_value(struct space *s, const char *key,
                                         bool *remote)
{
    struct wf_blob *card = find_card_place(s, key, remote);

    while (card && !card->bytes && !card->absent)
        await_change(s, &card->changes);
    return card ? card : wf_named_find(s->named, key);
}

static int hosted_get(struct wf_boot *boot, const char *key, void **value,
                      size_t *n)
{
    struct space *s = hosted_of(boot)->space;
    bool remote;
    int r = WEFT_EUNREACH;
    pthread_mutex_lock(&s->lock);
    const struct wf_blob *b = await_value(s, key, &remote);
    while (remote && s->settled < s->count)
        await_change(s, &s->changes);
    if (b && b->bytes)
        r = wf_blob_copy(b, value, n);
    pthread_mutex_unlock(&s->lock);
    return b ? r : get_from_launcher(s, key, value, n);
}

/* ---- the fence ----------------------------------------------------------- */

static int hosted_fence_start(struct wf_boot *boot, int *fd)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    int r = 0;
    *fd = -1;
    pthread_mutex_lock(&s->up_lock);
    pthread_mutex_lock(&s->lock);
    h->fenced = true;
    h->closes = ++s->in_fence + s->gone == s->count;
    if (h->closes && !s->up)
        end_fence(s);
    pthread_mutex_unlock(&s->lock);
    if (h->closes && s->up) {
        r = s->up->ops->fence_start(s->up, fd);
        s->started = true;
    }
    if (r < 0) { /* the launcher's fence will not end, and the others wait */
        pthread_mutex_lock(&s->lock);
        end_fence(s);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&s->up_lock);
    return r;
}

static bool look_at_launcher(struct space *s)
{
    pthread_mutex_lock(&s->up_lock);
    bool passed = has_launcher_passed(s);
    pthread_mutex_unlock(&s->up_lock);
    return passed;
}

static bool hosted_fence_passed(struct wf_boot *boot)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    pthread_mutex_lock(&s->lock);
    bool passed = s->passed;
    pthread_mutex_unlock(&s->lock);
    return passed || (h->closes && s->up && look_at_launcher(s));
}

static int hosted_fence_end(struct wf_boot *boot)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    int r = 0;
    if (h->closes && s->up) {
        pthread_mutex_lock(&s->up_lock);
        r = s->up->ops->fence_end(s->up);
        pthread_mutex_unlock(&s->up_lock);
    }
    pthread_mutex_lock(&s->lock);
    if (h->closes && !s->passed)
        end_fence(s);
    while (!s->passed)
        await_change(s, &s->changes);
    h->fenced = false;
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* ---- the end ------------------------------------------------------------- */

static void hosted_abort(struct wf_boot *boot, int code, const char *message)
{
    struct wf_boot *up = hosted_of(boot)->space->up;
    if (up)
        up->ops->abort(up, code, message);
}

/* Finalize at the launcher if this is the last rank of the process. */
static int hosted_finalize(struct wf_boot *boot)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    pthread_mutex_lock(&s->lock);
    h->leaves = true;
    bool last = ++s->finalized + s->gone == s->count;
    pthread_mutex_unlock(&s->lock);
    return last && s->up ? s->up->ops->finalize(s->up) : 0;
}

void wf_boot_hosted_gone(struct wf_boot *boot)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    pthread_mutex_lock(&s->lock);
    s->gone++;
    if (!h->settled)
        s->cards[boot->rank - s->first].absent = true;
    settle_card(h);
    if (!s->up && s->in_fence && s->in_fence + s->gone == s->count)
        end_fence(s);
    pthread_mutex_unlock(&s->lock);
}

static void free_space(struct space *s)
{
    for (uint32_t i = 0; s->cards && i < s->count; i++)
        free(s->cards[i].bytes);
    wf_named_free(s->named);
    if (s->up)
        wf_boot_close(s->up);
    free(s->cards);
    free(s->ranks);
    free(s->node_of);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->up_lock);
    free(s);
}

static void hosted_close(struct wf_boot *boot)
{
    struct hosted *h = hosted_of(boot);
    struct space *s = h->space;
    pthread_mutex_lock(&s->lock);
    s->ranks[boot->rank - s->first] = NULL;
    bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    free(h);
    if (last)
        free_space(s);
}

static const struct wf_boot_ops hosted_ops = {
    .name = "hosted",
    .put = hosted_put,
    .get = hosted_get,
    .fence_start = hosted_fence_start,
    .fence_passed = hosted_fence_passed,
    .fence_end = hosted_fence_end,
    .abort = hosted_abort,
    .finalize = hosted_finalize,
    .close = hosted_close,
};

bool wf_boot_hosted_has(const struct wf_boot *boot, uint32_t rank)
{
    if (boot->ops != &hosted_ops)
        return false;
    const struct space *s = hosted_of(boot)->space;
    return rank >= s->first && rank - s->first < s->count;
}

/* A value stays where it is until the last rank has closed its boot. */
bool wf_boot_hosted_lend(struct wf_boot *boot, const char *key,
                         const void **value, size_t *n)
{
    if (boot->ops != &hosted_ops)
        return false;
    struct space *s = hosted_of(boot)->space;
    bool remote;
    pthread_mutex_lock(&s->lock);
    const struct wf_blob *b = await_value(s, key, &remote);
    bool there = b && b->bytes;
    if (there) {
        *value = b->bytes;
        *n = b->n;
    }
    pthread_mutex_unlock(&s->lock);
    return there;
}

struct wf_boot *wf_boot_hosted_lock_up(struct wf_boot *boot)
{
    if (boot->ops != &hosted_ops)
        return boot;
    struct space *s = hosted_of(boot)->space;
    pthread_mutex_lock(&s->up_lock);
    return s->up;
}

void wf_boot_hosted_unlock_up(struct wf_boot *boot)
{
    if (boot->ops == &hosted_ops)
        pthread_mutex_unlock(&hosted_of(boot)->space->up_lock);
}

/* ---- the start ----------------------------------------------------------- */

/* Make the key of a job that has no launcher to make it. */
static int make_key(struct space *s)
{
    unsigned char key[WF_AUTH_KEY_BYTES];
    int r = wf_auth_key_generate(key);
    if (r == 0)
        r = wf_named_put(&s->named, "weft.key", key, sizeof key);
    explicit_bzero(key, sizeof key);
    return r;
}

static struct space *create_space(struct wf_boot *up, uint32_t count)
{
    struct space *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->up_lock, NULL);
    s->first = up ? up->rank : 0;
    s->count = count;
    s->cards = calloc(count, sizeof *s->cards);
    s->ranks = calloc(count, sizeof *s->ranks);
    if (!up)
        s->node_of = calloc(count, sizeof *s->node_of);
    if (s->cards && s->ranks && (up || (s->node_of && make_key(s) == 0))) {
        s->up = up;
        return s;
    }
    free_space(s);
    return NULL;
}

static struct wf_boot *create_boot(struct space *s, uint32_t slot)
{
    struct hosted *h = calloc(1, sizeof *h);
    struct wf_boot *b = &h->base;
    if (!h)
        return NULL;
    if (s->up)
        *b = *s->up;
    else
        *b = (struct wf_boot){.size = s->count,
                              .appnum = -1,
                              .node_of = s->node_of,
                              .node_count = 1,
                              .one_host = 1};
    b->ops = &hosted_ops;
    b->rank = s->first + slot;
    b->awaits = 1;
    h->space = s;
    s->ranks[slot] = h;
    s->users++;
    return b;
}

int wf_boot_hosted_create(struct wf_boot *up, uint32_t count,
                          struct wf_boot **ranks)
{
    struct space *s = create_space(up, count);
    char job[64];
    uint32_t i = 0;
    if (!s)
        return WEFT_ENOMEM;
    wf_boot_unique_name(job, "threads");
    for (; i < count && (ranks[i] = create_boot(s, i)) != NULL; i++)
        if (!up)
            memcpy(ranks[i]->job, job, sizeof job);
    if (i == count)
        return 0;
    while (i > 0)
        free(hosted_of(ranks[--i]));
    s->up = NULL; /* stays the caller's */
    free_space(s);
    return WEFT_ENOMEM;
}

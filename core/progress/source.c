/* Event sources of the progress engine: see source.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/source.h"

#include <limits.h>
#include <sys/epoll.h>

#include "os/tuning.h"
#include "progress/progress.h"
#include "progress/wait.h"

#define FROM_LINK(l) wf_container(l, struct wf_event_source, link)

static int poll_nothing(wf_source_object *object, int budget)
{
    return 0;
}

/* In the place of sources that are removed while a round polls them. */
static const struct wf_event_source nothing = {.poll = poll_nothing};

/* Poll the sources that share a bit, which is a source for the loop that
 * polls. */
static int poll_shared(wf_source_object *progress, int budget)
{
    struct wf_progress *p = (void *)progress;
    int n = 0;

    p->next_shared = p->sources.next;
    while (p->next_shared != &p->sources) {
        struct wf_event_source *s = FROM_LINK(p->next_shared);
        p->next_shared = s->link.next; /* the call may remove either */
        if (s->bit == WF_SOURCE_BIT_SHARED)
            n += s->poll(s->object, budget);
    }
    return n;
}

WF_COLD void wf_sources_init(struct wf_progress *p)
{
    wf_list_init(&p->sources);
    for (int i = 0; i < WF_SOURCE_BITS; i++)
        p->by_bit[i] = &nothing;
    p->shared.name = "shared";
    p->shared.object = (void *)p;
    p->shared.poll = poll_shared;
    p->by_bit[WF_SOURCE_BIT_SHARED] = &p->shared;
}

static void unlink_source(struct wf_progress *p, struct wf_event_source *s)
{
    if (p->next_shared == &s->link)
        p->next_shared = s->link.next;
    wf_list_remove(&s->link);
    if (s->bit != WF_SOURCE_BIT_SHARED)
        p->by_bit[s->bit] = &nothing;
    if (s->bit != WF_SOURCE_BIT_SHARED || --p->sharing == 0)
        p->all &= ~wf_source_mask(s);
    if (s->state == WF_SOURCE_ARMED && s->disarm)
        s->disarm(s->object);
    s->state = WF_SOURCE_REMOVED;
}

static int free_bit(const struct wf_progress *p)
{
    uint32_t others = ~(WF_SOURCES_ENDPOINTS | 1u << WF_SOURCE_BIT_SHARED);
    uint32_t unused = others & ~p->all;

    return unused ? __builtin_ctz(unused) : WF_SOURCE_BIT_SHARED;
}

static int watch_descriptor(struct wf_progress *p,
                            const struct wf_event_source *s)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = (uint32_t)s->bit};

    if (s->fd < 0)
        return 0;
    return wf_progress_open_sleeper(p) == 0 &&
                   epoll_ctl(p->epoll, EPOLL_CTL_ADD, s->fd, &ev) == 0
               ? 0
               : WEFT_ESYS;
}

int wf_source_add(struct wf_instance *wf, struct wf_event_source *s, int bit)
{
    struct wf_progress *p = wf->progress;
    int r;

    WF_ASSERT(s->state == WF_SOURCE_REMOVED && s->poll);
    WF_ASSERT(bit < WF_EPS_MAX && (bit < 0 || !(p->all & 1u << bit)));
    s->bit = bit >= 0 ? bit : free_bit(p);
    r = watch_descriptor(p, s);
    if (r < 0)
        return r;
    p->timed &= ~wf_source_mask(s);
    p->pace[s->bit] = (struct wf_poll_pace){0};
    s->state = WF_SOURCE_REGISTERED;
    wf_list_append(&p->sources, &s->link);
    if (s->bit == WF_SOURCE_BIT_SHARED)
        p->sharing++;
    else
        p->by_bit[s->bit] = s;
    p->all |= wf_source_mask(s);
    wf_progress_note_unarmed(wf);
    return 0;
}

void wf_source_count_arrivals(struct wf_instance *wf,
                              const struct wf_event_source *s,
                              const uint64_t *count)
{
    WF_ASSERT(s->state != WF_SOURCE_REMOVED);
    wf->progress->pace[s->bit].count = count;
}

void wf_source_remove(struct wf_instance *wf, struct wf_event_source *s)
{
    struct wf_progress *p = wf->progress;

    if (s->state == WF_SOURCE_REMOVED)
        return;
    if (s->fd >= 0)
        (void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    unlink_source(p, s);
}

static void shorten_timeout(int *timeout, int ms)
{
    if (*timeout < 0 || ms < *timeout)
        *timeout = ms;
}

/* The milliseconds until a time, rounded up; INT_MAX if there are more. */
static int ms_until(struct wf_instance *wf, uint64_t deadline)
{
    uint64_t now = wf_now(wf);
    uint64_t ms = deadline <= now ? 0 : (deadline - now + 999999) / 1000000;

    return ms > INT_MAX ? INT_MAX : (int)ms;
}

bool wf_source_arm(struct wf_instance *wf, struct wf_event_source *s,
                   int *timeout)
{
    uint64_t deadline = 0;

    if (s->arm) {
        int r = s->arm(s->object, &deadline);
        s->state = WF_SOURCE_ARMED;
        if (r == WEFT_EAGAIN)
            return false;
    }
    /* pairs with the release of whoever writes the word */
    if (s->word && wf_load_acquire(s->word) != s->seen)
        return false;
    if (s->blind)
        shorten_timeout(timeout, WF_BLIND_SLEEP_MS);
    if (deadline)
        shorten_timeout(timeout, ms_until(wf, deadline));
    return true;
}

/* Peers that progress() is to look at, in the order in which they asked.
 *
 *   endpoint: first -> due -> due -> NULL      a weft_peer has a member `due`
 *             last ------------^
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_ATTENTION_H
#define WF_IP_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

struct wf_ip_due {
    struct wf_ip_due *next;
    bool waits;
};

struct wf_ip_attention {
    struct wf_ip_due *first, **last;
};

#define wf_ip_due_peer(d)                                                      \
    ((weft_peer *)(void *)((char *)(d)-offsetof(weft_peer, due)))

static inline void wf_ip_attention_init(struct wf_ip_attention *a)
{
    a->first = NULL;
    a->last = &a->first;
}

static inline void wf_ip_attend(struct wf_ip_attention *a, struct wf_ip_due *d)
{
    if (d->waits)
        return;
    d->waits = true;
    d->next = NULL;
    *a->last = d;
    a->last = &d->next;
}

static inline void wf_ip_unattend(struct wf_ip_attention *a,
                                  struct wf_ip_due *d)
{
    struct wf_ip_due **at = &a->first;

    while (*at && *at != d)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = d->next;
    if (a->last == &d->next)
        a->last = at;
    d->waits = false;
}

/* All that wait now; who asks meanwhile waits for the next round. */
static inline struct wf_ip_due *wf_ip_attention_take(struct wf_ip_attention *a)
{
    struct wf_ip_due *first = a->first;

    wf_ip_attention_init(a);
    return first;
}

/* The next of those taken, or NULL. */
static inline struct wf_ip_due *wf_ip_attention_next(struct wf_ip_due **list)
{
    struct wf_ip_due *d = *list;

    if (d) {
        *list = d->next;
        d->waits = false;
    }
    return d;
}

#endif

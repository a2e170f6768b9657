/* A list of the peers that progress() must serve, in the order in which they
 * were added.
 *
 *   endpoint: first -> due -> due -> NULL      a weft_peer has a member `due`
 *             last ------------^
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_DUE_LIST_H
#define WF_IP_DUE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct wf_ip_due_entry {
    struct wf_ip_due_entry *next;
    bool waits; /* it is in the list */
};

struct wf_ip_due_list {
    struct wf_ip_due_entry *first, **last;
};

#define wf_ip_peer_of_due(d)                                                   \
    ((weft_peer *)(void *)((char *)(d)-offsetof(weft_peer, due)))

static inline void wf_ip_due_list_init(struct wf_ip_due_list *a)
{
    a->first = NULL;
    a->last = &a->first;
}

static inline void wf_ip_mark_due(struct wf_ip_due_list *a,
                                  struct wf_ip_due_entry *d)
{
    if (d->waits)
        return;
    d->waits = true;
    d->next = NULL;
    *a->last = d;
    a->last = &d->next;
}

static inline void wf_ip_unmark_due(struct wf_ip_due_list *a,
                                  struct wf_ip_due_entry *d)
{
    struct wf_ip_due_entry **at = &a->first;

    while (*at && *at != d)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = d->next;
    if (a->last == &d->next)
        a->last = at;
    d->waits = false;
}

/* Takes the whole list. A peer that is added later waits for the next call. */
static inline struct wf_ip_due_entry *
wf_ip_due_list_take(struct wf_ip_due_list *a)
{
    struct wf_ip_due_entry *first = a->first;

    wf_ip_due_list_init(a);
    return first;
}

/* Takes the next entry off a list that was taken; NULL: it is empty. */
static inline struct wf_ip_due_entry *
wf_ip_due_list_next(struct wf_ip_due_entry **list)
{
    struct wf_ip_due_entry *d = *list;

    if (d) {
        *list = d->next;
        d->waits = false;
    }
    return d;
}

#endif

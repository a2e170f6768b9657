/* Segments of window memory: see segment.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/segment.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "group/comm.h"

/* The segments of a communicator, which it frees with itself. */
struct segment_list {
    struct wf_comm_kept kept;
    struct wf_segment *first; /* the newest */
    uint64_t next_id;
};

static void drop_list(struct wf_comm_kept *kept)
{
    struct segment_list *list = wf_container(kept, struct segment_list, kept);
    struct wf_segment *s;

    while ((s = list->first)) {
        list->first = s->next;
        wf_segment_put(s);
    }
    free(list);
}

/* Returns the list of a communicator, or NULL. */
static struct segment_list *find_list(const struct wf_comm *comm)
{
    struct wf_comm_kept *k = wf_comm_find_kept(comm, drop_list);

    return k ? wf_container(k, struct segment_list, kept) : NULL;
}

static struct segment_list *make_list(struct wf_comm *comm)
{
    struct segment_list *list = find_list(comm);

    if (list || !(list = calloc(1, sizeof *list)))
        return list;
    list->kept.drop = drop_list;
    wf_comm_keep(comm, &list->kept);
    return list;
}

struct wf_segment *wf_segment_make(void *base, size_t bytes)
{
    struct wf_segment *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->base = base;
    s->bytes = bytes;
    wf_store_relaxed(&s->users, 1);
    return s;
}

void wf_segment_put(struct wf_segment *s)
{
    if (wf_add_acq_rel(&s->users, UINT32_MAX) > 1) /* minus one */
        return;
    munmap(s->base, s->bytes);
    free(s);
}

static bool is_spoiled(const struct wf_segment *s)
{
    return wf_load_relaxed(&s->spoiled) != 0;
}

/* Tells whether no window uses a segment that is kept. */
static bool is_free(const struct wf_segment *s)
{
    return wf_load_acquire(&s->users) == 1 && /* pairs with wf_segment_put */
           !is_spoiled(s);
}

static struct wf_segment *use_segment(struct wf_segment *s)
{
    if (s)
        (void)wf_add_acq_rel(&s->users, 1);
    return s;
}

struct wf_segment *wf_segment_choose(struct wf_comm *comm, size_t bytes)
{
    struct segment_list *list = find_list(comm);
    struct wf_segment *best = NULL;

    for (struct wf_segment *s = list ? list->first : NULL; s; s = s->next)
        if (is_free(s) && s->bytes >= bytes &&
            (!best || s->bytes < best->bytes))
            best = s;
    return use_segment(best);
}

uint64_t wf_segment_next_id(struct wf_comm *comm)
{
    struct segment_list *list = make_list(comm);

    return list ? ++list->next_id : 0;
}

uint64_t wf_segment_choose_oldest(struct wf_comm *comm)
{
    struct segment_list *list = find_list(comm);
    uint64_t oldest = 0;
    unsigned free_ones = 0;

    for (struct wf_segment *s = list ? list->first : NULL; s; s = s->next)
        if (is_free(s) || is_spoiled(s)) {
            oldest = s->id;
            free_ones++;
        }
    return free_ones > WF_SEGMENTS_FREE_MOST ? oldest : 0;
}

struct wf_segment *wf_segment_find(struct wf_comm *comm, uint64_t id)
{
    struct segment_list *list = find_list(comm);
    struct wf_segment *s = list ? list->first : NULL;

    while (s && s->id != id)
        s = s->next;
    return use_segment(s);
}

bool wf_segment_can_keep(struct wf_comm *comm)
{
    return make_list(comm) != NULL;
}

void wf_segment_keep(struct wf_comm *comm, struct wf_segment *s, uint64_t id)
{
    struct segment_list *list = find_list(comm);

    WF_ASSERT(list);
    s->id = id;
    s->next = list->first;
    list->first = use_segment(s);
}

void wf_segment_forget(struct wf_comm *comm, uint64_t id)
{
    struct segment_list *list = find_list(comm);
    struct wf_segment **at = list ? &list->first : NULL, *s;

    while (at && *at && (*at)->id != id)
        at = &(*at)->next;
    if (!at || !*at)
        return;
    s = *at;
    *at = s->next;
    wf_segment_put(s);
}

/* Matching queues: see match.h for the picture.
 *
 * INVARIANTS
 *   1. Entries with equal key stay in order of arrival in their bin, also
 *      when a table grows: MPI-5.0 s3.5, "non-overtaking".
 *   2. A posted receive lies in one table, a stored message in all four.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/match.h"

#include <stdlib.h>

enum { FIRST_SIZE = 64 };

static const uint64_t class_mask[WF_CLASSES] = {
    WF_MASK_SOURCE | WF_MASK_TAG, WF_MASK_SOURCE, WF_MASK_TAG, 0};

static unsigned class_of(uint64_t mask)
{
    return (mask & WF_MASK_TAG ? 0u : 1u) | (mask & WF_MASK_SOURCE ? 0u : 2u);
}

static uint32_t hash(uint64_t env0, uint64_t env1)
{
    uint64_t h = env0 * 0x9e3779b97f4a7c15u ^ env1 * 0xc2b2ae3d27d4eb4fu;

    return (uint32_t)(h >> 32 ^ h >> 17);
}

static struct wf_list *bin_of(const struct wf_bins *b, uint64_t env0,
                              uint64_t env1)
{
    return &b->bins[hash(env0, env1) & (b->size - 1)];
}

static struct wf_list *bins_alloc(uint32_t size)
{
    struct wf_list *bins = malloc(size * sizeof *bins);

    if (bins)
        for (uint32_t i = 0; i < size; i++)
            wf_list_init(&bins[i]);
    return bins;
}

static bool bins_have_room(const struct wf_bins *b)
{
    return wf_likely(b->bins && b->count < 2 * b->size);
}

/* More bins. rehash moves the entries of one old bin, in order. */
static int bins_grow(struct wf_bins *b, unsigned class,
                     void (*rehash)(struct wf_bins *, struct wf_list *,
                                    unsigned))
{
    struct wf_list *old = b->bins, *bins;
    uint32_t size = b->size;

    bins = bins_alloc(old ? 4 * size : FIRST_SIZE);
    if (!bins)
        return old ? 0 : WEFT_ENOMEM; /* a fuller table still works */
    b->bins = bins;
    b->size = old ? 4 * size : FIRST_SIZE;
    for (uint32_t i = 0; old && i < size; i++)
        rehash(b, &old[i], class);
    free(old);
    return 0;
}

static void rehash_posted(struct wf_bins *b, struct wf_list *old,
                          unsigned class)
{
    while (!wf_list_empty(old)) {
        struct wf_posted *p = wf_container(old->next, struct wf_posted, link);
        wf_list_remove(&p->link);
        wf_list_append(bin_of(b, p->env0, p->env1), &p->link);
    }
}

static void rehash_arrived(struct wf_bins *b, struct wf_list *old,
                           unsigned class)
{
    while (!wf_list_empty(old)) {
        struct wf_arrived *m =
            wf_container(old->next, struct wf_arrived, link[class]);
        wf_list_remove(&m->link[class]);
        wf_list_append(bin_of(b, m->env0, m->env1 & class_mask[class]),
                       &m->link[class]);
    }
}

void wf_match_fini(struct wf_match *m)
{
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        free(m->posted[c].bins);
        free(m->arrived[c].bins);
    }
    memset(m, 0, sizeof *m);
}

int wf_match_post(struct wf_match *m, struct wf_posted *p)
{
    unsigned c = class_of(p->mask);
    struct wf_bins *b = &m->posted[c];

    if (!bins_have_room(b) && bins_grow(b, c, rehash_posted) != 0)
        return WEFT_ENOMEM;
    p->class = (uint8_t)c;
    p->env1 &= p->mask;
    p->stamp = m->stamp++;
    wf_list_append(bin_of(b, p->env0, p->env1), &p->link);
    b->count++;
    return 0;
}

void wf_match_unpost(struct wf_match *m, struct wf_posted *p)
{
    wf_list_remove(&p->link);
    m->posted[p->class].count--;
}

static struct wf_posted *oldest_in_class(const struct wf_bins *b, uint64_t env0,
                                         uint64_t env1)
{
    struct wf_list *bin = bin_of(b, env0, env1);

    for (struct wf_list *l = bin->next; l != bin; l = l->next) {
        struct wf_posted *p = wf_container(l, struct wf_posted, link);
        if (((p->env0 ^ env0) | (p->env1 ^ env1)) == 0)
            return p;
    }
    return NULL;
}

/* The oldest candidate of all classes. */
static struct wf_posted *oldest_of_all(struct wf_match *m, uint64_t env0,
                                       uint64_t env1)
{
    struct wf_posted *best = NULL;

    for (unsigned c = 0; c < WF_CLASSES; c++) {
        struct wf_posted *p;
        if (!m->posted[c].count)
            continue;
        p = oldest_in_class(&m->posted[c], env0, env1 & class_mask[c]);
        if (p && (!best || p->stamp < best->stamp))
            best = p;
    }
    return best;
}

struct wf_posted *wf_match_take_posted(struct wf_match *m, uint64_t env0,
                                       uint64_t env1)
{
    const struct wf_bins *b = m->posted;
    struct wf_posted *p = NULL;

    if (wf_unlikely(b[1].count | b[2].count | b[3].count))
        p = oldest_of_all(m, env0, env1);
    else if (b[0].count)
        p = oldest_in_class(b, env0, env1 & class_mask[0]);
    if (p)
        wf_match_unpost(m, p);
    return p;
}

int wf_match_store(struct wf_match *m, struct wf_arrived *a)
{
    for (unsigned c = 0; c < WF_CLASSES; c++)
        if (!bins_have_room(&m->arrived[c]) &&
            bins_grow(&m->arrived[c], c, rehash_arrived) != 0)
            return WEFT_ENOMEM;
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        struct wf_bins *b = &m->arrived[c];
        wf_list_append(bin_of(b, a->env0, a->env1 & class_mask[c]),
                       &a->link[c]);
        b->count++;
    }
    return 0;
}

void wf_match_unstore(struct wf_match *m, struct wf_arrived *a)
{
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        wf_list_remove(&a->link[c]);
        m->arrived[c].count--;
    }
}

struct wf_arrived *wf_match_find_arrived(struct wf_match *m, uint64_t env0,
                                         uint64_t env1, uint64_t mask)
{
    unsigned c = class_of(mask);
    struct wf_list *bin;

    if (!m->arrived[c].count)
        return NULL;
    bin = bin_of(&m->arrived[c], env0, env1 & mask);
    for (struct wf_list *l = bin->next; l != bin; l = l->next) {
        struct wf_arrived *a = wf_container(l, struct wf_arrived, link[c]);
        if (((a->env0 ^ env0) | ((a->env1 ^ env1) & mask)) == 0)
            return a;
    }
    return NULL;
}

void wf_match_each_posted(struct wf_match *m,
                          void (*visit)(struct wf_posted *, void *), void *arg)
{
    for (unsigned c = 0; c < WF_CLASSES; c++)
        for (uint32_t i = 0; i < m->posted[c].size; i++) {
            struct wf_list *bin = &m->posted[c].bins[i], *next;
            for (struct wf_list *l = bin->next; l != bin; l = next) {
                next = l->next;
                visit(wf_container(l, struct wf_posted, link), arg);
            }
        }
}

void wf_match_each_arrived(struct wf_match *m,
                           void (*visit)(struct wf_arrived *, void *),
                           void *arg)
{
    for (uint32_t i = 0; i < m->arrived[0].size; i++) {
        struct wf_list *bin = &m->arrived[0].bins[i], *next;
        for (struct wf_list *l = bin->next; l != bin; l = next) {
            next = l->next;
            visit(wf_container(l, struct wf_arrived, link[0]), arg);
        }
    }
}

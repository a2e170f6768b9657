/* The members of a window that are on one node: see mates.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/mates.h"

#include <stdlib.h>

#include "rma/program_memory.h"

uint32_t wf_mate_find(const struct wf_win_map *m, int rank)
{
    uint32_t low = 0, high = m->mates;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (m->ranks[mid] < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low < m->mates && m->ranks[low] == rank ? low : UINT32_MAX;
}

char *wf_mate_find_memory(const struct wf_win *win, int rank)
{
    uint32_t mate = win->map ? wf_mate_find(win->map, rank) : UINT32_MAX;

    if (mate != UINT32_MAX && !win->members[rank].size && !win->map->contiguous)
        return NULL;
    if (mate != UINT32_MAX)
        return win->map->memory[mate];
    return rank == win->comm->rank && win->flavor != MPI_WIN_FLAVOR_DYNAMIC
               ? win->base
               : NULL;
}

void wf_mates_free(struct wf_win_map *m)
{
    if (!m)
        return;
    free(m->blocks);
    free(m->watches);
    free(m->gone);
    free(m->due);
    free(m->places);
    free(m->memory);
    free(m->ranks);
    free(m);
}

struct wf_win_map *wf_mates_make(const struct wf_win *win)
{
    const struct wf_win_member *all = win->members;
    struct wf_win_map *m = calloc(1, sizeof *m);
    uint64_t node = all[win->comm->rank].node;
    uint32_t n = 0;

    for (int i = 0; i < win->comm->size; i++)
        n += all[i].node == node;
    if (!m || !(m->ranks = malloc(n * sizeof *m->ranks)) ||
        !(m->places = calloc(n, sizeof *m->places)) ||
        !(m->memory = calloc(n, sizeof *m->memory)) ||
        (wf_win_is_of_program(win) &&
         !(m->blocks = calloc(n, sizeof *m->blocks))) ||
        !(m->gone = calloc(n, sizeof *m->gone)) ||
        !(m->due = calloc(n, sizeof *m->due))) {
        wf_mates_free(m);
        return NULL;
    }
    for (int i = 0; i < win->comm->size; i++) {
        if (all[i].node != node)
            continue;
        if (i == win->comm->rank)
            m->me = m->mates;
        m->ranks[m->mates++] = i;
    }
    return m;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct wf_win_member *const *x = a, *const *y = b;

    return ((*x)->node > (*y)->node) - ((*x)->node < (*y)->node);
}

bool wf_mates_find_sharing_nodes(const struct wf_win *win, bool *here)
{
    const struct wf_win_member **all = win->scratch;
    int n = win->comm->size, count;
    bool found = false;

    for (int i = 0; i < n; i++)
        all[i] = &win->members[i];
    qsort(all, (size_t)n, sizeof(void *), compare_nodes);
    for (int i = 0; i < n; i += count) {
        bool shares;

        for (count = 1; i + count < n; count++)
            if (all[i + count]->node != all[i]->node)
                break;
        shares = count > 1 && (!wf_win_is_of_program(win) ||
                               wf_program_memory_is_reachable(&all[i], count));
        found |= shares;
        if (all[i]->node == win->members[win->comm->rank].node)
            *here = shares;
    }
    return found;
}

/* The nodes of the members of a communicator: see layout.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/layout.h"

#include <stdlib.h>

#include "boot/boot.h"
#include "os/shortage.h"
#include "process/rank.h"

/* The layout of a communicator on one node, or whose nodes are not known. */
static struct wf_layout one_node = {.nodes = 1};

/* Returns the launcher's table of nodes, if it covers all members. */
static const uint32_t *find_node_table(const struct wf_comm *comm)
{
    const struct wf_boot *boot = comm->wf->rank->boot;

    if (!boot || boot->node_count <= 1)
        return NULL;
    for (int i = 0; i < comm->size; i++)
        if (wf_group_proc(comm->local, i) >= boot->size)
            return NULL; /* not of this job */
    return boot->node_of;
}

/* Sets l->members and l->first from the node of each member. `at` has an entry
 * for each node of the job, all 0. */
static void sort_members(struct wf_layout *l, const struct wf_comm *comm,
                         const uint32_t *node_of, int *at)
{
    uint32_t nodes = comm->wf->rank->boot->node_count;
    int end = 0;

    for (int i = 0; i < comm->size; i++)
        at[node_of[wf_group_proc(comm->local, i)]]++;
    for (uint32_t k = 0; k < nodes; k++) {
        int n = at[k];
        at[k] = end;
        if (k == node_of[wf_group_proc(comm->local, comm->rank)])
            l->mine = l->nodes;
        if (n > 0)
            l->first[l->nodes++] = end;
        end += n;
    }
    l->first[l->nodes] = end;
    for (int i = 0; i < comm->size; i++)
        l->members[at[node_of[wf_group_proc(comm->local, i)]]++] = i;
    l->consecutive = true;
    for (int i = 0; i < comm->size; i++)
        l->consecutive &= l->members[i] == i;
}

static struct wf_layout *make_layout(const struct wf_comm *comm,
                                     const uint32_t *node_of)
{
    size_t n = (size_t)comm->size, nodes = comm->wf->rank->boot->node_count;
    struct wf_layout *l = malloc(sizeof *l + (2 * n + 1) * sizeof(int));
    int *at = calloc(nodes, sizeof *at);

    if (l && at) {
        *l = (struct wf_layout){.first = (int *)(l + 1)};
        l->members = l->first + n + 1;
        sort_members(l, comm, node_of, at);
    } else {
        free(l);
        l = NULL;
    }
    free(at);
    return l;
}

const struct wf_layout *wf_layout_of(struct wf_comm *comm)
{
    const uint32_t *node_of;
    unsigned attempts = 0;

    if (comm->layout)
        return comm->layout;
    node_of = find_node_table(comm);
    do
        comm->layout = node_of ? make_layout(comm, node_of) : &one_node;
    while (!comm->layout && wf_shortage_wait(&attempts));
    return comm->layout;
}

void wf_layout_drop(struct wf_comm *comm)
{
    if (comm->layout != &one_node)
        free(comm->layout);
    comm->layout = NULL;
}

void wf_layout_set_single_node(struct wf_comm *comm)
{
    comm->layout = &one_node;
}

/* MPI_Cart_sub divides a grid into slices (MPI-5.0 s8.5.6).
 *
 * The members of each slice follow from the grid, so the processes agree only
 * on the context id. The slices share it, as their groups are disjoint.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "topo/cart.h"
#include "topo/create.h"
#include "topo/query.h"

/* Returns the grid of the dimensions that remain; room holds 2 * ndims
 * integers. */
static struct wf_grid make_remaining_grid(const struct wf_grid *g,
                                          const int remain[], int *room)
{
    struct wf_grid slice = {0, room, room + g->ndims};

    for (int d = 0; d < g->ndims; d++)
        if (remain[d]) {
            room[slice.ndims] = g->dims[d];
            room[g->ndims + slice.ndims++] = g->periods[d];
        }
    return slice;
}

/* Returns the ranks of the old communicator that are in this process's slice,
 * in the order of the slice's own grid; NULL: out of memory. */
static int *ranks_of_slice(const struct wf_topo *t, const int remain[],
                           const struct wf_grid *slice, int *cells)
{
    const struct wf_grid *g = &t->grid;
    int *ranks, *at = malloc(2 * (size_t)g->ndims * sizeof *at + 1);
    int n = 1;

    for (int d = 0; d < slice->ndims; d++)
        n *= slice->dims[d];
    ranks = malloc((size_t)n * sizeof *ranks);
    for (int i = 0; at && ranks && i < n; i++) {
        int *inside = at + g->ndims;
        wf_grid_coords(slice, i, inside);
        for (int d = 0; d < g->ndims; d++)
            at[d] = remain[d] ? *inside++ : t->coords[d];
        ranks[i] = wf_grid_rank(g, at);
    }
    if (!at) {
        free(ranks);
        ranks = NULL;
    }
    free(at);
    *cells = n;
    return ranks;
}

int wf_mpi_cart_sub(struct wf_instance *wf, struct wf_comm *comm,
                    const int remain_dims[], MPI_Comm *newcomm)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART), *topo = NULL;
    struct wf_group *group = NULL;
    int *room, *ranks = NULL, cells;

    *newcomm = MPI_COMM_NULL;
    if (!t)
        return MPI_ERR_TOPOLOGY;
    room = malloc(2 * (size_t)t->grid.ndims * sizeof *room + 1);
    if (room) {
        struct wf_grid slice = make_remaining_grid(&t->grid, remain_dims, room);
        ranks = ranks_of_slice(t, remain_dims, &slice, &cells);
        if (ranks && (group = wf_topo_create_group(comm, cells, ranks)))
            topo = wf_cart_create_topo(&slice, group->rank);
    }
    free(ranks);
    free(room);
    if (!topo)
        wf_error(MPI_ERR_NO_MEM, "no memory for a slice of the grid");
    return wf_topo_create_comm(comm, group, topo,
                               topo ? MPI_SUCCESS : MPI_ERR_NO_MEM, newcomm);
}

/* MPI_Cart_create and MPI_Cart_map (MPI-5.0 s8.5.1, s8.5.8).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/cart.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "topo/create.h"
#include "topo/reorder.h"

int wf_cart_check(const struct wf_comm *comm, const struct wf_grid *g,
                  int *cells)
{
    int64_t n = 1;

    for (int d = 0; d < g->ndims; d++) {
        if (g->dims[d] <= 0)
            return wf_error(MPI_ERR_DIMS,
                            "dims[%d] is %d but must be 1 or more",
                            d, g->dims[d]);
        n *= g->dims[d];
        if (n > comm->size)
            return wf_error(MPI_ERR_DIMS,
                            "the grid has %lld cells%s, the communicator only "
                            "%d processes",
                            (long long)n, d + 1 < g->ndims ? " or more" : "",
                            comm->size);
    }
    *cells = (int)n;
    return MPI_SUCCESS;
}

/* The neighbours are listed dimension by dimension, the one in negative
 * direction first (MPI-5.0 s8.6). Each is a source and a destination. */
struct wf_topo *wf_cart_create_topo(const struct wf_grid *g, int rank)
{
    size_t n = (size_t)g->ndims;
    struct wf_topo *t = wf_topo_create(MPI_CART, 5 * n);

    if (!t)
        return NULL;
    for (size_t d = 0; d < n; d++) {
        t->data[d] = g->dims[d];
        t->data[n + d] = g->periods[d] != 0;
    }
    t->grid = (struct wf_grid){g->ndims, t->data, t->data + n};
    t->coords = t->data + 2 * n;
    wf_grid_coords(&t->grid, rank, t->coords);
    t->indegree = t->outdegree = 2 * g->ndims;
    t->sources = t->destinations = t->data + 3 * n;
    for (int i = 0; i < t->indegree; i++)
        t->sources[i] =
            wf_grid_neighbor(&t->grid, t->coords, i / 2, i % 2 ? 1 : -1);
    return t;
}

int wf_mpi_cart_create(struct wf_instance *wf, struct wf_comm *comm_old,
                       int ndims, const int dims[], const int periods[],
                       int reorder, MPI_Comm *comm_cart)
{
    struct wf_grid g = {ndims, dims, periods};
    struct wf_group *group = NULL;
    struct wf_topo *topo = NULL;
    int *order = NULL, cells, rc;

    *comm_cart = MPI_COMM_NULL;
    if ((rc = wf_topo_check_parent(comm_old)) ||
        (rc = wf_cart_check(comm_old, &g, &cells)))
        return rc;
    if (reorder)
        rc = wf_reorder_grid(comm_old, &g, &order);
    if (!rc && !(group = wf_topo_create_group(comm_old, cells, order)))
        rc = MPI_ERR_NO_MEM;
    free(order);
    if (group && group->rank != MPI_UNDEFINED &&
        !(topo = wf_cart_create_topo(&g, group->rank)))
        rc = MPI_ERR_NO_MEM;
    return wf_topo_create_comm(comm_old, group, topo, rc, comm_cart);
}

int wf_mpi_cart_map(struct wf_instance *wf, struct wf_comm *comm, int ndims,
                    const int dims[], const int periods[], int *newrank)
{
    struct wf_grid g = {ndims, dims, periods};
    int *order = NULL, cells, rc;

    if ((rc = wf_topo_check_parent(comm)) ||
        (rc = wf_cart_check(comm, &g, &cells)) ||
        (rc = wf_reorder_grid(comm, &g, &order)))
        return rc;
    *newrank = wf_reorder_rank(comm, cells, order);
    free(order);
    return MPI_SUCCESS;
}

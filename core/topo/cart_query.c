/* Inquiry functions for Cartesian topologies (MPI-5.0 s8.5.5, s8.5.6).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "object/error.h"
#include "topo/query.h"
#include "topo/topo.h"

static int check_room(const struct wf_topo *t, int maxdims)
{
    if (maxdims >= t->grid.ndims)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG, "maxdims is %d but the grid has %d dimensions",
                    maxdims, t->grid.ndims);
}

int wf_mpi_cartdim_get(struct wf_instance *wf, struct wf_comm *comm, int *ndims)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    *ndims = t->grid.ndims;
    return MPI_SUCCESS;
}

int wf_mpi_cart_get(struct wf_instance *wf, struct wf_comm *comm, int maxdims,
                    int dims[], int periods[], int coords[])
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART);
    int rc = t ? check_room(t, maxdims) : MPI_ERR_TOPOLOGY;

    for (int d = 0; !rc && d < t->grid.ndims; d++) {
        dims[d] = t->grid.dims[d];
        periods[d] = t->grid.periods[d];
        coords[d] = t->coords[d];
    }
    return rc;
}

int wf_mpi_cart_coords(struct wf_instance *wf, struct wf_comm *comm, int rank,
                       int maxdims, int coords[])
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART);
    int rc = t ? check_room(t, maxdims) : MPI_ERR_TOPOLOGY;

    if (!rc)
        wf_grid_coords(&t->grid, rank, coords);
    return rc;
}

int wf_mpi_cart_rank(struct wf_instance *wf, struct wf_comm *comm,
                     const int coords[], int *rank)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART);
    int at = 0;

    if (!t)
        return MPI_ERR_TOPOLOGY;
    for (int d = 0; d < t->grid.ndims; d++) {
        int x = wf_grid_wrap(&t->grid, d, coords[d]);
        if (x < 0)
            return wf_error(MPI_ERR_ARG,
                            "coords[%d] is %d but this dimension, which is "
                            "not periodic, has 0..%d",
                            d, coords[d], t->grid.dims[d] - 1);
        at = at * t->grid.dims[d] + x;
    }
    *rank = at;
    return MPI_SUCCESS;
}

int wf_mpi_cart_shift(struct wf_instance *wf, struct wf_comm *comm,
                      int direction, int disp, int *rank_source, int *rank_dest)
{
    struct wf_topo *t = wf_topo_of(comm, MPI_CART);

    if (!t)
        return MPI_ERR_TOPOLOGY;
    if (direction < 0 || direction >= t->grid.ndims)
        return wf_error(MPI_ERR_DIMS,
                        "direction is %d but the grid has %d "
                        "dimensions, counted from 0",
                        direction, t->grid.ndims);
    *rank_source =
        wf_grid_neighbor(&t->grid, t->coords, direction, -(int64_t)disp);
    *rank_dest = wf_grid_neighbor(&t->grid, t->coords, direction, disp);
    return MPI_SUCCESS;
}

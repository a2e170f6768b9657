/* Arithmetic on Cartesian grids. Ranks run in row-major order: the last
 * coordinate changes fastest (MPI-5.0 s8.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GRID_H
#define WF_GRID_H

#include "base.h"

struct wf_grid {
    int ndims;
    const int *dims, *periods; /* ndims each */
};

static inline void wf_grid_coords(const struct wf_grid *g, int rank,
                                  int coords[])
{
    for (int d = g->ndims - 1; d >= 0; d--) {
        coords[d] = rank % g->dims[d];
        rank /= g->dims[d];
    }
}

static inline int wf_grid_rank(const struct wf_grid *g, const int coords[])
{
    int rank = 0;

    for (int d = 0; d < g->ndims; d++)
        rank = rank * g->dims[d] + coords[d];
    return rank;
}

/* Returns coordinate x of dimension d, wrapped around where the grid is
 * periodic; -1 where x lies beyond the border. */
static inline int wf_grid_wrap(const struct wf_grid *g, int d, int64_t x)
{
    int n = g->dims[d];

    if (x >= 0 && x < n)
        return (int)x;
    return g->periods[d] ? (int)((x % n + n) % n) : -1;
}

/* Returns the rank that is disp steps along dimension d from the cell at
 * coords, or MPI_PROC_NULL. */
static inline int wf_grid_neighbor(const struct wf_grid *g, const int coords[],
                                   int d, int64_t disp)
{
    int x = wf_grid_wrap(g, d, coords[d] + disp), rank = 0;

    if (x < 0)
        return MPI_PROC_NULL;
    for (int i = 0; i < g->ndims; i++)
        rank = rank * g->dims[i] + (i == d ? x : coords[i]);
    return rank;
}

#endif

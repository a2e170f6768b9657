/* Communicators with a topology: what creation makes of the members, what can
 * be asked, what a duplicate keeps and a split loses, and that reorder brings
 * neighbours to one node.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static MPI_Comm world;
static int rank, size;

static int kind_of(MPI_Comm c)
{
    int kind;
    MPI_Topo_test(c, &kind);
    return kind;
}

/* ---- grids --------------------------------------------------------------- */

static void a_line_leaves_the_last_process_out(void)
{
    int n = size > 1 ? size - 1 : 1, period = 0, coord, dims, periods, at;
    int source, dest, ndims;
    MPI_Comm line;

    MPI_Cart_create(world, 1, &n, &period, 0, &line);
    CHECK((line == MPI_COMM_NULL) == (rank >= n));
    if (line == MPI_COMM_NULL)
        return;
    CHECK(kind_of(line) == MPI_CART && size_of(line) == n);
    CHECK(rank_in(line) == rank);
    MPI_Cartdim_get(line, &ndims);
    MPI_Cart_get(line, 1, &dims, &periods, &coord);
    CHECK(ndims == 1 && dims == n && !periods && coord == rank);
    for (int i = 0; i < n; i++) {
        MPI_Cart_coords(line, i, 1, &coord);
        MPI_Cart_rank(line, &coord, &at);
        CHECK(at == i);
    }
    MPI_Cart_shift(line, 0, 1, &source, &dest);
    CHECK(source == (rank > 0 ? rank - 1 : MPI_PROC_NULL));
    CHECK(dest == (rank < n - 1 ? rank + 1 : MPI_PROC_NULL));
    check_talks(line);
    MPI_Comm_free(&line);
}

static void a_ring_leads_back(void)
{
    int period = 7 /* true */, coord = -1, at, source, dest, is;
    MPI_Comm ring;

    MPI_Cart_create(world, 1, &size, &period, 1, &ring);
    MPI_Cart_rank(ring, &coord, &at);
    CHECK(at == size - 1);
    coord = 2 * size;
    MPI_Cart_rank(ring, &coord, &at);
    CHECK(at == 0);
    MPI_Cart_shift(ring, 0, size + 1, &source, &dest);
    CHECK(dest == (rank_in(ring) + 1) % size);
    CHECK(source == (rank_in(ring) + size - 1) % size);
    MPI_Cart_get(ring, 1, &at, &is, &coord);
    CHECK(is == 1 && coord == rank_in(ring));
    MPI_Comm_free(&ring);
}

static void slices_of_a_grid_are_grids(void)
{
    int dims[3] = {0, 1, 0}, periods[3] = {1, 0, 0}, coords[3], keep[3];
    int d[3], p[3], c[3], ndims;
    MPI_Comm grid, slice;

    MPI_Dims_create(size, 3, dims);
    MPI_Cart_create(world, 3, dims, periods, 1, &grid);
    MPI_Cart_get(grid, 3, d, p, coords);
    for (int mask = 0; mask < 8; mask++) {
        int n = 1, k = 0;
        for (int i = 0; i < 3; i++)
            n *= (keep[i] = mask >> i & 1) ? dims[i] : 1;
        CHECK(MPI_Cart_sub(grid, keep, &slice) == MPI_SUCCESS);
        CHECK(size_of(slice) == n);
        MPI_Cartdim_get(slice, &ndims);
        CHECK(ndims == keep[0] + keep[1] + keep[2]);
        MPI_Cart_get(slice, 3, d, p, c);
        for (int i = 0; i < 3; i++)
            if (keep[i]) {
                CHECK(d[k] == dims[i] && p[k] == periods[i]);
                CHECK(c[k++] == coords[i]);
            }
        check_talks(slice);
        MPI_Comm_free(&slice);
    }
    MPI_Comm_free(&grid);
}

static void no_dimension_is_one_process(void)
{
    MPI_Comm point;

    MPI_Cart_create(world, 0, NULL, NULL, 1, &point);
    CHECK((point == MPI_COMM_NULL) == (rank > 0));
    if (point != MPI_COMM_NULL)
        MPI_Comm_free(&point);
}

/* ---- graphs -------------------------------------------------------------- */

static void everybody_knows_the_whole_graph(void)
{
    int *index = malloc((size_t)size * sizeof *index), nnodes, nedges;
    int *edges = malloc(2 * (size_t)size * sizeof *edges), n, back[2];
    int *i2 = malloc((size_t)size * sizeof *i2);
    int *e2 = malloc(2 * (size_t)size * sizeof *e2);
    MPI_Comm ring, none;

    for (int i = 0; i < size; i++) {
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
        index[i] = 2 * i + 2;
    }
    MPI_Graph_create(world, size, index, edges, 1, &ring);
    CHECK(kind_of(ring) == MPI_GRAPH);
    MPI_Graphdims_get(ring, &nnodes, &nedges);
    CHECK(nnodes == size && nedges == 2 * size);
    MPI_Graph_get(ring, size, 2 * size, i2, e2);
    CHECK(!memcmp(index, i2, (size_t)size * sizeof *index));
    CHECK(!memcmp(edges, e2, 2 * (size_t)size * sizeof *edges));
    for (int i = 0; i < size; i++) {
        MPI_Graph_neighbors_count(ring, i, &n);
        MPI_Graph_neighbors(ring, i, 2, back);
        CHECK(n == 2 && back[0] == edges[2 * i] && back[1] == edges[2 * i + 1]);
    }
    check_talks(ring);
    MPI_Comm_free(&ring);
    MPI_Graph_create(world, 0, index, edges, 0, &none);
    CHECK(none == MPI_COMM_NULL);
    free(index);
    free(edges);
    free(i2);
    free(e2);
}

/* Rank 0 names the edges i -> i + 1, with weight 10 + i. */
static void ends_learn_what_others_named(int reorder)
{
    int n = rank == 0 ? size : 0, in, out, weighted, s, sw, d, dw, next;
    int *from = malloc(4 * (size_t)size * sizeof *from);
    int *degrees = from + size, *to = degrees + size, *weights = to + size;
    MPI_Comm ring;

    for (int i = 0; i < size; i++) {
        from[i] = i;
        degrees[i] = 1;
        to[i] = (i + 1) % size;
        weights[i] = 10 + i;
    }
    MPI_Dist_graph_create(world, n, from, degrees, to,
                          n ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                          reorder, &ring);
    CHECK(kind_of(ring) == MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && weighted);
    MPI_Dist_graph_neighbors(ring, 1, &s, &sw, 1, &d, &dw);
    next = rank_in(ring);
    CHECK(d == (next + 1) % size && dw == 10 + next);
    CHECK(s == (next + size - 1) % size && sw == 10 + s);
    check_talks(ring);
    MPI_Comm_free(&ring);
    free(from);
}

static void lists_come_back_as_they_were_given(void)
{
    int sources[3] = {0, size - 1, 0}, weights[3] = {5, 0, 7};
    int s[3] = {-1, -1, -1}, w[3] = {-1, -1, -1}, in, out, weighted;
    int times = rank == 0 ? 2 * size : 0, *all;
    MPI_Comm star;

    /* all get two edges from 0 and one from the last */
    all = malloc(3 * (size_t)size * sizeof *all);
    for (int i = 0; i < times; i++)
        all[i] = i % size;
    for (int i = 0; rank == size - 1 && i < size; i++)
        all[times++] = i;
    MPI_Dist_graph_create_adjacent(world, 3, sources, weights, times, all, all,
                                   MPI_INFO_NULL, 0, &star);
    MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted);
    CHECK(in == 3 && out == times && weighted);
    MPI_Dist_graph_neighbors(star, 2, s, w, 0, NULL, NULL);
    CHECK(s[0] == 0 && s[1] == size - 1 && s[2] == -1);
    CHECK(w[0] == 5 && w[1] == 0 && w[2] == -1);
    MPI_Dist_graph_neighbors(star, 3, s, MPI_UNWEIGHTED, 0, NULL,
                             MPI_UNWEIGHTED);
    CHECK(s[2] == 0);
    MPI_Comm_free(&star);
    MPI_Dist_graph_create_adjacent(world, 3, sources, MPI_UNWEIGHTED, times,
                                   all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &star);
    w[0] = -5;
    MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(star, 3, s, w, 0, NULL, NULL);
    CHECK(!weighted && w[0] == -5);
    MPI_Comm_free(&star);
    free(all);
}

/* ---- what becomes of a topology ------------------------------------------ */

static void duplicates_keep_it_and_others_lose_it(void)
{
    int period = 1, at, coord = 0;
    MPI_Comm ring, copy, later, part, made;
    MPI_Request r;
    MPI_Group all;

    MPI_Cart_create(world, 1, &size, &period, 0, &ring);
    MPI_Comm_dup(ring, &copy);
    MPI_Comm_idup(ring, &later, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_split(ring, 0, 0, &part);
    MPI_Comm_group(ring, &all);
    MPI_Comm_create(ring, all, &made);
    CHECK(kind_of(part) == MPI_UNDEFINED && kind_of(made) == MPI_UNDEFINED);
    CHECK(kind_of(world) == MPI_UNDEFINED);
    MPI_Comm_free(&ring);
    CHECK(kind_of(copy) == MPI_CART && kind_of(later) == MPI_CART);
    MPI_Cart_rank(copy, &coord, &at);
    CHECK(at == 0);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, (int[2]){0}, 1, MPI_INT, later);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&later);
    MPI_Comm_free(&part);
    MPI_Comm_free(&made);
    MPI_Group_free(&all);
}

/* ---- reorder ------------------------------------------------------------- */

/* Whether both ends of my edges are on my node. */
static int among_ourselves(MPI_Comm c, int neighbor)
{
    MPI_Group all, near;
    MPI_Comm node;
    int there;

    MPI_Comm_split_type(c, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(c, &all);
    MPI_Comm_group(node, &near);
    MPI_Group_translate_ranks(all, 1, &neighbor, near, &there);
    MPI_Group_free(&all);
    MPI_Group_free(&near);
    MPI_Comm_free(&node);
    return there != MPI_UNDEFINED;
}

/* i and i + half are partners: with half of the ranks on each of two nodes, in
 * order, all edges run between the nodes, and need not. */
static void partners_meet_on_a_node(void)
{
    int half = size / 2, partner, index[16], edges[16], newrank, me;
    MPI_Comm pairs;

    if (size % 4 || size > 16)
        return;
    for (int i = 0; i < size; i++) {
        edges[i] = (i + half) % size;
        index[i] = i + 1;
    }
    MPI_Graph_create(world, size, index, edges, 1, &pairs);
    me = rank_in(pairs);
    partner = (me + half) % size;
    CHECK(among_ourselves(pairs, partner));
    MPI_Graph_map(world, size, index, edges, &newrank);
    CHECK(newrank == me);
    MPI_Comm_free(&pairs);
    MPI_Dist_graph_create_adjacent(world, 1, &edges[rank], MPI_UNWEIGHTED, 1,
                                   &edges[rank], MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   1, &pairs);
    MPI_Dist_graph_neighbors(pairs, 1, &partner, MPI_UNWEIGHTED, 0, NULL, NULL);
    CHECK(partner == (rank_in(pairs) + half) % size);
    CHECK(among_ourselves(pairs, partner));
    MPI_Comm_free(&pairs);
}

static void a_map_leaves_out_who_is_not_needed(void)
{
    int one = 1, period = 0, newrank;

    MPI_Cart_map(world, 1, &one, &period, &newrank);
    CHECK(newrank == (rank == 0 ? 0 : MPI_UNDEFINED));
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    world = MPI_COMM_WORLD;
    rank = rank_in(world);
    size = size_of(world);
    a_line_leaves_the_last_process_out();
    a_ring_leads_back();
    slices_of_a_grid_are_grids();
    no_dimension_is_one_process();
    everybody_knows_the_whole_graph();
    ends_learn_what_others_named(0);
    ends_learn_what_others_named(1);
    lists_come_back_as_they_were_given();
    duplicates_keep_it_and_others_lose_it();
    partners_meet_on_a_node();
    a_map_leaves_out_who_is_not_needed();
    return job_end();
}

/* Wrong arguments about topologies give the error class the standard names, in
 * all processes that would otherwise wait for one another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static MPI_Comm world, grid, graph, dist;
static int rank, size;

/* the expected error class */
static void check_class(int rc, int wanted, int line)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    if (class == wanted)
        return;
    fprintf(stderr, "%s:%d: error class %d, wanted %d\n", __FILE__, line, class,
            wanted);
    job_failures++;
}
#define FAILS(call, class) check_class(call, class, __LINE__)

static void check_creation(void)
{
    int zero = 0, many = size + 1, one = 1, huge[] = {1 << 20, 1 << 20};
    int falling[] = {1, 0}, index[] = {1, 1}, far = 5;
    MPI_Comm c, inter;

    FAILS(MPI_Cart_create(world, -1, &one, &one, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(world, 1, &zero, &one, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(world, 1, &many, &one, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(world, 2, huge, huge, 0, &c), MPI_ERR_DIMS);
    FAILS(MPI_Cart_create(world, 1, NULL, &one, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Cart_map(world, 1, &many, &one, &far), MPI_ERR_DIMS);
    FAILS(MPI_Graph_create(world, many, index, &one, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(world, -1, index, &one, 0, &c), MPI_ERR_ARG);
    if (size < 2)
        return;
    FAILS(MPI_Graph_create(world, 2, falling, &one, 0, &c), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(world, 2, index, &far, 0, &c), MPI_ERR_RANK);
    FAILS(MPI_Graph_create(world, 2, index, NULL, 0, &c), MPI_ERR_ARG);
    MPI_Comm_split(world, rank % 2, 0, &c);
    MPI_Intercomm_create(c, 0, world, 1 - rank % 2, 0, &inter);
    MPI_Comm_free(&c);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Cart_create(inter, 1, &one, &one, 0, &c), MPI_ERR_COMM);
    FAILS(MPI_Dist_graph_create(inter, 0, NULL, NULL, NULL, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, 0, &c), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
}

/* One process is wrong: the call fails in all of them. */
static void distributed_graphs(int reorder)
{
    int wrong = rank == 0, r = wrong ? size : 0, one = 1, minus = -1, class;
    int weight = wrong ? -1 : 1, rc;
    MPI_Comm c;

    FAILS(MPI_Dist_graph_create(world, 1, &r, &one, &rank, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, reorder, &c),
          wrong ? MPI_ERR_RANK : MPI_ERR_NOT_SAME);
    CHECK(c == MPI_COMM_NULL);
    FAILS(MPI_Dist_graph_create(world, 1, &rank, wrong ? &minus : &one, &rank,
                                &one, MPI_INFO_NULL, reorder, &c),
          wrong ? MPI_ERR_ARG : MPI_ERR_NOT_SAME);
    FAILS(MPI_Dist_graph_create_adjacent(world, 1, &rank, &weight, 1, &rank,
                                         &one, MPI_INFO_NULL, reorder, &c),
          wrong ? MPI_ERR_ARG : MPI_ERR_NOT_SAME);
    rc = MPI_Dist_graph_create_adjacent(world, 1, &rank, &one, 1, &rank,
                                        wrong ? MPI_WEIGHTS_EMPTY : &one,
                                        MPI_INFO_NULL, reorder, &c);
    MPI_Error_class(rc, &class);
    CHECK(class == (wrong ? MPI_ERR_ARG : MPI_ERR_NOT_SAME));
}

/* The text of the last error holds what was wrong. */
static void check_text(int rc, const char *wanted, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    MPI_Error_string(rc, text, &n);
    if (strstr(text, wanted))
        return;
    fprintf(stderr, "%s:%d: '%s' is not in: %s\n", __FILE__, line, wanted,
            text);
    job_failures++;
}
#define SAYS(call, wanted) check_text(call, wanted, __LINE__)

static void check_messages(void)
{
    int one = 1, minus = -1, beyond[2] = {0, size}, two = 2;
    char text[100];
    MPI_Comm c;

    snprintf(text, sizeof text,
             "destinations[1] is %d but the communicator has ranks 0..%d", size,
             size - 1);
    SAYS(MPI_Dist_graph_create(world, 1, &rank, &two, beyond, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &c), text);
    SAYS(MPI_Dist_graph_create(world, 1, &minus, &one, &rank, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &c), "sources[0] is -1 but");
    SAYS(MPI_Dist_graph_create(world, 1, &rank, &minus, &rank, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &c),
         "degrees[0] is -1 but must be 0 or more");
    SAYS(MPI_Dist_graph_create(world, 1, &rank, &one, &rank, &minus,
                               MPI_INFO_NULL, 0, &c),
         "weights[0] is -1 but must be 0 or more");
}

/* MPI-5.0 s8.5.4: a source may have no destination; its degree is 0. */
static void sources_without_edges(void)
{
    int sources[2] = {rank, (rank + 1) % size}, degrees[2] = {0, 1};
    int in = -1, out = -1, weighted = -1;
    MPI_Comm c;

    FAILS(MPI_Dist_graph_create(world, 2, sources, degrees, &rank,
                                MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c),
          MPI_SUCCESS);
    MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && !weighted);
    MPI_Comm_free(&c);
    degrees[1] = 0;
    FAILS(MPI_Dist_graph_create(world, 2, sources, degrees, NULL,
                                MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c),
          MPI_SUCCESS);
    MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
    CHECK(in == 0 && out == 0);
    MPI_Comm_free(&c);
}

static void check_questions(void)
{
    int x[4], n, beyond = 1;

    FAILS(MPI_Cartdim_get(world, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_rank(graph, &n, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_sub(dist, &n, &world), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graphdims_get(grid, &n, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors_count(dist, 0, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(graph, &n, &n, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Topo_test(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    world = MPI_COMM_WORLD;

    FAILS(MPI_Cart_coords(grid, size, 2, x), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(grid, 0, 1, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_get(grid, 1, x, x, x), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(grid, (int[2]){0, beyond}, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_rank(grid, NULL, &n), MPI_ERR_ARG);
    FAILS(MPI_Cart_sub(grid, NULL, &world), MPI_ERR_ARG);
    world = MPI_COMM_WORLD;
    FAILS(MPI_Cart_shift(grid, 2, 1, &n, &n), MPI_ERR_DIMS);
    FAILS(MPI_Cart_shift(grid, -1, 1, &n, &n), MPI_ERR_DIMS);
    FAILS(MPI_Graph_get(graph, 0, 1, x, x), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors(graph, 0, 0, x), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors(graph, size, 1, x), MPI_ERR_RANK);
}

static void check_collectives(void)
{
    int a[8] = {0}, b[8] = {0}, counts[4] = {1, 1, 1, -1}, displs[4] = {0};
    MPI_Request r;

    FAILS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, world),
          MPI_ERR_TOPOLOGY);
    FAILS(MPI_Ineighbor_alltoallv(a, NULL, NULL, MPI_INT, b, NULL, NULL,
                                  MPI_INT, world, &r), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, grid),
          MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, grid),
          MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_allgather(a, -1, MPI_INT, b, 1, MPI_INT, grid),
          MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_allgatherv(a, 1, MPI_INT, b, counts, displs, MPI_INT,
                                  grid), MPI_ERR_COUNT);
    FAILS(MPI_Neighbor_alltoallv(a, NULL, displs, MPI_INT, b, displs, displs,
                                 MPI_INT, grid), MPI_ERR_ARG);
    FAILS(MPI_Neighbor_alltoall(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, grid),
          MPI_ERR_TYPE);
    FAILS(MPI_Neighbor_alltoall_init(a, 1, MPI_INT, NULL, 1, MPI_INT, grid,
                                     MPI_INFO_NULL, &r), MPI_ERR_BUFFER);
}

int main(int argc, char **argv)
{
    int dims[2] = {0, 1}, no[2] = {0, 0}, index[64], edge = 0;

    job_begin(&argc, &argv);
    world = MPI_COMM_WORLD;
    rank = rank_in(world);
    size = size_of(world);
    dims[0] = size;
    for (int i = 0; i < size; i++)
        index[i] = 1;
    MPI_Cart_create(world, 2, dims, no, 0, &grid);
    MPI_Graph_create(world, size, index, &edge, 0, &graph);
    MPI_Dist_graph_create_adjacent(world, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
                                   MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &dist);
    check_creation();
    distributed_graphs(0);
    distributed_graphs(1);
    check_messages();
    sources_without_edges();
    check_questions();
    check_collectives();
    MPI_Comm_free(&grid);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&dist);
    return job_end();
}

/* The phases of sweep_job that make communicators.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sweep_job.h"

#define WORLD MPI_COMM_WORLD

/* The members of c can talk. */
static void talk_to_peers(MPI_Comm c)
{
    int sum = -1;
    ONCE(MPI_Allreduce(&sweep_rank, &sum, 1, MPI_INT, MPI_SUM, c));
    RIGHT(sum == 1);
}

static void check_duplicate(void)
{
    MPI_Comm a, b, c;
    MPI_Request r;
    ONCE(MPI_Comm_dup(WORLD, &a));
    ONCE(MPI_Comm_idup(WORLD, &b, &r));
    ONCE(MPI_Wait(&r, MPI_STATUS_IGNORE));
    ONCE(MPI_Comm_dup_with_info(a, MPI_INFO_NULL, &c));
    talk_to_peers(a);
    talk_to_peers(b);
    talk_to_peers(c);
    ONCE(MPI_Comm_free(&a));
    ONCE(MPI_Comm_free(&b));
    ONCE(MPI_Comm_free(&c));
}

static void check_split(void)
{
    MPI_Comm a, b, c;
    int n = 0;
    ONCE(MPI_Comm_split(WORLD, 0, -sweep_rank, &a));
    talk_to_peers(a);
    ONCE(MPI_Comm_split(WORLD, sweep_rank, 0, &b));
    MPI_Comm_size(b, &n);
    RIGHT(n == 1);
    ONCE(MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                             &c));
    ONCE(MPI_Comm_free(&a));
    ONCE(MPI_Comm_free(&b));
    ONCE(MPI_Comm_free(&c));
}

static void check_create(void)
{
    MPI_Group g;
    MPI_Comm a, b, c;
    RETRY(MPI_Comm_group(WORLD, &g));
    ONCE(MPI_Comm_create(WORLD, g, &a));
    ONCE(MPI_Comm_create_group(WORLD, g, 5, &b));
    ONCE(MPI_Comm_create_from_group(g, "weft://sweep", MPI_INFO_NULL,
                                    MPI_ERRORS_RETURN, &c));
    talk_to_peers(a);
    talk_to_peers(b);
    talk_to_peers(c);
    RETRY(MPI_Group_free(&g));
    ONCE(MPI_Comm_free(&a));
    ONCE(MPI_Comm_free(&b));
    ONCE(MPI_Comm_free(&c));
}

static void make_intercomm(void)
{
    MPI_Comm mine, inter, merged;
    ONCE(MPI_Comm_split(WORLD, sweep_rank, 0, &mine));
    ONCE(MPI_Intercomm_create(mine, 0, WORLD, 1 - sweep_rank, 3, &inter));
    ONCE(MPI_Intercomm_merge(inter, sweep_rank, &merged));
    talk_to_peers(merged);
    ONCE(MPI_Comm_free(&mine));
    ONCE(MPI_Comm_free(&inter));
    ONCE(MPI_Comm_free(&merged));
}

static void check_topologies(void)
{
    MPI_Comm cart, graph, dist, line, any;
    int dims[] = {2}, periods[] = {1}, index[] = {1, 2}, edges[] = {1, 0};
    int keep[] = {1};
    int peer = 1 - sweep_rank, in[2] = {-1, -1}, one = 1;
    ONCE(MPI_Cart_create(WORLD, 1, dims, periods, 0, &cart));
    ONCE(MPI_Graph_create(WORLD, 2, index, edges, 0, &graph));
    ONCE(MPI_Dist_graph_create_adjacent(WORLD, 1, &peer, MPI_UNWEIGHTED, 1,
                                        &peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &dist));
    ONCE(MPI_Cart_sub(cart, keep, &line));
    ONCE(MPI_Dist_graph_create(WORLD, 1, &sweep_rank, &one, &peer,
                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &any));
    ONCE(MPI_Neighbor_allgather(&sweep_rank, 1, MPI_INT, in, 1, MPI_INT, cart));
    RIGHT(in[0] == peer && in[1] == peer);
    ONCE(MPI_Neighbor_allgather(&sweep_rank, 1, MPI_INT, in, 1, MPI_INT, dist));
    RIGHT(in[0] == peer);
    ONCE(MPI_Comm_free(&cart));
    ONCE(MPI_Comm_free(&graph));
    ONCE(MPI_Comm_free(&dist));
    ONCE(MPI_Comm_free(&line));
    ONCE(MPI_Comm_free(&any));
}

static void check_session(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    RETRY(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
    RETRY(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    ONCE(MPI_Comm_create_from_group(g, "weft://sweep", MPI_INFO_NULL,
                                    MPI_ERRORS_RETURN, &c));
    talk_to_peers(c);
    ONCE(MPI_Comm_free(&c));
    RETRY(MPI_Group_free(&g));
    ONCE(MPI_Session_finalize(&s));
}

const struct sweep_phase sweep_comm[] = {
    {"dup", check_duplicate, 0},
    {"split", check_split, 0},
    {"create", check_create, 0},
    {"intercomm", make_intercomm, 0},
    {"topologies", check_topologies, 0},
    {"sessions", check_session, 0},
    {NULL, NULL, 0}};

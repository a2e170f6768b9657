/* Collectives over an intercommunicator: the result of each group goes to the
 * other one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static _Thread_local MPI_Comm inter;
static _Thread_local int rank, local, remote, left;

/* Returns the world rank of rank i of the other group: even ranks are left. */
static int remote_world(int i)
{
    return 2 * i + left;
}

static int remote_sum(void)
{
    int sum = 0;
    for (int i = 0; i < remote; i++)
        sum += remote_world(i);
    return sum;
}

/* The root is rank 0 of the left group. */
static int find_root(void)
{
    return !left ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static void check_rooted(void)
{
    int me = rank_in(MPI_COMM_WORLD), v = me, sum = -1;
    int *all = calloc((size_t)remote + 1, sizeof *all), mine = -1;

    MPI_Bcast(&v, 1, MPI_INT, find_root(), inter);
    CHECK(v == (left ? me : 0));
    MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, find_root(), inter);
    CHECK(find_root() != MPI_ROOT || sum == remote_sum());
    MPI_Gather(&me, 1, MPI_INT, all, 1, MPI_INT, find_root(), inter);
    for (int i = 0; find_root() == MPI_ROOT && i < remote; i++)
        CHECK(all[i] == remote_world(i));
    MPI_Scatter(all, 1, MPI_INT, &mine, 1, MPI_INT, find_root(), inter);
    CHECK(left || mine == me);
    free(all);
}

static void check_mutual(void)
{
    int me = rank_in(MPI_COMM_WORLD), sum = -1;
    int *all = calloc((size_t)remote + 1, sizeof *all);
    int *out = calloc((size_t)(local * remote) + 1, sizeof *out);
    int *in = calloc((size_t)(local * remote) + 1, sizeof *in);

    MPI_Barrier(inter);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote_sum());
    MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == remote_world(i));
    for (int i = 0; i < remote; i++)
        out[i] = 100 * me + i;
    MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(all[i] == 100 * remote_world(i) + rank);
    for (int i = 0; i < local * remote; i++)
        out[i] = i;
    MPI_Reduce_scatter_block(out, in, remote, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
        CHECK(in[i] == remote * (rank * remote + i));
    free(all);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int me;

    MPI_Init(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    if (size_of(MPI_COMM_WORLD) > 1) {
        left = me % 2 == 0;
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left, 5, &inter);
        rank = rank_in(inter);
        local = size_of(inter);
        MPI_Comm_remote_size(inter, &remote);
        for (int i = 0; i < 3; i++) {
            check_rooted();
            check_mutual();
        }
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    return job_end();
}

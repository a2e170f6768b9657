/* The operations during which torture_deaths lets a rank die: collectives here,
 * others in deaths_between.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deaths.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct mine mine;

int begin_plain(void)
{
    size_t n = (size_t)LARGE * (size_t)job.size;

    mine.out = calloc(n, sizeof *mine.out);
    mine.in = calloc(n, sizeof *mine.in);
    return !mine.out || !mine.in;
}

/* ---- data ---------------------------------------------------------------- */

int value(int rank, int i, int k)
{
    return rank * 1000 + i * 17 + k % 13;
}

void fill(int i, int n)
{
    for (int k = 0; k < n; k++)
        mine.out[k] = value(job.rank, i, k);
    memset(mine.in, 0xff, (size_t)n * sizeof *mine.in);
}

/* n numbers of `rank` stand in from. */
void expect(const int *from, int rank, int i, int n)
{
    for (int k = 0; k < n; k++)
        if (from[k] != value(rank, i, k)) {
            say("wrong data: %d of rank %d is %d, not %d", k, rank, from[k],
                value(rank, i, k));
            return;
        }
}

/* The sum of what ranks 0 ... last have. */
static void expect_sum(const int *from, int last, int i, int n)
{
    for (int k = 0; k < n; k++) {
        int sum = 0;
        for (int r = 0; r <= last; r++)
            sum += value(r, i, k);
        if (from[k] != sum) {
            say("wrong data: sum %d is %d, not %d", k, from[k], sum);
            return;
        }
    }
}

static void expect_blocks(int i, int n)
{
    for (int r = 0; r < job.size; r++)
        expect(mine.in + (size_t)r * (size_t)n, r, i, n);
}

/* ---- blocking collectives ------------------------------------------------ */

static int run_barrier(int i)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

static int bcast_of(int i, int n, int root)
{
    int rc;

    fill(i, n);
    rc = MPI_Bcast(mine.out, n, MPI_INT, root, MPI_COMM_WORLD);
    if (!rc)
        expect(mine.out, root, i, n);
    return rc;
}

static int bcast_root(int i)
{
    return bcast_of(i, SMALL, job.victim);
}

static int bcast_leaf(int i)
{
    return bcast_of(i, SMALL, (job.victim + 1) % job.size);
}

static int bcast_large(int i)
{
    return bcast_of(i, LARGE, (job.victim + i) % job.size);
}

static int reduce_of(int i, int n)
{
    int root = (job.victim + i) % job.size, rc;

    fill(i, n);
    rc = MPI_Reduce(mine.out, mine.in, n, MPI_INT, MPI_SUM, root,
                    MPI_COMM_WORLD);
    if (!rc && job.rank == root)
        expect_sum(mine.in, job.size - 1, i, n);
    return rc;
}

static int reduce_small(int i)
{
    return reduce_of(i, SMALL);
}

static int reduce_large(int i)
{
    return reduce_of(i, LARGE);
}

static int allreduce_of(int i, int n)
{
    int rc;

    fill(i, n);
    rc = MPI_Allreduce(mine.out, mine.in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rc)
        expect_sum(mine.in, job.size - 1, i, n);
    return rc;
}

static int allreduce_small(int i)
{
    return allreduce_of(i, SMALL);
}

static int allreduce_large(int i)
{
    return allreduce_of(i, LARGE);
}

static int gather_small(int i)
{
    int root = i % job.size, rc;

    fill(i, SMALL);
    rc = MPI_Gather(mine.out, SMALL, MPI_INT, mine.in, SMALL, MPI_INT, root,
                    MPI_COMM_WORLD);
    if (!rc && job.rank == root)
        expect_blocks(i, SMALL);
    return rc;
}

static int scatter_of(int i, int n)
{
    int root = i % job.size, rc;

    for (int r = 0; r < job.size; r++)
        for (int k = 0; k < n; k++)
            mine.out[(size_t)r * (size_t)n + (size_t)k] = value(r, i, k);
    rc = MPI_Scatter(mine.out, n, MPI_INT, mine.in, n, MPI_INT, root,
                     MPI_COMM_WORLD);
    if (!rc)
        expect(mine.in, job.rank, i, n);
    return rc;
}

static int scatter_small(int i)
{
    return scatter_of(i, SMALL);
}

static int scatter_large(int i)
{
    return scatter_of(i, LARGE / 4);
}

static int allgather_of(int i, int n)
{
    int rc;

    fill(i, n);
    rc = MPI_Allgather(mine.out, n, MPI_INT, mine.in, n, MPI_INT,
                       MPI_COMM_WORLD);
    if (!rc)
        expect_blocks(i, n);
    return rc;
}

static int allgather_small(int i)
{
    return allgather_of(i, SMALL);
}

static int allgather_large(int i)
{
    return allgather_of(i, LARGE / 2);
}

/* Each rank sends the same to all. */
int alltoall_of(int i, int n, MPI_Comm comm, int size)
{
    for (int r = 0; r < size; r++)
        for (int k = 0; k < n; k++)
            mine.out[(size_t)r * (size_t)n + (size_t)k] = value(job.rank, i, k);
    return MPI_Alltoall(mine.out, n, MPI_INT, mine.in, n, MPI_INT, comm);
}

static int alltoall_small(int i)
{
    int rc = alltoall_of(i, SMALL, MPI_COMM_WORLD, job.size);

    if (!rc)
        expect_blocks(i, SMALL);
    return rc;
}

static int alltoall_large(int i)
{
    int rc = alltoall_of(i, LARGE / 4, MPI_COMM_WORLD, job.size);

    if (!rc)
        expect_blocks(i, LARGE / 4);
    return rc;
}

static int scan_small(int i)
{
    int rc;

    fill(i, SMALL);
    rc = MPI_Scan(mine.out, mine.in, SMALL, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rc)
        expect_sum(mine.in, job.rank, i, SMALL);
    return rc;
}

static int reduce_scatter(int i)
{
    int rc;

    for (int k = 0; k < job.size; k++)
        mine.out[k] = value(job.rank, i, 0);
    rc = MPI_Reduce_scatter_block(mine.out, mine.in, 1, MPI_INT, MPI_SUM,
                                  MPI_COMM_WORLD);
    if (!rc)
        expect_sum(mine.in, job.size - 1, i, 1);
    return rc;
}

/* Each call another one. */
static int check_mixed(int i)
{
    static int (*const all[])(int) = {
        run_barrier,   allreduce_small, bcast_large,
        gather_small,  alltoall_small,  reduce_large,
        scatter_small, scan_small,      allgather_large};

    return all[(size_t)i % (sizeof all / sizeof *all)](i);
}

/* ---- nonblocking, persistent, of neighbours ------------------------------ */

int test_until_done(MPI_Request *request)
{
    int rc = MPI_SUCCESS, flag = 0;

    while (!rc && !flag)
        rc = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return rc;
}

static int ibcast_of(int i, int n, int (*wait)(MPI_Request *))
{
    int root = (job.victim + i) % job.size, rc;
    MPI_Request r;

    fill(i, n);
    rc = MPI_Ibcast(mine.out, n, MPI_INT, root, MPI_COMM_WORLD, &r);
    if (!rc)
        rc = wait(&r);
    if (!rc)
        expect(mine.out, root, i, n);
    return rc;
}

static int wait_one(MPI_Request *request)
{
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int ibcast_small(int i)
{
    return ibcast_of(i, SMALL, test_until_done);
}

static int ibcast_large(int i)
{
    return ibcast_of(i, LARGE, wait_one);
}

static int run_iallreduce(int i)
{
    MPI_Request r;
    int rc;

    fill(i, LARGE);
    rc = MPI_Iallreduce(mine.out, mine.in, LARGE, MPI_INT, MPI_SUM,
                        MPI_COMM_WORLD, &r);
    if (!rc)
        rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (!rc)
        expect_sum(mine.in, job.size - 1, i, LARGE);
    return rc;
}

static int run_ibarrier(int i)
{
    MPI_Request r;
    int rc = MPI_Ibarrier(MPI_COMM_WORLD, &r);

    return rc ? rc : i % 2 ? wait_one(&r) : test_until_done(&r);
}

static int begin_persistent(void)
{
    return begin_plain() ||
           MPI_Allreduce_init(mine.out, mine.in, LARGE / 2, MPI_INT, MPI_SUM,
                              MPI_COMM_WORLD, MPI_INFO_NULL, &mine.request);
}

static int check_persistent(int i)
{
    int rc;

    fill(i, LARGE / 2);
    rc = MPI_Start(&mine.request);
    if (!rc)
        rc = MPI_Wait(&mine.request, MPI_STATUS_IGNORE);
    if (!rc)
        expect_sum(mine.in, job.size - 1, i, LARGE / 2);
    return rc;
}

static int begin_ring(void)
{
    int dims = job.size, periods = 1;

    return begin_plain() || MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods,
                                             0, &mine.comm);
}

static int check_neighbours(int i)
{
    int n = i % 2 ? LARGE / 2 : SMALL, rc;

    for (int k = 0; k < n; k++)
        mine.out[k] = mine.out[n + k] = value(job.rank, i, k);
    rc = MPI_Neighbor_alltoall(mine.out, n, MPI_INT, mine.in, n, MPI_INT,
                               mine.comm);
    if (!rc) {
        expect(mine.in, (job.rank + job.size - 1) % job.size, i, n);
        expect(mine.in + n, (job.rank + 1) % job.size, i, n);
    }
    return rc;
}

const struct operation *find_operation(const char *name)
{
    static const struct operation all[] = {
        {"init", begin_plain, run_barrier, false},
        {"barrier", begin_plain, run_barrier, false},
        {"bcast_root", begin_plain, bcast_root, false},
        {"bcast_leaf", begin_plain, bcast_leaf, false},
        {"bcast_large", begin_plain, bcast_large, false},
        {"reduce", begin_plain, reduce_small, false},
        {"reduce_large", begin_plain, reduce_large, false},
        {"allreduce", begin_plain, allreduce_small, false},
        {"allreduce_large", begin_plain, allreduce_large, false},
        {"gather", begin_plain, gather_small, false},
        {"scatter", begin_plain, scatter_small, false},
        {"scatter_large", begin_plain, scatter_large, false},
        {"allgather", begin_plain, allgather_small, false},
        {"allgather_large", begin_plain, allgather_large, false},
        {"alltoall", begin_plain, alltoall_small, false},
        {"alltoall_large", begin_plain, alltoall_large, false},
        {"scan", begin_plain, scan_small, false},
        {"reduce_scatter", begin_plain, reduce_scatter, false},
        {"mixed", begin_plain, check_mixed, false},
        {"ibcast", begin_plain, ibcast_small, false},
        {"ibcast_large", begin_plain, ibcast_large, false},
        {"iallreduce", begin_plain, run_iallreduce, false},
        {"ibarrier", begin_plain, run_ibarrier, false},
        {"persistent", begin_persistent, check_persistent, false},
        {"neighbours", begin_ring, check_neighbours, false},
        {"finalize", begin_plain, NULL, false},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return find_between(name);
}

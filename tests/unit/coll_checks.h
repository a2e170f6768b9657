/* A check for every collective: the call over the case of coll_case.h, and what
 * plain loops say that it must bring. check_NAME takes the shape from there.
 *
 * Included by coll_algorithms.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_COLL_CHECKS_H
#define WF_TEST_COLL_CHECKS_H

#include "coll_case.h"

/* ---- barrier ------------------------------------------------------------- */

static int run_barrier(int r, enum mode mode, MPI_Request *request)
{
    return mode == BLOCKING ? wf_mpi_barrier(comms[r].wf, &comms[r])
           : mode == PERSISTENT
               ? wf_mpi_barrier_init(comms[r].wf, &comms[r], NULL, request)
               : wf_mpi_ibarrier(comms[r].wf, &comms[r], request);
}

static void check_barrier(void)
{
    bool shared = roll_dice(2);
    int late = (int)roll_dice((uint32_t)world_size);
    MPI_Request requests[MAX_RANKS] = {0};

    for (int r = 0; r < world_size; r++)
        comms[r].oversubscription =
            (struct wf_oversubscription){.known = true, .any = shared};
    for (int r = 0; r < world_size; r++)
        if (r != late)
            run_barrier(r, NONBLOCKING, &requests[r]);
    world_drain();
    for (int r = 0; r < world_size; r++) /* nobody (else) is through */
        if (r != late &&
            (!is_inter() || (r < world_left) != (late < world_left)))
            assert_false(wf_req_done(wf_req_of(requests[r])));
    run_barrier(late, NONBLOCKING, &requests[late]);
    finish_requests(requests, false);
    allocate_buffers(0, 0);
    run_case("barrier", run_barrier);
}

/* ---- from and to a root -------------------------------------------------- */

static int run_bcast(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, bcast, rb[r].at, (MPI_Count)cs.count, cs.type, root_of(r));
}

static void check_bcast(void)
{
    allocate_buffers(0, cs.count);
    for (int r = 0; r < world_size; r++) {
        if (receives_from_root(r))
            put_values(&ex[r], cs.type, 0, cs.root, 0, cs.count);
        else if (r == cs.root)
            set_input(r, cs.count, 0, true);
    }
    run_case("bcast", run_bcast);
}

static bool root_in_place(int r)
{
    return cs.in_place && r == cs.root && !is_inter();
}

static int run_gather(int r, enum mode mode, MPI_Request *request)
{
    bool root = r == cs.root;
    return CALL(r, gather, send_buffer(r, root_in_place(r)),
                (MPI_Count)cs.count, root_in_place(r) ? NULL : cs.other,
                root ? rb[r].at : NULL, root ? (MPI_Count)cs.count : 99,
                root ? cs.type : NULL, root_of(r));
}

static void check_gather(void)
{
    allocate_buffers(cs.count, (uint64_t)world_size * cs.count);
    for (int r = 0; r < world_size; r++)
        set_input(r, cs.count, (uint64_t)r * cs.count, root_in_place(r));
    for (int i = 0; i < peers_size(cs.root); i++)
        put_values(&ex[cs.root], cs.type, (uint64_t)i * cs.count,
                   peers_first(cs.root) + i, 0, cs.count);
    run_case("gather", run_gather);
}

/* counts[0][i] elements of process i at displs[0][i] of the root. */
static void choose_ragged(int n)
{
    int at = 2;

    for (int i = 0; i < n; i++) {
        counts[0][i] =
            (int)(i ? roll_dice(3) : 1 + roll_dice(2)) * (int)cs.count;
        displs[0][i] = at;
        at += counts[0][i] + (int)roll_dice(2);
    }
}

static int own_index(int r)
{
    return r - group_first(r);
}

static int run_gatherv(int r, enum mode mode, MPI_Request *request)
{
    bool root = r == cs.root;
    return CALL(r, gatherv, send_buffer(r, root_in_place(r)),
                counts[0][own_index(r)], root_in_place(r) ? NULL : cs.other,
                root ? rb[r].at : NULL, ints_of(root ? counts[0] : NULL),
                ints_of(root ? displs[0] : NULL), root ? cs.type : NULL,
                root_of(r));
}

static uint64_t ragged_room(void)
{
    return (uint64_t)world_size * (2 * cs.count + 1) + 2;
}

static void check_gatherv(void)
{
    int *n = counts[0], *d = displs[0];

    choose_ragged(world_size);
    allocate_buffers(2 * cs.count, ragged_room());
    for (int r = 0; r < world_size; r++)
        set_input(r, (uint64_t)n[own_index(r)], (uint64_t)d[own_index(r)],
                  root_in_place(r));
    for (int i = 0; i < peers_size(cs.root); i++)
        put_values(&ex[cs.root], cs.type, (uint64_t)d[i],
                   peers_first(cs.root) + i, 0, (uint64_t)n[i]);
    run_case("gatherv", run_gatherv);
}

static int run_scatter(int r, enum mode mode, MPI_Request *request)
{
    bool root = r == cs.root, here = root_in_place(r);
    return CALL(r, scatter, root ? sb[r].at : NULL,
                root ? (MPI_Count)cs.count : 99, root ? cs.other : NULL,
                here ? MPI_IN_PLACE : rb[r].at, (MPI_Count)cs.count,
                here ? NULL : cs.type, root_of(r));
}

static void check_scatter(void)
{
    allocate_buffers((uint64_t)world_size * cs.count, cs.count);
    set_input(cs.root, (uint64_t)world_size * cs.count, 0, false);
    for (int i = 0; i < peers_size(cs.root); i++) {
        int r = peers_first(cs.root) + i;
        if (!root_in_place(r))
            put_values(&ex[r], cs.type, 0, cs.root, (uint64_t)i * cs.count,
                       cs.count);
    }
    run_case("scatter", run_scatter);
}

static int run_scatterv(int r, enum mode mode, MPI_Request *request)
{
    bool root = r == cs.root, here = root_in_place(r);
    return CALL(r, scatterv, root ? sb[r].at : NULL,
                ints_of(root ? counts[0] : NULL),
                ints_of(root ? displs[0] : NULL), root ? cs.other : NULL,
                here ? MPI_IN_PLACE : rb[r].at, counts[0][own_index(r)],
                here ? NULL : cs.type, root_of(r));
}

static void check_scatterv(void)
{
    choose_ragged(world_size);
    allocate_buffers(ragged_room(), 2 * cs.count);
    set_input(cs.root, ragged_room(), 0, false);
    for (int i = 0; i < peers_size(cs.root); i++) {
        int r = peers_first(cs.root) + i;
        if (!root_in_place(r))
            put_values(&ex[r], cs.type, 0, cs.root, (uint64_t)displs[0][i],
                       (uint64_t)counts[0][i]);
    }
    run_case("scatterv", run_scatterv);
}

/* ---- all to all ---------------------------------------------------------- */

static int run_allgather(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, allgather, send_buffer(r, cs.in_place),
                (MPI_Count)cs.count, cs.in_place ? NULL : cs.other, rb[r].at,
                (MPI_Count)cs.count, cs.type);
}

static void check_allgather(void)
{
    allocate_buffers(cs.count, (uint64_t)world_size * cs.count);
    for (int r = 0; r < world_size; r++) {
        set_input(r, cs.count, (uint64_t)r * cs.count, cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)i * cs.count,
                       peers_first(r) + i, 0, cs.count);
    }
    run_case("allgather", run_allgather);
}

static int run_allgatherv(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, allgatherv, send_buffer(r, cs.in_place),
                counts[0][own_index(r)], cs.in_place ? NULL : cs.other,
                rb[r].at, ints_of(counts[0]), ints_of(displs[0]), cs.type);
}

static void check_allgatherv(void)
{
    int *n = counts[0], *d = displs[0];

    choose_ragged(world_size);
    allocate_buffers(2 * cs.count, ragged_room());
    for (int r = 0; r < world_size; r++) {
        set_input(r, (uint64_t)n[own_index(r)], (uint64_t)d[own_index(r)],
                  cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)d[i], peers_first(r) + i, 0,
                       (uint64_t)n[i]);
    }
    run_case("allgatherv", run_allgatherv);
}

static int run_alltoall(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, alltoall, send_buffer(r, cs.in_place), (MPI_Count)cs.count,
                cs.in_place ? NULL : cs.other, rb[r].at, (MPI_Count)cs.count,
                cs.type);
}

static void check_alltoall(void)
{
    uint64_t all = (uint64_t)world_size * cs.count;

    allocate_buffers(all, all);
    for (int r = 0; r < world_size; r++) {
        set_input(r, all, 0, cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)i * cs.count,
                       peers_first(r) + i, (uint64_t)own_index(r) * cs.count,
                       cs.count);
    }
    run_case("alltoall", run_alltoall);
}

static int run_alltoallv(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, alltoallv, send_buffer(r, cs.in_place), ints_of(scounts[r]),
                ints_of(sdispls[r]), cs.in_place ? NULL : cs.other, rb[r].at,
                ints_of(counts[r]), ints_of(displs[r]), cs.type);
}

static int run_alltoallw(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, alltoallw, send_buffer(r, cs.in_place), ints_of(scounts[r]),
                ints_of(sdispls[r]), cs.in_place ? NULL : stypes, rb[r].at,
                ints_of(counts[r]), ints_of(displs[r]), rtypes);
}

/* Process r gets counts[r][i] elements of its i-th peer; a pair exchanges the
 * same number both ways, as in place demands. unit: of displacements. */
static void exchange_table(int64_t recv_unit, int64_t send_unit)
{
    for (int r = 0; r < world_size; r++) {
        int at = 1, sat = 3;
        for (int i = 0; i < peers_size(r); i++) {
            int peer = peers_first(r) + i;
            int n = (r * peer + r + peer) % 3 * (int)cs.count;
            counts[r][i] = scounts[r][i] = n;
            displs[r][i] = at * (int)recv_unit;
            sdispls[r][i] = sat * (int)send_unit;
            at += n;
            sat += n + 1;
        }
    }
}

static void check_alltoallv(bool with_types)
{
    int64_t re = with_types ? cs.type->extent : 1;
    int64_t se = with_types ? cs.other->extent : 1;

    exchange_table(re, se);
    for (int i = 0; i < MAX_RANKS; i++) {
        rtypes[i] = (MPI_Datatype)cs.type;
        stypes[i] = (MPI_Datatype)cs.other;
    }
    allocate_buffers(ragged_room() + 3, ragged_room());
    for (int r = 0; r < world_size; r++) {
        set_input(r, ragged_room(), 0, cs.in_place);
        for (int i = 0; i < peers_size(r); i++) {
            int peer = peers_first(r) + i, me = own_index(r);
            uint64_t k = cs.in_place ? (uint64_t)(displs[peer][me] / re)
                                     : (uint64_t)(sdispls[peer][me] / se);
            put_values(&ex[r], cs.type, (uint64_t)(displs[r][i] / re), peer, k,
                       (uint64_t)counts[r][i]);
        }
    }
    run_case(with_types ? "alltoallw" : "alltoallv",
             with_types ? run_alltoallw : run_alltoallv);
}

/* ---- reductions ---------------------------------------------------------- */

static int run_reduce(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, reduce, send_buffer(r, root_in_place(r)),
                r == cs.root ? rb[r].at : NULL, (MPI_Count)cs.count, cs.type,
                cs.op, root_of(r));
}

static void check_reduce(void)
{
    cs.other = cs.type;
    allocate_buffers(cs.count, cs.count);
    for (int r = 0; r < world_size; r++)
        set_input(r, cs.count, 0, root_in_place(r));
    put_reduced(&ex[cs.root], 0, peers_first(cs.root), peers_size(cs.root), 0,
                cs.count);
    run_case("reduce", run_reduce);
}

static int run_allreduce(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, allreduce, send_buffer(r, cs.in_place), rb[r].at,
                (MPI_Count)cs.count, cs.type, cs.op);
}

static void check_allreduce(void)
{
    cs.other = cs.type;
    allocate_buffers(cs.count, cs.count);
    for (int r = 0; r < world_size; r++) {
        set_input(r, cs.count, 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r), 0, cs.count);
    }
    run_case("allreduce", run_allreduce);
}

static int run_reduce_scatter_block(int r, enum mode mode,
                                    MPI_Request *request)
{
    /* inter: the total is the same in both groups, whatever their sizes */
    MPI_Count n = (MPI_Count)cs.count * (is_inter() ? peers_size(r) : 1);
    return CALL(r, reduce_scatter_block, send_buffer(r, cs.in_place), rb[r].at,
                n, cs.type, cs.op);
}

static void check_reduce_scatter_block(void)
{
    cs.other = cs.type;
    allocate_buffers((uint64_t)(world_size * world_size) * cs.count,
                     (uint64_t)(world_size * world_size) * cs.count);
    for (int r = 0; r < world_size; r++) {
        uint64_t n = cs.count * (uint64_t)(is_inter() ? peers_size(r) : 1);
        set_input(r, n * (uint64_t)group_size(r), 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r),
                    (uint64_t)own_index(r) * n, n);
    }
    run_case("reduce_scatter_block", run_reduce_scatter_block);
}

static int run_reduce_scatter(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, reduce_scatter, send_buffer(r, cs.in_place), rb[r].at,
                ints_of(counts[r >= world_left]), cs.type, cs.op);
}

/* counts of a group in counts[side]; both groups' add up to the same. */
static void check_reduce_scatter(void)
{
    int total = 0, sum = 0;

    choose_ragged(world_size);
    memcpy(counts[1], counts[0], sizeof counts[1]);
    cs.other = cs.type;
    for (int i = 0; i < world_size; i++)
        total += counts[1][i];
    if (is_inter()) { /* the left group gives its last member the rest */
        total = 0;
        for (int i = 0; i < world_size - world_left; i++)
            total += counts[1][i];
        for (int i = 0; i < world_left - 1; i++) {
            counts[0][i] = total / world_left / 2;
            sum += counts[0][i];
        }
        counts[0][world_left - 1] = total - sum;
    }
    allocate_buffers((uint64_t)total, (uint64_t)total);
    for (int r = 0; r < world_size; r++) {
        const int *n = counts[r >= world_left];
        uint64_t before = 0;
        for (int i = 0; i < own_index(r); i++)
            before += (uint64_t)n[i];
        set_input(r, (uint64_t)total, 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r), before,
                    (uint64_t)n[own_index(r)]);
    }
    run_case("reduce_scatter", run_reduce_scatter);
}

static int run_scan(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, scan, send_buffer(r, cs.in_place), rb[r].at,
                (MPI_Count)cs.count, cs.type, cs.op);
}

static int run_exscan(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, exscan, send_buffer(r, cs.in_place), rb[r].at,
                (MPI_Count)cs.count, cs.type, cs.op);
}

static void check_scan(bool exclusive)
{
    cs.other = cs.type;
    allocate_buffers(cs.count, cs.count);
    for (int r = 0; r < world_size; r++) {
        set_input(r, cs.count, 0, cs.in_place);
        if (!exclusive)
            put_reduced(&ex[r], 0, 0, r + 1, 0, cs.count);
        else if (r > 0)
            put_reduced(&ex[r], 0, 0, r, 0, cs.count);
    }
    run_case(exclusive ? "exscan" : "scan", exclusive ? run_exscan : run_scan);
}

#endif

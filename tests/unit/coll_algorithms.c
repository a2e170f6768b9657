/* Every collective, in every form, on 1..9, 16 and 17 ranks and over
 * intercommunicators, against results computed in plain loops.
 *
 * The whole of every receive buffer is compared, with the holes of its type.
 * A failure names the case; COLL_SEED=n starts the seeds elsewhere.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_world.h"
#include "core_api.h"

enum mode { NONBLOCKING, BLOCKING, PERSISTENT };
enum { MARGIN = 64, FILL = 0x5a };

/* What is being run; the functions below read it. */
static struct {
    int root; /* process number; inter: in the left group */
    uint64_t count;
    struct wf_type *type, *other; /* of the receive and of the send side */
    struct wf_op *op;
    bool in_place;
} cs;

struct memory {
    char *all, *at;
    size_t size;
};

static struct memory sb[MAX_RANKS], rb[MAX_RANKS], ex[MAX_RANKS];
static int counts[MAX_RANKS][MAX_RANKS], displs[MAX_RANKS][MAX_RANKS];
static int scounts[MAX_RANKS][MAX_RANKS], sdispls[MAX_RANKS][MAX_RANKS];
static MPI_Datatype rtypes[MAX_RANKS], stypes[MAX_RANKS];

/* ---- memory and values --------------------------------------------------- */

static struct memory memory_new(uint64_t elements)
{
    struct memory m;

    m.size = elements * 24 + 2 * MARGIN;
    m.all = malloc(m.size);
    m.at = m.all + MARGIN;
    memset(m.all, FILL, m.size);
    return m;
}

static void value(int process, uint64_t i, uint32_t v[2])
{
    v[0] = ((uint32_t)process * 7919u + (uint32_t)i * 31u) * 2 + 1;
    v[1] = (uint32_t)process * 104729u + (uint32_t)i * 17u + 5;
}

static void put(struct memory *m, const struct wf_type *t, uint64_t i,
                const uint32_t v[2])
{
    memcpy(piece(t, m->at, 2 * i), &v[0], 4);
    memcpy(piece(t, m->at, 2 * i + 1), &v[1], 4);
}

/* n elements of process `from`, its k-th on, to position i. */
static void put_values(struct memory *m, const struct wf_type *t, uint64_t i,
                       int from, uint64_t k, uint64_t n)
{
    uint32_t v[2];

    for (uint64_t j = 0; j < n; j++) {
        value(from, k + j, v);
        put(m, t, i + j, v);
    }
}

/* The same of the reduction over processes [first, first + n). */
static void put_reduced(struct memory *m, uint64_t i, int first, int n,
                        uint64_t k, uint64_t elements)
{
    for (uint64_t j = 0; j < elements; j++) {
        uint32_t acc[2], lower[2];
        value(first + n - 1, k + j, acc);
        for (int p = first + n - 2; p >= first; p--) {
            value(p, k + j, lower);
            combine_pair(cs.op, lower, acc);
        }
        put(m, cs.type, i + j, acc);
    }
}

static void allocate(uint64_t send, uint64_t receive)
{
    for (int r = 0; r < world_size; r++) {
        sb[r] = memory_new(send);
        rb[r] = memory_new(receive);
        ex[r] = memory_new(receive);
    }
}

/* Process r's input: elements 0..n-1 in its send buffer or, in place, at
 * position i of the receive buffer (and then expected to stay, until the test
 * writes something else there). */
static void input(int r, uint64_t n, uint64_t i, bool in_place)
{
    if (!in_place) {
        put_values(&sb[r], cs.other, 0, r, 0, n);
        return;
    }
    put_values(&rb[r], cs.type, i, r, 0, n);
    put_values(&ex[r], cs.type, i, r, 0, n);
}

static bool inter(void)
{
    return world_left > 0;
}

static int group_first(int r)
{
    return inter() && r >= world_left ? world_left : 0;
}

static int group_size(int r)
{
    return comms[r].size;
}

static int peers_first(int r)
{
    return inter() && r < world_left ? world_left : 0;
}

static int peers_size(int r)
{
    return comms[r].peers->size;
}

/* The root argument of process r. */
static int root_of(int r)
{
    if (!inter() || r >= world_left)
        return cs.root;
    return r == cs.root ? MPI_ROOT : MPI_PROC_NULL;
}

static bool receives_from_root(int r)
{
    return inter() ? r >= world_left : r != cs.root;
}

static const void *send_buffer(int r, bool in_place)
{
    return in_place ? MPI_IN_PLACE : sb[r].at;
}

static struct wf_ints ints(const int *a)
{
    return (struct wf_ints){a, 4};
}

/* ---- running ------------------------------------------------------------- */

typedef int run_fn(int rank, enum mode, MPI_Request *);

#define CALL(r, name, ...)                                                     \
    (mode == BLOCKING    ? wf_mpi_##name(comms[r].wf, __VA_ARGS__, &comms[r])  \
     : mode == PERSISTENT                                                      \
         ? wf_mpi_##name##_init(comms[r].wf, __VA_ARGS__, &comms[r], NULL,     \
                                request)                                       \
         : wf_mpi_i##name(comms[r].wf, __VA_ARGS__, &comms[r], request))

static void shuffle(int *order)
{
    for (int i = 0; i < world_size; i++) {
        int j = (int)dice((uint32_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void finish_requests(MPI_Request *requests, bool keep)
{
    world_drain();
    for (int r = 0; r < world_size; r++) {
        struct wf_req *q = wf_req_of(requests[r]);
        if (!q)
            continue;
        assert_true(wf_req_done(q));
        assert_int_equal(q->error, MPI_SUCCESS);
        if (!keep)
            wf_req_release(q);
    }
}

static void run_once(run_fn *fn)
{
    MPI_Request requests[MAX_RANKS] = {0};
    int order[MAX_RANKS];
    bool last_blocks = dice(2);

    shuffle(order);
    for (int i = 0; i < world_size; i++) {
        int r = order[i];
        enum mode mode = last_blocks && i == world_size - 1 ? BLOCKING
                                                            : NONBLOCKING;
        assert_int_equal(fn(r, mode, &requests[r]), MPI_SUCCESS);
        while (dice(3) && world_step())
            ;
    }
    finish_requests(requests, false);
}

static void reset_receive_buffers(struct memory *saved)
{
    for (int r = 0; r < world_size; r++)
        memcpy(rb[r].all, saved[r].all, rb[r].size);
}

static void run_persistent(run_fn *fn)
{
    MPI_Request requests[MAX_RANKS] = {0};
    struct memory saved[MAX_RANKS];
    int order[MAX_RANKS];

    for (int r = 0; r < world_size; r++) {
        assert_int_equal(fn(r, PERSISTENT, &requests[r]), MPI_SUCCESS);
        saved[r] = rb[r];
        saved[r].all = malloc(rb[r].size);
        memcpy(saved[r].all, rb[r].all, rb[r].size);
    }
    for (int round = 0; round < 3; round++) {
        reset_receive_buffers(saved);
        shuffle(order);
        for (int i = 0; i < world_size; i++) {
            struct wf_req *q = wf_req_of(requests[order[i]]);
            assert_int_equal(q->start(q), MPI_SUCCESS);
        }
        finish_requests(requests, round < 2);
    }
    for (int r = 0; r < world_size; r++)
        free(saved[r].all);
}

static void compare(const char *name)
{
    for (int r = 0; r < world_size; r++)
        if (memcmp(rb[r].all, ex[r].all, rb[r].size))
            fail_msg("%s: rank %d of %d (left %d) root %d count %u op %s%s%s",
                     name, r, world_size, world_left, cs.root,
                     (unsigned)cs.count, cs.op == &sum_op ? "sum" : "compose",
                     cs.in_place ? " in place" : "",
                     cs.type == &gap_type ? " with gaps" : "");
    for (int r = 0; r < world_size; r++) {
        free(sb[r].all);
        free(rb[r].all);
        free(ex[r].all);
    }
}

static void run(const char *name, run_fn *fn)
{
    if (dice(3) == 0)
        run_persistent(fn);
    else
        run_once(fn);
    compare(name);
}

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
    bool shared = dice(2);
    int late = (int)dice((uint32_t)world_size);
    MPI_Request requests[MAX_RANKS] = {0};

    for (int r = 0; r < world_size; r++)
        comms[r].crowd = (struct wf_crowd){.known = true, .any = shared};
    for (int r = 0; r < world_size; r++)
        if (r != late)
            run_barrier(r, NONBLOCKING, &requests[r]);
    world_drain();
    for (int r = 0; r < world_size; r++) /* nobody (else) is through */
        if (r != late && (!inter() || (r < world_left) != (late < world_left)))
            assert_false(wf_req_done(wf_req_of(requests[r])));
    run_barrier(late, NONBLOCKING, &requests[late]);
    finish_requests(requests, false);
    allocate(0, 0);
    run("barrier", run_barrier);
}

/* ---- from and to a root -------------------------------------------------- */

static int run_bcast(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, bcast, rb[r].at, (MPI_Count)cs.count, cs.type, root_of(r));
}

static void check_bcast(void)
{
    allocate(0, cs.count);
    for (int r = 0; r < world_size; r++) {
        if (receives_from_root(r))
            put_values(&ex[r], cs.type, 0, cs.root, 0, cs.count);
        else if (r == cs.root)
            input(r, cs.count, 0, true);
    }
    run("bcast", run_bcast);
}

static bool root_in_place(int r)
{
    return cs.in_place && r == cs.root && !inter();
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
    allocate(cs.count, (uint64_t)world_size * cs.count);
    for (int r = 0; r < world_size; r++)
        input(r, cs.count, (uint64_t)r * cs.count, root_in_place(r));
    for (int i = 0; i < peers_size(cs.root); i++)
        put_values(&ex[cs.root], cs.type, (uint64_t)i * cs.count,
                   peers_first(cs.root) + i, 0, cs.count);
    run("gather", run_gather);
}

/* counts[0][i] elements of process i at displs[0][i] of the root. */
static void ragged(int n)
{
    int at = 2;

    for (int i = 0; i < n; i++) {
        counts[0][i] = (int)dice(3) * (int)cs.count;
        displs[0][i] = at;
        at += counts[0][i] + (int)dice(2);
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
                root ? rb[r].at : NULL, ints(root ? counts[0] : NULL),
                ints(root ? displs[0] : NULL), root ? cs.type : NULL,
                root_of(r));
}

static uint64_t ragged_room(void)
{
    return (uint64_t)world_size * (2 * cs.count + 1) + 2;
}

static void check_gatherv(void)
{
    int *n = counts[0], *d = displs[0];

    ragged(world_size);
    allocate(2 * cs.count, ragged_room());
    for (int r = 0; r < world_size; r++)
        input(r, (uint64_t)n[own_index(r)], (uint64_t)d[own_index(r)],
              root_in_place(r));
    for (int i = 0; i < peers_size(cs.root); i++)
        put_values(&ex[cs.root], cs.type, (uint64_t)d[i],
                   peers_first(cs.root) + i, 0, (uint64_t)n[i]);
    run("gatherv", run_gatherv);
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
    allocate((uint64_t)world_size * cs.count, cs.count);
    input(cs.root, (uint64_t)world_size * cs.count, 0, false);
    for (int i = 0; i < peers_size(cs.root); i++) {
        int r = peers_first(cs.root) + i;
        if (!root_in_place(r))
            put_values(&ex[r], cs.type, 0, cs.root, (uint64_t)i * cs.count,
                       cs.count);
    }
    run("scatter", run_scatter);
}

static int run_scatterv(int r, enum mode mode, MPI_Request *request)
{
    bool root = r == cs.root, here = root_in_place(r);
    return CALL(r, scatterv, root ? sb[r].at : NULL,
                ints(root ? counts[0] : NULL), ints(root ? displs[0] : NULL),
                root ? cs.other : NULL, here ? MPI_IN_PLACE : rb[r].at,
                counts[0][own_index(r)], here ? NULL : cs.type, root_of(r));
}

static void check_scatterv(void)
{
    ragged(world_size);
    allocate(ragged_room(), 2 * cs.count);
    input(cs.root, ragged_room(), 0, false);
    for (int i = 0; i < peers_size(cs.root); i++) {
        int r = peers_first(cs.root) + i;
        if (!root_in_place(r))
            put_values(&ex[r], cs.type, 0, cs.root, (uint64_t)displs[0][i],
                       (uint64_t)counts[0][i]);
    }
    run("scatterv", run_scatterv);
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
    allocate(cs.count, (uint64_t)world_size * cs.count);
    for (int r = 0; r < world_size; r++) {
        input(r, cs.count, (uint64_t)r * cs.count, cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)i * cs.count,
                       peers_first(r) + i, 0, cs.count);
    }
    run("allgather", run_allgather);
}

static int run_allgatherv(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, allgatherv, send_buffer(r, cs.in_place),
                counts[0][own_index(r)], cs.in_place ? NULL : cs.other,
                rb[r].at, ints(counts[0]), ints(displs[0]), cs.type);
}

static void check_allgatherv(void)
{
    int *n = counts[0], *d = displs[0];

    ragged(world_size);
    allocate(2 * cs.count, ragged_room());
    for (int r = 0; r < world_size; r++) {
        input(r, (uint64_t)n[own_index(r)], (uint64_t)d[own_index(r)],
              cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)d[i], peers_first(r) + i, 0,
                       (uint64_t)n[i]);
    }
    run("allgatherv", run_allgatherv);
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

    allocate(all, all);
    for (int r = 0; r < world_size; r++) {
        input(r, all, 0, cs.in_place);
        for (int i = 0; i < peers_size(r); i++)
            put_values(&ex[r], cs.type, (uint64_t)i * cs.count,
                       peers_first(r) + i, (uint64_t)own_index(r) * cs.count,
                       cs.count);
    }
    run("alltoall", run_alltoall);
}

static int run_alltoallv(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, alltoallv, send_buffer(r, cs.in_place), ints(scounts[r]),
                ints(sdispls[r]), cs.in_place ? NULL : cs.other, rb[r].at,
                ints(counts[r]), ints(displs[r]), cs.type);
}

static int run_alltoallw(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, alltoallw, send_buffer(r, cs.in_place), ints(scounts[r]),
                ints(sdispls[r]), cs.in_place ? NULL : stypes, rb[r].at,
                ints(counts[r]), ints(displs[r]), rtypes);
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
    allocate(ragged_room() + 3, ragged_room());
    for (int r = 0; r < world_size; r++) {
        input(r, ragged_room(), 0, cs.in_place);
        for (int i = 0; i < peers_size(r); i++) {
            int peer = peers_first(r) + i, me = own_index(r);
            uint64_t k = cs.in_place ? (uint64_t)(displs[peer][me] / re)
                                     : (uint64_t)(sdispls[peer][me] / se);
            put_values(&ex[r], cs.type, (uint64_t)(displs[r][i] / re), peer, k,
                       (uint64_t)counts[r][i]);
        }
    }
    run(with_types ? "alltoallw" : "alltoallv",
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
    allocate(cs.count, cs.count);
    for (int r = 0; r < world_size; r++)
        input(r, cs.count, 0, root_in_place(r));
    put_reduced(&ex[cs.root], 0, peers_first(cs.root), peers_size(cs.root), 0,
                cs.count);
    run("reduce", run_reduce);
}

static int run_allreduce(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, allreduce, send_buffer(r, cs.in_place), rb[r].at,
                (MPI_Count)cs.count, cs.type, cs.op);
}

static void check_allreduce(void)
{
    cs.other = cs.type;
    allocate(cs.count, cs.count);
    for (int r = 0; r < world_size; r++) {
        input(r, cs.count, 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r), 0, cs.count);
    }
    run("allreduce", run_allreduce);
}

static int run_reduce_scatter_block(int r, enum mode mode,
                                    MPI_Request *request)
{
    /* inter: the total is the same in both groups, whatever their sizes */
    MPI_Count n = (MPI_Count)cs.count * (inter() ? peers_size(r) : 1);
    return CALL(r, reduce_scatter_block, send_buffer(r, cs.in_place), rb[r].at,
                n, cs.type, cs.op);
}

static void check_reduce_scatter_block(void)
{
    cs.other = cs.type;
    allocate((uint64_t)(world_size * world_size) * cs.count,
             (uint64_t)(world_size * world_size) * cs.count);
    for (int r = 0; r < world_size; r++) {
        uint64_t n = cs.count * (uint64_t)(inter() ? peers_size(r) : 1);
        input(r, n * (uint64_t)group_size(r), 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r),
                    (uint64_t)own_index(r) * n, n);
    }
    run("reduce_scatter_block", run_reduce_scatter_block);
}

static int run_reduce_scatter(int r, enum mode mode, MPI_Request *request)
{
    return CALL(r, reduce_scatter, send_buffer(r, cs.in_place), rb[r].at,
                ints(counts[r >= world_left]), cs.type, cs.op);
}

/* counts of a group in counts[side]; both groups' add up to the same. */
static void check_reduce_scatter(void)
{
    int total = 0, sum = 0;

    ragged(world_size);
    memcpy(counts[1], counts[0], sizeof counts[1]);
    cs.other = cs.type;
    for (int i = 0; i < world_size; i++)
        total += counts[1][i];
    if (inter()) { /* the left group gives its last member the rest */
        total = 0;
        for (int i = 0; i < world_size - world_left; i++)
            total += counts[1][i];
        for (int i = 0; i < world_left - 1; i++) {
            counts[0][i] = total / world_left / 2;
            sum += counts[0][i];
        }
        counts[0][world_left - 1] = total - sum;
    }
    allocate((uint64_t)total, (uint64_t)total);
    for (int r = 0; r < world_size; r++) {
        const int *n = counts[r >= world_left];
        uint64_t before = 0;
        for (int i = 0; i < own_index(r); i++)
            before += (uint64_t)n[i];
        input(r, (uint64_t)total, 0, cs.in_place);
        put_reduced(&ex[r], 0, peers_first(r), peers_size(r), before,
                    (uint64_t)n[own_index(r)]);
    }
    run("reduce_scatter", run_reduce_scatter);
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
    allocate(cs.count, cs.count);
    for (int r = 0; r < world_size; r++) {
        input(r, cs.count, 0, cs.in_place);
        if (!exclusive)
            put_reduced(&ex[r], 0, 0, r + 1, 0, cs.count);
        else if (r > 0)
            put_reduced(&ex[r], 0, 0, r, 0, cs.count);
    }
    run(exclusive ? "exscan" : "scan", exclusive ? run_exscan : run_scan);
}

/* ---- all of it ----------------------------------------------------------- */

/* One random case of the given shape, the same for every collective. */
static void choose(uint64_t count, bool may_be_in_place)
{
    cs.count = count;
    cs.root = (int)dice((uint32_t)(inter() ? world_left : world_size));
    cs.type = dice(2) ? &pair_type : &gap_type;
    cs.other = dice(2) ? &pair_type : &gap_type;
    cs.op = dice(2) ? &sum_op : &compose_op;
    cs.in_place = may_be_in_place && dice(3) == 0;
}

static void all_collectives(uint64_t count)
{
    static void (*const checks[])(void) = {
        check_barrier,   check_bcast,      check_gather,
        check_gatherv,   check_scatter,    check_scatterv,
        check_allgather, check_allgatherv, check_alltoall,
        check_reduce,    check_allreduce,  check_reduce_scatter_block,
        check_reduce_scatter};

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        choose(count, !inter());
        checks[i]();
    }
    choose(count, !inter());
    check_alltoallv(false);
    choose(count, !inter());
    check_alltoallv(true);
    for (int exclusive = 0; !inter() && exclusive < 2; exclusive++) {
        choose(count, true);
        check_scan(exclusive);
    }
}

static uint64_t first_seed(void)
{
    const char *s = getenv("COLL_SEED");
    return s ? strtoull(s, NULL, 0) : 1;
}

static void collectives_agree_with_plain_loops(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17};
    static const uint64_t sizes_of_vectors[] = {0, 1, 2, 7, 300};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < 5; k++)
            for (uint64_t seed = 0; seed < 8; seed++) {
                world_open(sizes[i], 0, first_seed() + seed);
                all_collectives(sizes_of_vectors[k]);
                world_close();
            }
}

static void long_vectors_take_other_algorithms(void **state)
{
    for (int n = 1; n <= 9; n++)
        for (uint64_t seed = 0; seed < 2; seed++) {
            world_open(n, 0, first_seed() + 100 + seed);
            all_collectives(1000); /* 8 kB: trees that take turns with temps */
            all_collectives(9001); /* 72 kB: blocks, ring */
            choose(40001, false);  /* 320 kB: chain */
            check_bcast();
            world_close();
        }
}

/* Vectors whose blocks have several pieces, and more operands than slots. */
static void reductions_by_blocks(const uint64_t count)
{
    for (int k = 0; k < 4; k++) {
        cs = (typeof(cs)){.count = count, .type = &pair_type,
                          .other = &pair_type, .in_place = k & 1,
                          .op = k & 2 ? &sum_op : &compose_op,
                          .root = world_size - 1};
        check_allreduce();
        check_reduce();
        check_reduce_scatter();
    }
}

static void blocks_are_reduced_piece_by_piece(void **state)
{
    static const struct {
        int ranks;
        uint64_t count;
    } shapes[] = {{2, 40001}, {3, 26000}, {19, 2100}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        world_open(shapes[i].ranks, 0, first_seed() + 400);
        reductions_by_blocks(shapes[i].count);
        world_close();
    }
}

static void intercommunicators_exchange_between_groups(void **state)
{
    for (int n = 2; n <= 9; n++)
        for (int left = 1; left < n; left++)
            for (uint64_t seed = 0; seed < 3; seed++) {
                world_open(n, left, first_seed() + 200 + seed);
                all_collectives(seed);
                all_collectives(5 + 100 * seed);
                world_close();
            }
}

static void check_alltoallw(void)
{
    check_alltoallv(true);
}

static void check_inclusive(void)
{
    check_scan(false);
}

static void check_exclusive(void)
{
    check_scan(true);
}

/* The checks that follow the rules of each collective. */
static void (*const checks_of[WF_COLL_KINDS][2])(void) = {
    [WF_COLL_ALLGATHER] = {check_allgather, check_allgatherv},
    [WF_COLL_ALLREDUCE] = {check_allreduce},
    [WF_COLL_ALLTOALL] = {check_alltoall, check_alltoallw},
    [WF_COLL_BARRIER] = {check_barrier},
    [WF_COLL_BCAST] = {check_bcast},
    [WF_COLL_GATHER] = {check_gather},
    [WF_COLL_REDUCE] = {check_reduce},
    [WF_COLL_REDUCE_SCATTER] = {check_reduce_scatter,
                                check_reduce_scatter_block},
    [WF_COLL_SCAN] = {check_inclusive, check_exclusive},
    [WF_COLL_SCATTER] = {check_scatter},
};

/* On n ranks of several nodes, with few elements and many. */
static void force_algorithm(enum wf_coll_kind kind, int algorithm, int n)
{
    static const uint64_t counts_of_elements[] = {1, 7, 300};
    const struct wf_coll_rule rule = {(uint8_t)algorithm, 1, 1, INT32_MAX, 0,
                                      UINT64_MAX};
    struct wf_coll_rules rules = {.count = {0}};

    rules.of[kind] = &rule;
    rules.count[kind] = 1;
    world_rules = &rules;
    for (uint64_t k = 0; k < 3; k++) {
        world_nodes = 1 + (int)((k + (uint64_t)n) % 4);
        world_open(n, 0, first_seed() + 500 + k);
        for (int i = 0; i < 2 && checks_of[kind][i]; i++) {
            choose(counts_of_elements[k], true);
            checks_of[kind][i]();
        }
        world_close();
    }
    world_rules = NULL;
    world_nodes = 1;
}

static void every_algorithm_agrees_with_plain_loops(void **state)
{
    for (int n = 1; n <= 17; n++)
        for (int kind = 0; kind < WF_COLL_KINDS; kind++)
            for (int a = 0; a < WF_ALGORITHMS; a++)
                if (wf_coll_kinds[kind].algorithms >> a & 1)
                    force_algorithm((enum wf_coll_kind)kind, a, n);
}

/* Segments of chains, and vectors that are cut into blocks. */
static void algorithms_for_long_vectors_work_in_segments(void **state)
{
    static const struct {
        enum wf_coll_kind kind;
        int algorithm;
    } cases[] = {{WF_COLL_REDUCE, WF_ALG_CHAIN},
                 {WF_COLL_SCAN, WF_ALG_CHAIN},
                 {WF_COLL_BCAST, WF_ALG_CHAIN},
                 {WF_COLL_BCAST, WF_ALG_SCATTER_ALLGATHER},
                 {WF_COLL_ALLREDUCE, WF_ALG_RING},
                 {WF_COLL_ALLREDUCE, WF_ALG_RABENSEIFNER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct wf_coll_rule rule = {(uint8_t)cases[i].algorithm, 1, 1,
                                          INT32_MAX, 0, UINT64_MAX};
        struct wf_coll_rules rules = {.count = {0}};
        rules.of[cases[i].kind] = &rule;
        rules.count[cases[i].kind] = 1;
        world_rules = &rules;
        for (int n = 2; n <= 5; n++)
            for (uint64_t seed = 0; seed < 4; seed++) {
                world_open(n, 0, first_seed() + 600 + seed);
                choose(70001, true); /* more segments than slots */
                checks_of[cases[i].kind][0]();
                world_close();
            }
        world_rules = NULL;
    }
}

/* The cases above performed vertices at once and recorded others. */
static void blocking_runs_were_direct(void **state)
{
    assert_true(direct_sends > 1000 && direct_recvs > 1000);
    assert_true(direct_refusals > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_agree_with_plain_loops),
        cmocka_unit_test(long_vectors_take_other_algorithms),
        cmocka_unit_test(blocks_are_reduced_piece_by_piece),
        cmocka_unit_test(intercommunicators_exchange_between_groups),
        cmocka_unit_test(every_algorithm_agrees_with_plain_loops),
        cmocka_unit_test(algorithms_for_long_vectors_work_in_segments),
        cmocka_unit_test(blocking_runs_were_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

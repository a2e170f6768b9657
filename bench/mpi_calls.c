/* This program measures single calls: creating datatypes, testing requests,
 * asking objects, reductions by unusual operations, and memory.
 *
 *   mpi_calls types indexed|block|hindexed|struct MS    ns per block
 *   mpi_calls requests CALL MS                          ns per call
 *   mpi_calls ops OPERATION MS                          us per call
 *   mpi_calls alloc BYTES MS                            us per call and free
 *   mpi_calls times GROUP WHICH N                       N calls, for counters
 *
 * A type is created, committed and freed; its blocks lie at irregular places.
 * CALL and OPERATION are the names in the tables below. Requests are tested by
 * rank 0, which has 64 receives for which nothing comes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { PENDING = 64, MOST_BLOCKS = 1 << 20, COUNTED_BLOCKS = 1024 };

static int rank, size;

/* Something to measure: `times` calls of `call`. */
struct work {
    void (*call)(struct work *);
    long times;
    int n; /* blocks of a type */
};

static double run_work(void *what)
{
    struct work *w = what;
    double start = now_us();

    for (long i = 0; i < w->times; i++)
        w->call(w);
    return (now_us() - start) / (double)w->times;
}

/* ---- types --------------------------------------------------------------- */

static int *lengths, *places;
static MPI_Aint *bytes;
static MPI_Datatype *kinds;

static void place_blocks(void)
{
    unsigned random = 1;
    int at = 0;

    lengths = malloc(MOST_BLOCKS * sizeof *lengths);
    places = malloc(MOST_BLOCKS * sizeof *places);
    bytes = malloc(MOST_BLOCKS * sizeof *bytes);
    kinds = malloc(MOST_BLOCKS * sizeof *kinds);
    for (int i = 0; i < MOST_BLOCKS; i++) {
        random = random * 1103515245 + 12345;
        lengths[i] = 1 + (int)(random >> 16) % 3;
        places[i] = at;
        bytes[i] = (MPI_Aint)at * 8;
        kinds[i] = i % 2 ? MPI_DOUBLE : MPI_INT;
        at += lengths[i] + 1 + (int)(random >> 20) % 4;
    }
}

static void end_type(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
}

static void make_indexed(struct work *w)
{
    MPI_Datatype type;

    MPI_Type_indexed(w->n, lengths, places, MPI_DOUBLE, &type);
    end_type(type);
}

static void make_block(struct work *w)
{
    MPI_Datatype type;

    MPI_Type_create_indexed_block(w->n, 1, places, MPI_DOUBLE, &type);
    end_type(type);
}

static void make_hindexed(struct work *w)
{
    MPI_Datatype type;

    MPI_Type_create_hindexed(w->n, lengths, bytes, MPI_DOUBLE, &type);
    end_type(type);
}

static void make_struct(struct work *w)
{
    MPI_Datatype type;

    MPI_Type_create_struct(w->n, lengths, bytes, kinds, &type);
    end_type(type);
}

/* ---- requests and objects ------------------------------------------------ */

static MPI_Request pending[PENDING];
static MPI_Status statuses[PENDING];
static MPI_Status status;
static MPI_Group group;
static int keyval, indices[PENDING];
static char data[1024];

static void post_pending(void)
{
    static char bytes_to_come[PENDING];

    for (int i = 0; i < PENDING; i++)
        MPI_Irecv(&bytes_to_come[i], 1, MPI_BYTE, (rank + 1) % size, i,
                  MPI_COMM_WORLD, &pending[i]);
}

static void end_pending(void)
{
    for (int i = 0; i < PENDING; i++)
        MPI_Send(data, 1, MPI_BYTE, (rank + 1) % size, i, MPI_COMM_WORLD);
    MPI_Waitall(PENDING, pending, MPI_STATUSES_IGNORE);
}

static void call_testany(struct work *w)
{
    int i, flag;

    (void)w;
    MPI_Testany(PENDING, pending, &i, &flag, &status);
}

static void call_testall(struct work *w)
{
    int flag;

    (void)w;
    MPI_Testall(PENDING, pending, &flag, statuses);
}

static void call_testsome(struct work *w)
{
    int n;

    (void)w;
    MPI_Testsome(PENDING, pending, &n, indices, statuses);
}

static void call_any_source(struct work *w)
{
    MPI_Request sent;

    (void)w;
    MPI_Isend(data, 8, MPI_BYTE, rank, 99, MPI_COMM_WORLD, &sent);
    MPI_Recv(data, 8, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &status);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void call_comm_rank(struct work *w)
{
    int r;

    (void)w;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
}

static void call_type_size(struct work *w)
{
    int n;

    (void)w;
    MPI_Type_size(MPI_DOUBLE, &n);
}

static void call_get_count(struct work *w)
{
    int n;

    (void)w;
    MPI_Get_count(&status, MPI_DOUBLE, &n);
}

static void call_group_rank(struct work *w)
{
    int r;

    (void)w;
    MPI_Group_rank(group, &r);
}

static void call_comm_group(struct work *w)
{
    MPI_Group g;

    (void)w;
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Group_free(&g);
}

static void call_get_attr(struct work *w)
{
    void *value;
    int flag;

    (void)w;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
}

static void call_set_attr(struct work *w)
{
    (void)w;
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, data);
}

/* ---- reductions ---------------------------------------------------------- */

static struct {
    double value;
    int index;
} pair_out[64], pair_in[64];
static MPI_Op own_op;

static void add_doubles(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

static void reduce_maxloc(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                  MPI_COMM_WORLD);
}

static void reduce_maxloc_64(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 64, MPI_DOUBLE_INT, MPI_MAXLOC,
                  MPI_COMM_WORLD);
}

static void reduce_own(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 1, MPI_DOUBLE, own_op, MPI_COMM_WORLD);
}

static void reduce_own_128(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 128, MPI_DOUBLE, own_op, MPI_COMM_WORLD);
}

static void reduce_self(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void reduce_sum(struct work *w)
{
    (void)w;
    MPI_Allreduce(pair_out, pair_in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* ---- memory -------------------------------------------------------------- */

static void allocate_and_free(MPI_Aint bytes)
{
    void *p;

    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &p);
    MPI_Free_mem(p);
}

static void allocate_4k(struct work *w)
{
    (void)w;
    allocate_and_free(4 << 10);
}

static void allocate_1m(struct work *w)
{
    (void)w;
    allocate_and_free(1 << 20);
}

static void allocate_16m(struct work *w)
{
    (void)w;
    allocate_and_free(16 << 20);
}

/* ---- the tables ---------------------------------------------------------- */

static const struct named {
    const char *group, *name;
    void (*call)(struct work *);
} known[] = {
    {"types", "indexed", make_indexed},
    {"types", "block", make_block},
    {"types", "hindexed", make_hindexed},
    {"types", "struct", make_struct},
    {"requests", "testany", call_testany},
    {"requests", "testall", call_testall},
    {"requests", "testsome", call_testsome},
    {"requests", "any-source", call_any_source},
    {"requests", "comm-rank", call_comm_rank},
    {"requests", "type-size", call_type_size},
    {"requests", "get-count", call_get_count},
    {"requests", "group-rank", call_group_rank},
    {"requests", "comm-group", call_comm_group},
    {"requests", "get-attr", call_get_attr},
    {"requests", "set-attr", call_set_attr},
    {"ops", "sum", reduce_sum},
    {"ops", "maxloc", reduce_maxloc},
    {"ops", "maxloc-64", reduce_maxloc_64},
    {"ops", "own", reduce_own},
    {"ops", "own-128", reduce_own_128},
    {"ops", "self", reduce_self},
    {"alloc", "4K", allocate_4k},
    {"alloc", "1M", allocate_1m},
    {"alloc", "16M", allocate_16m},
};

static const struct named *find_work(const char *group, const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].group, group) == 0 &&
            strcmp(known[i].name, name) == 0)
            return &known[i];
    exit(2);
}

static void prepare_objects(const struct named *which)
{
    if (which->group[0] == 't')
        place_blocks();
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN,
                           &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, data);
    MPI_Op_create(add_doubles, 1, &own_op);
    MPI_Sendrecv(data, 8, MPI_BYTE, rank, 1, pair_in, 8, MPI_BYTE, rank, 1,
                 MPI_COMM_WORLD, &status);
}

/* Measures batches of a call, by rank 0 alone or by all together. */
static void measure_work(struct work *w, const char *metric, long row,
                         double each, double limit_us)
{
    static double v[BATCHES];
    int n;

    w->times = 1;
    w->times = calibrate_batch(run_work, w, BATCH_US);
    n = repeat_batches(run_work, w, limit_us, v);
    for (int i = 0; i < n; i++)
        v[i] *= each;
    if (rank == 0)
        print_times(metric, row, v, n);
}

static void measure_group(const struct named *which, double limit_us)
{
    struct work w = {.call = which->call};

    if (which->group[0] == 't') {
        for (w.n = 64; w.n <= MOST_BLOCKS; w.n *= 128)
            measure_work(&w, "ns", w.n, 1e3 / w.n, limit_us);
        return;
    }
    if (which->group[0] == 'o' || which->group[0] == 'a')
        measure_work(&w, "us", size, 1, limit_us);
    else
        measure_work(&w, "ns", size, 1e3, limit_us);
}

int main(int argc, char **argv)
{
    const struct named *which;
    int counting = argc > 1 && strcmp(argv[1], "times") == 0;

    if (argc != 4 + counting)
        return 2;
    which = find_work(argv[1 + counting], argv[2 + counting]);
    rank = start_rank(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    prepare_objects(which);
    if (which->group[0] == 'r')
        post_pending();
    if (counting) {
        struct work w = {which->call, atol(argv[4]), COUNTED_BLOCKS};
        run_work(&w);
    } else {
        measure_group(which, atof(argv[3]) * 1e3);
    }
    if (which->group[0] == 'r')
        end_pending();
    MPI_Finalize();
    return 0;
}

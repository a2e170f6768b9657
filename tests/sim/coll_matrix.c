/* This program runs every collective x every class of datatype x in place or
 * not x within a group or between two x sizes x 1 to 17 ranks x blocking,
 * nonblocking, persistent x int and large counts, against plain loops.
 * Nonblocking calls stay under way while the next ones are called, and each
 * rank waits for them in an order of its own.
 *
 * The ranks are threads of this process; with --job they are what mpirun
 * started, and the communicators have 1 rank to all. Which cells are run
 * follows from the seed, the same on all ranks.
 *
 *   sim_coll_matrix                       a sample; --seed for another one
 *   sim_coll_matrix --all [--ranks A-B]   all cells (minutes)
 *   sim_coll_matrix --seed N --share M    one cell of M
 *   sim_coll_matrix --only NAME           one collective
 *   mpirun -n N sim_coll_matrix --job   with processes, also in shared memory
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix.h"

#include <mpix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    uint32_t seed, share; /* one cell of so many */
    int from, to;
    bool job;
    const char *only;
} options = {.seed = 1, .share = 200, .from = 1, .to = MX_RANKS};

static atomic_long cells;

/* ---- which --------------------------------------------------------------- */

static uint32_t check_mixed(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* Numbers the cells of one number of ranks. */
static bool cell_at(uint32_t number, int ranks, struct mx_cell *c)
{
    uint32_t n = number;

    *c = (struct mx_cell){.class = (int)(n % MX_CLASSES)};
    n /= MX_CLASSES;
    c->size = (int)(n % MX_SIZES);
    n /= MX_SIZES;
    c->mode = (enum mx_mode)(n % MX_MODES);
    n /= MX_MODES;
    c->in_place = n & 1;
    c->inter = n & 2;
    c->large = n & 4;
    n /= 8;
    c->coll = &mx_colls[n % (uint32_t)mx_coll_count];
    c->dice =
        check_mixed(number * 31 + (uint32_t)ranks + options.seed * 2654435761u);
    return n < (uint32_t)mx_coll_count;
}

static bool is_chosen(const struct mx_cell *c, int ranks)
{
    return mx_cell_exists(c, ranks) &&
           check_mixed(c->dice + 77) % options.share == 0 &&
           (!options.only || strcmp(options.only, c->coll->name) == 0);
}

/* ---- a number of ranks --------------------------------------------------- */

static void make_graph(struct mx_rank *m)
{
    int in[MX_NEIGHBORS], out[MX_NEIGHBORS];

    for (int i = 0; i < MX_NEIGHBORS; i++) {
        in[i] = mx_neighbor_in(m, i);
        out[i] = mx_neighbor_out(m, i);
    }
    MPI_Dist_graph_create_adjacent(m->world, MX_NEIGHBORS, in, MPI_UNWEIGHTED,
                                   MX_NEIGHBORS, out, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &m->graph);
}

static MPI_Comm between_groups(const struct mx_rank *m, int left, int tag)
{
    MPI_Comm half, both;

    MPI_Comm_split(m->world, m->rank < left, m->rank, &half);
    MPI_Intercomm_create(half, 0, m->world, m->rank < left ? left : 0, tag,
                         &both);
    MPI_Comm_free(&half);
    return both;
}

static void open_rank(struct mx_rank *m, MPI_Comm world)
{
    *m = (struct mx_rank){.world = world};
    MPI_Comm_rank(world, &m->rank);
    MPI_Comm_size(world, &m->size);
    make_graph(m);
    m->left[0] = 1;
    m->left[1] = m->size / 2 + m->size / 6;
    for (int i = 0; i < 2 && m->size > 1; i++)
        m->inter[i] = between_groups(m, m->left[i], i);
    for (int i = 0; i < MX_CLASSES; i++) {
        m->types[i] = mx_type_new(i);
        for (int k = 0; k < MX_OPS; k++)
            m->ops[i][k] = mx_op_new(i, k);
    }
}

static void close_rank(struct mx_rank *m)
{
    MPI_Comm_free(&m->graph);
    for (int i = 0; i < 2 && m->size > 1; i++)
        MPI_Comm_free(&m->inter[i]);
    for (int i = 0; i < MX_CLASSES; i++) {
        if (i >= 4)
            MPI_Type_free(&m->types[i]);
        for (int k = 0; k < MX_OPS && mx_op_is_ours(i); k++)
            MPI_Op_free(&m->ops[i][k]);
    }
}

/* ---- cells under way ----------------------------------------------------- */

enum { FLIGHTS = 3 };

struct flights {
    struct mx_flight *of[FLIGHTS];
    int n;
};

static void check_wrong(const struct mx_rank *m)
{
    fprintf(stderr, "again: --seed %u --share %u --ranks %d-%d\n", options.seed,
            options.share, m->size, m->size);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each rank in an order of its own: all that are under way, and then once more
 * those that are persistent. Nobody waits for what another one starts later. */
static void land_message(const struct mx_rank *m, struct flights *f,
                         uint32_t dice)
{
    uint32_t mine = check_mixed(dice + 7919u * (uint32_t)m->rank);
    int n = f->n;

    for (int i = 0; i < n; i++)
        if (!mx_cell_await(f->of[((uint32_t)i + mine) % (uint32_t)n]))
            check_wrong(m);
    for (int i = 0; i < n; i++)
        if (!mx_cell_again(f->of[((uint32_t)i + (mine >> 8)) % (uint32_t)n]))
            check_wrong(m);
    for (int i = 0; i < n; i++)
        if (!mx_cell_finish(f->of[((uint32_t)i + (mine >> 16)) % (uint32_t)n]))
            check_wrong(m);
    f->n = 0;
}

static void run_cell(const struct mx_rank *m, struct flights *f,
                     const struct mx_cell *c)
{
    struct mx_flight *one = mx_cell_start(m, c);

    if (!one || (c->mode == MX_BLOCKING && !mx_cell_finish(one)))
        check_wrong(m);
    if (c->mode == MX_BLOCKING)
        return;
    f->of[f->n++] = one;
    if (f->n == FLIGHTS)
        land_message(m, f, c->dice);
}

/* Of three numbers of ranks one has them in an order that knows no nodes. */
static MPI_Comm some_order(MPI_Comm all)
{
    int rank, size;
    MPI_Comm c;

    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Comm_split(all, 0,
                   size % 3 == 2 ? (int)(check_mixed((uint32_t)rank + 7u) >> 1)
                                 : rank,
                   &c);
    return c;
}

static void all_cells(MPI_Comm all)
{
    struct flights f = {.n = 0};
    struct mx_rank m;
    struct mx_cell c;

    open_rank(&m, some_order(all));
    for (uint32_t i = 0; cell_at(i, m.size, &c); i++) {
        if (!is_chosen(&c, m.size))
            continue;
        run_cell(&m, &f, &c);
        if (m.rank == 0)
            cells++;
    }
    land_message(&m, &f, 0);
    close_rank(&m);
    MPI_Comm_free(&m.world);
}

static int one_rank(void *arg)
{
    (void)arg;
    MPI_Init(NULL, NULL);
    all_cells(MPI_COMM_WORLD);
    return MPI_Finalize();
}

/* The processes of a job: communicators of its first ranks. */
static int run_job(void)
{
    int rank, size;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = options.from; n <= size && n <= options.to; n++) {
        MPI_Comm some;
        MPI_Comm_split(MPI_COMM_WORLD, rank < n ? 0 : MPI_UNDEFINED, rank,
                       &some);
        if (rank < n) {
            all_cells(some);
            MPI_Comm_free(&some);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%ld cells\n", (long)cells);
    return MPI_Finalize();
}

static bool read_options(int argc, char **argv)
{
    bool good = true;

    for (int i = 1; i < argc && good; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--all") == 0)
            options.share = 1;
        else if (strcmp(argv[i], "--job") == 0)
            options.job = true;
        else if (strcmp(argv[i], "--seed") == 0)
            good = sscanf(value, "%u", &options.seed) == 1, i++;
        else if (strcmp(argv[i], "--share") == 0)
            good = sscanf(value, "%u", &options.share) == 1, i++;
        else if (strcmp(argv[i], "--ranks") == 0)
            good = sscanf(value, "%d-%d", &options.from, &options.to) == 2, i++;
        else if (strcmp(argv[i], "--only") == 0)
            options.only = value, i++;
        else
            good = false;
    }
    return good && options.share > 0 && options.from > 0 &&
           options.to <= MX_RANKS;
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv)) {
        fprintf(stderr, "sim_coll_matrix: the head of coll_matrix.c has the "
                        "options\n");
        return 2;
    }
    if (options.job)
        return run_job();
    for (int n = options.from; n <= options.to; n++) {
        int results[MX_RANKS] = {0};
        if (MPIX_Run_ranks(n, one_rank, NULL, results) != MPI_SUCCESS)
            return 1;
        for (int i = 0; i < n; i++)
            if (results[i])
                return 1;
    }
    printf("%ld cells\n", (long)cells);
    return 0;
}

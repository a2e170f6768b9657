/* This program measures a transfer beside a computation that takes as long as
 * the transfer alone.
 *
 *   mpi_overlap WHO SIZE MS        WHO computes: sender, receiver or both; or
 *                                  allreduce: MPI_Iallreduce of doubles, both
 *   mpi_overlap WHO SIZE MS 4x     the same beside one 4 times as long
 *   mpi_overlap WHO SIZE MS LONG   the same beside LONG ms of computation
 *
 * It prints the hidden part of the shorter of the two, in percent: 100 when the
 * time of both together is that of one, 0 when it is their sum. Each of the
 * three times is a median: the computation by itself takes some percent longer
 * than in its best batch, which would be several times as much of a transfer. A
 * rank that does not compute waits in MPI_Wait. percent: by the clock of the
 * last rank; own: of those that compute, as in the benchmarks of Intel and of
 * OSU, which does not see what the other side pays. With LONG: how much longer,
 * in percent, both together take than the longer of the two. cpu: us of
 * processor time that the transfer alone takes of both ranks together; what it
 * has to take, where ranks that wait sleep (Weft: --set core.spin=0).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compute.h"
#include "repeat.h"

#include <sys/resource.h>

enum { CALIBRATION = 20000000 };

struct transfer {
    char *buf, *sum;
    int size, rank, computes;
    int reduces; /* an allreduce in the place of a message */
    int own;     /* count only those who compute */
    int still;   /* nothing is transferred */
    long turns;  /* of the computation; 0: the transfer alone */
    long runs;   /* so far */
};

static double turns_per_us(void)
{
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        double start = now_us();
        compute_turns(CALIBRATION / 5);
        if (now_us() - start < best)
            best = now_us() - start;
    }
    return CALIBRATION / 5 / best;
}

static void begin_transfer(struct transfer *t, MPI_Request *req)
{
    if (t->reduces)
        MPI_Iallreduce(t->buf, t->sum, t->size / (int)sizeof(double),
                       MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
    else if (t->rank == 0)
        MPI_Isend(t->buf, t->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, req);
    else
        MPI_Irecv(t->buf, t->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, req);
}

static double time_transfer(void *what)
{
    struct transfer *t = what;
    MPI_Request req = MPI_REQUEST_NULL;
    double took, longest, start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    if (!t->still)
        begin_transfer(t, &req);
    if (t->computes)
        compute_turns(t->turns);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    took = t->own && !t->computes ? 0 : now_us() - start;
    t->runs++;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static double measure_median(struct transfer *t, double limit_us)
{
    static double v[BATCHES];
    int n = repeat_batches(time_transfer, t, limit_us, v);

    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[n / 2];
}

/* Returns the percent of the shorter one that both together do not take. */
static double hidden_percent(double alone, double computing, double together)
{
    double shorter = alone < computing ? alone : computing;

    return 100 * (alone + computing - together) / shorter;
}

/* Returns the percent that both together take longer than the longer one. */
static double excess_percent(double alone, double computing, double together)
{
    double longer = alone > computing ? alone : computing;

    return 100 * (together - longer) / longer;
}

static void print_result(const char *metric, struct transfer *t, double percent)
{
    if (t->rank == 0)
        print_times(metric, t->size, &percent, 1);
}

/* Returns the processor time of this process, in us. */
static double used_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return 1e6 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Measure the transfer alone: its median, and its processor time on both
 * ranks. */
static double measure_alone(struct transfer *t, double limit_us)
{
    double used = used_us(), alone = measure_median(t, limit_us), both;

    used = (used_us() - used) / (double)t->runs;
    MPI_Allreduce(&used, &both, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    print_result("cpu", t, both);
    MPI_Bcast(&alone, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    print_result("alone", t, alone);
    return alone;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        return 2;
    double limit_us = atof(argv[3]) * 1e3 / 2, speed, alone, together, result;
    const char *last = argc > 4 ? argv[4] : "1x";
    int times = strchr(last, 'x') != NULL;
    double computing = atof(last) * 1e3;
    struct transfer t = {.size = atoi(argv[2])};

    t.buf = allocate_buffer((size_t)t.size);
    t.sum = allocate_buffer((size_t)t.size);
    memset(t.buf, 0, (size_t)t.size); /* no numbers that a sum makes odd */
    t.reduces = strcmp(argv[1], "allreduce") == 0;
    t.rank = start_rank(&argc, &argv);
    t.computes = strcmp(argv[1], t.rank ? "sender" : "receiver") != 0;
    speed = turns_per_us();
    alone = measure_alone(&t, limit_us);
    if (times)
        computing = atof(last) * alone;
    t.turns = (long)(speed * computing);
    t.still = 1;
    computing = measure_median(&t, limit_us);
    t.still = 0;
    together = measure_median(&t, limit_us);
    result =
        (times ? hidden_percent : excess_percent)(alone, computing, together);
    print_result("percent", &t, result);
    t.own = 1;
    together = measure_median(&t, limit_us);
    if (times)
        print_result("own", &t, hidden_percent(alone, computing, together));
    MPI_Finalize();
    return 0;
}

/* This program measures one-sided communication from rank 0 to the last rank:
 * an operation with its flush, a synchronisation, or a window's life.
 *
 *   mpi_rma CASE MS
 *
 * The others of the group that a case is about take part; the rest waits in
 * MPI_Bcast. The window is one of MPI_Win_allocate.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

enum { WINDOW = 1 << 20, ARRAY = 64 << 10 };

static int rank, last;
static MPI_Win win;
static MPI_Group everybody;
static char *buffer;
static long times = 1;

static void operate_lock(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    MPI_Win_unlock(last, win);
}

static void operate_lock_all(void)
{
    MPI_Win_lock_all(0, win);
    MPI_Win_unlock_all(win);
}

static void operate_locked_put(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    MPI_Put(buffer, 8, MPI_BYTE, last, 0, 8, MPI_BYTE, win);
    MPI_Win_unlock(last, win);
}

static void operate_put(void)
{
    MPI_Put(buffer, 1, MPI_INT64_T, last, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(last, win);
}

static void operate_get(void)
{
    MPI_Get(buffer, 1, MPI_INT64_T, last, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(last, win);
}

static void operate_fetch(void)
{
    static const int64_t one = 1;

    MPI_Fetch_and_op(&one, buffer, MPI_INT64_T, last, 0, MPI_SUM, win);
    MPI_Win_flush(last, win);
}

static void operate_swap(void)
{
    static const int64_t one = 1, zero = 0;

    MPI_Compare_and_swap(&one, &zero, buffer, MPI_INT64_T, last, 0, win);
    MPI_Win_flush(last, win);
}

static void operate_accumulate(void)
{
    static const int64_t one = 1;

    MPI_Accumulate(&one, 1, MPI_INT64_T, last, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(last, win);
}

static void operate_large_put(void)
{
    MPI_Put(buffer, WINDOW, MPI_BYTE, last, 0, WINDOW, MPI_BYTE, win);
    MPI_Win_flush(last, win);
}

static void operate_large_get(void)
{
    MPI_Get(buffer, WINDOW, MPI_BYTE, last, 0, WINDOW, MPI_BYTE, win);
    MPI_Win_flush(last, win);
}

static void operate_array(void)
{
    MPI_Accumulate(buffer, ARRAY / 8, MPI_DOUBLE, last, 0, ARRAY / 8,
                   MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(last, win);
}

static void operate_fence(void)
{
    MPI_Win_fence(0, win);
}

static void operate_groups(void)
{
    MPI_Win_post(everybody, 0, win);
    MPI_Win_start(everybody, 0, win);
    MPI_Put(buffer, 8, MPI_BYTE, last - rank, 0, 8, MPI_BYTE, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
}

static void operate_life(void)
{
    MPI_Win one;
    void *base;

    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &one);
    MPI_Win_free(&one);
}

static void operate_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Cases: by all members together, or by rank 0 in an epoch of lock_all. */
static const struct {
    const char *name;
    void (*operate)(void);
    int together, locked;
} cases[] = {{"lock", operate_lock, 0, 0},
             {"lock-all", operate_lock_all, 0, 0},
             {"lock-put-unlock", operate_locked_put, 0, 0},
             {"put-8", operate_put, 0, 1},
             {"get-8", operate_get, 0, 1},
             {"fetch-and-op", operate_fetch, 0, 1},
             {"compare-and-swap", operate_swap, 0, 1},
             {"accumulate-8", operate_accumulate, 0, 1},
             {"put-1M", operate_large_put, 0, 1},
             {"get-1M", operate_large_get, 0, 1},
             {"accumulate-64K", operate_array, 0, 1},
             {"barrier", operate_barrier, 1, 0},
             {"fence", operate_fence, 1, 0},
             {"groups", operate_groups, 1, 0},
             {"allocate-free", operate_life, 1, 0}};

enum { CASES = sizeof cases / sizeof *cases };

static double run_batch(void *what)
{
    int i = *(int *)what;
    double begin = now_us();

    for (long n = 0; n < times && (cases[i].together || rank == 0); n++)
        cases[i].operate();
    return (now_us() - begin) * 1e3 / (double)times;
}

int main(int argc, char **argv)
{
    double v[BATCHES], limit_us;
    void *base;
    int what = 0, size, n;

    rank = start_rank(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc > 2 && what < CASES && strcmp(cases[what].name, argv[1]) != 0)
        what++;
    if (argc < 3 || what == CASES) {
        fprintf(stderr, "usage: mpi_rma CASE MS\n");
        return 2;
    }
    limit_us = atof(argv[2]) * 1e3;
    last = size - 1;
    buffer = allocate_buffer(WINDOW);
    memset(buffer, 0, WINDOW);
    MPI_Win_allocate(WINDOW, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, WINDOW);
    MPI_Win_get_group(win, &everybody);
    if (cases[what].operate == operate_fence)
        MPI_Win_fence(0, win);
    if (cases[what].locked)
        MPI_Win_lock_all(0, win);
    times = calibrate_batch(run_batch, &what, BATCH_US);
    n = repeat_batches(run_batch, &what, limit_us, v);
    if (rank == 0)
        print_times("ns", 0, v, n);
    if (cases[what].locked)
        MPI_Win_unlock_all(win);
    if (cases[what].operate == operate_fence)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Group_free(&everybody);
    MPI_Win_free(&win);
    MPI_Finalize();
    free(buffer);
    return 0;
}

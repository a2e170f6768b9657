/* This program measures accesses to a file: a call, a rate, or the part of a
 * write that is hidden behind computation.
 *
 *   mpi_io CASE [RANKS] MS DIR    the file is DIR/bench-io.data, deleted at the
 *                                 end; RANKS only names the row
 *
 * All ranks do the same, each on bytes of its own, and the time is that until
 * the last one is ready; but "one" of the table: rank 0 alone.
 *
 *   us       per call
 *   gbs      bytes of all ranks per time
 *   percent  of the shorter one of write and computation that both together do
 *            not take
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "compute.h"
#include "io_cases.h"
#include "repeat.h"

static int rank, size;
static MPI_File file;
static char path[4096], *buffer;
static MPI_Offset place; /* of this rank's next access */
static long times = 1, turns;

static void check_class(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "mpi_io: %s %s: %s\n", what, path, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void open_file(void)
{
    check_class(MPI_File_open(MPI_COMM_WORLD, path,
                              MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                              &file),
                "opening");
}

static void operate_open(void)
{
    MPI_File_close(&file);
    open_file();
}

static void operate_write(void)
{
    MPI_File_write_at(file, place, buffer, SMALL, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_read(void)
{
    MPI_File_read_at(file, place, buffer, SMALL, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_locked(void)
{
    MPI_File_write_at(file, place, buffer, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_shared(void)
{
    MPI_File_write_shared(file, buffer, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_ordered(void)
{
    MPI_File_write_ordered(file, buffer, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_together(void)
{
    MPI_File_write_at_all(file, (MPI_Offset)rank * RECORD, buffer, RECORD,
                          MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_large_write(void)
{
    MPI_File_write_at(file, (MPI_Offset)rank * LARGE, buffer, LARGE, MPI_BYTE,
                      MPI_STATUS_IGNORE);
}

static void operate_large_read(void)
{
    MPI_File_read_at(file, (MPI_Offset)rank * LARGE, buffer, LARGE, MPI_BYTE,
                     MPI_STATUS_IGNORE);
}

static void operate_interleaved(void)
{
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_write_all(file, buffer, SHARE, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void operate_hidden(void)
{
    MPI_Request req;

    MPI_File_iwrite_at(file, (MPI_Offset)rank * LARGE, buffer, LARGE, MPI_BYTE,
                       &req);
    compute_turns(turns);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

/* bytes: of one rank; 0: the result is a time. piece: of an interleaved
 * view. */
static const struct {
    const char *name;
    void (*operate)(void);
    int bytes, piece, one;
} cases[] = {{"open-close", operate_open, 0, 0, 0},
             {"write-at-8", operate_write, 0, 0, 1},
             {"read-at-8", operate_read, 0, 0, 1},
             {"atomic-4K", operate_locked, 0, 0, 1},
             {"shared-100", operate_shared, 0, 0, 0},
             {"ordered-100", operate_ordered, 0, 0, 0},
             {"at-all-100", operate_together, 0, 0, 0},
             {"write-16M", operate_large_write, LARGE, 0, 0},
             {"read-16M", operate_large_read, LARGE, 0, 0},
             {"interleaved-64", operate_interleaved, SHARE, 64, 0},
             {"interleaved-1K", operate_interleaved, SHARE, 1 << 10, 0},
             {"interleaved-64K", operate_interleaved, SHARE, 64 << 10, 0},
             {"hidden-16M", operate_hidden, 0, 0, 1}};

enum { CASES = sizeof cases / sizeof *cases };

static double run_batch(void *what)
{
    int i = *(int *)what;
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = now_us();
    for (long n = 0; n < times && (rank == 0 || !cases[i].one); n++)
        cases[i].operate();
    if (!cases[i].one)
        MPI_Barrier(MPI_COMM_WORLD);
    return (now_us() - begin) / (double)times;
}

static double median_of(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[n / 2];
}

static double median_of_batches(int *what, double limit_us)
{
    static double v[BATCHES];
    int n = repeat_batches(run_batch, what, limit_us, v);

    return median_of(v, n);
}

/* The computation takes as long as the write alone. */
static double measure_hidden(int *what, double limit_us)
{
    double v[9], alone, computing, together, shorter;
    const long trial = 4000000;

    alone = median_of_batches(what, limit_us);
    for (int i = 0; i < 9; i++) {
        double begin = now_us();

        compute_turns(trial);
        v[i] = now_us() - begin;
    }
    computing = median_of(v, 9);
    turns = (long)(trial * alone / computing);
    computing = computing * (double)turns / (double)trial;
    together = median_of_batches(what, limit_us);
    shorter = alone < computing ? alone : computing;
    return 100 * (alone + computing - together) / shorter;
}

/* Makes a file in which all that is read exists. */
static void make_file(int what)
{
    MPI_Datatype tile;

    open_file();
    operate_large_write();
    if (cases[what].operate == operate_locked)
        MPI_File_set_atomicity(file, 1);
    if (!cases[what].piece)
        return;
    MPI_Type_vector(SHARE / cases[what].piece, cases[what].piece,
                    size * cases[what].piece, MPI_BYTE, &tile);
    MPI_Type_commit(&tile);
    check_class(MPI_File_set_view(file, (MPI_Offset)rank * cases[what].piece,
                                  MPI_BYTE, tile, "native", MPI_INFO_NULL),
                "setting a view of");
    MPI_Type_free(&tile);
}

static void measure_case(int what, double limit_us)
{
    static double v[BATCHES];
    int n;

    if (cases[what].operate == operate_hidden) {
        v[0] = measure_hidden(&what, limit_us);
        if (rank == 0)
            print_times("percent", 0, v, 1);
        return;
    }
    times = calibrate_batch(run_batch, &what, BATCH_US);
    n = repeat_batches(run_batch, &what, limit_us, v);
    if (rank == 0 && cases[what].bytes)
        print_rates("gbs", 0, v, n, 1e-3 * cases[what].bytes * size);
    else if (rank == 0)
        print_times("us", 0, v, n);
}

int main(int argc, char **argv)
{
    int what = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc > 3 && what < CASES && strcmp(cases[what].name, argv[1]) != 0)
        what++;
    if (argc < 4 || what == CASES) {
        fprintf(stderr, "usage: mpi_io CASE [RANKS] MS DIR\n");
        return 2;
    }
    if (cases[what].operate != operate_hidden)
        bind_rank(rank); /* a thread that writes goes where a CPU is free */
    snprintf(path, sizeof path, "%s/" BENCH_FILE, argv[argc - 1]);
    place = (MPI_Offset)rank * BLOCK;
    buffer = allocate_buffer(LARGE);
    make_file(what);
    measure_case(what, atof(argv[argc - 2]) * 1e3);
    MPI_File_close(&file);
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Finalize();
    free(buffer);
    return 0;
}

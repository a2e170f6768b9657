/* This program measures the two ways that an access in pieces may go, in turn,
 * and prints the time of one divided by that of the other: where it crosses 1
 * is the limit that core/os/tuning.h has.
 *
 *   mpi_io_ways CASE MS DIR   the file is DIR/bench-io.data, deleted at the end
 *
 *   sieve     reading 64 bytes of every ROW: sieved / a call for each piece
 *   pieces    MPI_File_write_all, interleaved in pieces of ROW bytes: in two
 *             phases / each rank its own
 *   read      the same for MPI_File_read_all
 *   sparse    MPI_File_write_all, pieces of 1 KB, of which all ranks together
 *             write one of ROW: in two phases / each rank its own
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_cases.h"
#include "repeat.h"

enum { TURNS = 200, PIECE = 64, DENSE = 1 << 10 };

static int rank, size;
static char path[4096], *buffer;

struct way {
    MPI_File file;
    int reads, bytes;
};

static const struct {
    const char *name, *key;
    int reads, first, last, factor;
} cases[] = {{"sieve", "romio_ds_read", 1, 128, 64 << 10, 2},
             {"pieces", "romio_cb_write", 0, 64, 1 << 20, 4},
             {"read", "romio_cb_read", 1, 64, 1 << 20, 4},
             {"sparse", "romio_cb_write", 0, 1, 64, 2}};

enum { CASES = sizeof cases / sizeof *cases };

/* Makes the view of a row; returns the bytes of an access. */
static int make_view(int what, int row, MPI_Datatype *tile, MPI_Offset *at)
{
    int piece = what == 0 ? PIECE : what == 3 ? DENSE : row;
    int stride = what == 0 ? row : what == 3 ? DENSE * size * row : row * size;
    int bytes = what == 0 ? 1024 * PIECE : what == 3 ? SHARE / 4 : SHARE;

    MPI_Type_vector(bytes / piece, piece, stride, MPI_BYTE, tile);
    MPI_Type_commit(tile);
    *at = what == 0 ? (MPI_Offset)rank * SHARE * 64 : (MPI_Offset)rank * piece;
    return bytes;
}

static void open_way(struct way *w, int what, int row, const char *use)
{
    MPI_Datatype tile;
    MPI_Offset at;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, cases[what].key, use);
    w->reads = cases[what].reads;
    w->bytes = make_view(what, row, &tile, &at);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                      info, &w->file) ||
        MPI_File_set_view(w->file, at, MPI_BYTE, tile, "native", info))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_free(&tile);
    MPI_Info_free(&info);
}

static double time_access(const struct way *w, int what)
{
    double begin;

    MPI_File_seek(w->file, 0, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now_us();
    if (what == 0)
        MPI_File_read(w->file, buffer, w->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (w->reads)
        MPI_File_read_all(w->file, buffer, w->bytes, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    else
        MPI_File_write_all(w->file, buffer, w->bytes, MPI_BYTE,
                           MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return now_us() - begin;
}

/* Fills what is read: all of it is there. */
static void fill_file(int what, const struct way *w)
{
    MPI_File whole;
    long n = what == 0 ? 64L * SHARE : SHARE;

    if (!w->reads)
        return;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &whole);
    for (long at = 0; at < n; at += SHARE)
        MPI_File_write_at(whole, rank * n + at, buffer, SHARE, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    MPI_File_close(&whole);
}

static void measure_row(int what, int row, double limit_us)
{
    static double one[TURNS], other[TURNS];
    struct way with, without;
    double begin = now_us(), quotient;
    int n = 0, more = 1;

    open_way(&with, what, row, "enable");
    open_way(&without, what, row, "disable");
    fill_file(what, &with);
    time_access(&with, what);
    time_access(&without, what);
    for (; more; n++) {
        one[n] = time_access(&with, what);
        other[n] = time_access(&without, what);
        more = n < TURNS - 1 && now_us() - begin < limit_us;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(one, (size_t)n, sizeof *one, compare_doubles);
    qsort(other, (size_t)n, sizeof *other, compare_doubles);
    quotient = one[n / 2] / other[n / 2];
    if (rank == 0)
        printf("times %d %.3g %.3g\n", row, one[0] / other[0], quotient);
    fflush(stdout);
    MPI_File_close(&without.file);
    MPI_File_close(&with.file);
}

int main(int argc, char **argv)
{
    int what = 0;

    rank = start_rank(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (argc == 4 && what < CASES && strcmp(cases[what].name, argv[1]) != 0)
        what++;
    if (argc != 4 || what == CASES) {
        fprintf(stderr, "usage: mpi_io_ways CASE MS DIR\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/" BENCH_FILE, argv[3]);
    buffer = allocate_buffer(SHARE);
    for (int row = cases[what].first; row <= cases[what].last;
         row *= cases[what].factor)
        measure_row(what, row, atof(argv[2]) * 1e3);
    if (rank == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Finalize();
    free(buffer);
    return 0;
}

/* A random program of file accesses beside a model of the file: an array of
 * bytes, and views and memory as lists of offsets. Every rank draws the same
 * numbers, so it knows what all others do.
 *
 *   rounds of   a view for each rank
 *               writes: at once where they do not overlap, else in turn
 *               reads of each rank, also beyond the end of the file
 *
 *   job_io_random [SEED]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"

enum { ROOM = 1 << 17, ROUNDS = 25, BYTES_MOST = 1 << 14, RANKS = 16 };

static _Thread_local unsigned seed;
static _Thread_local unsigned char *model;
static _Thread_local int model_size;

static int draw_of(int n)
{
    return (int)draw_from(&seed, (unsigned)n);
}

/* ---- types --------------------------------------------------------------- */

/* A type, and the offsets of its bytes in the order of its stream. */
struct layout {
    MPI_Datatype type;
    int n, extent;
    int at[512];
};

static void add_units(struct layout *l, int at, int units, int unit)
{
    for (int i = 0; i < units * unit; i++)
        l->at[l->n++] = at + i;
}

static void make_vector(struct layout *l, MPI_Datatype base, int unit)
{
    int count = 1 + draw_of(6), block = 1 + draw_of(3);
    int stride = block + draw_of(5);

    MPI_Type_vector(count, block, stride, base, &l->type);
    for (int i = 0; i < count; i++)
        add_units(l, i * stride * unit, block, unit);
    l->extent = ((count - 1) * stride + block) * unit;
}

static void make_indexed(struct layout *l, MPI_Datatype base, int unit)
{
    int n = 1 + draw_of(5), at = draw_of(3), blocks[5];
    MPI_Aint displs[5];

    for (int i = 0; i < n; i++) {
        blocks[i] = 1 + draw_of(4);
        displs[i] = at * unit;
        add_units(l, at * unit, blocks[i], unit);
        at += blocks[i] + draw_of(4);
    }
    MPI_Type_create_hindexed(n, blocks, displs, base, &l->type);
    l->extent = l->at[l->n - 1] + 1 - l->at[0];
}

static void make_box(struct layout *l, MPI_Datatype base, int unit)
{
    int sizes[2] = {1 + draw_of(6), 1 + draw_of(6)}, sub[2], start[2];

    for (int d = 0; d < 2; d++) {
        sub[d] = 1 + draw_of(sizes[d]);
        start[d] = draw_of(sizes[d] - sub[d] + 1);
    }
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, base, &l->type);
    for (int i = 0; i < sub[0]; i++)
        add_units(l, ((start[0] + i) * sizes[1] + start[1]) * unit, sub[1],
                  unit);
    l->extent = sizes[0] * sizes[1] * unit;
}

static void make_layout(struct layout *l, MPI_Datatype base, int unit)
{
    int kind = draw_of(6), more;
    MPI_Aint lb, extent;
    MPI_Datatype plain;

    l->n = 0;
    if (kind < 2)
        make_vector(l, base, unit);
    else if (kind < 4)
        make_indexed(l, base, unit);
    else if (kind < 5)
        make_box(l, base, unit);
    else {
        MPI_Type_contiguous(1 + draw_of(8), base, &l->type);
        MPI_Type_get_extent(l->type, &lb, &extent);
        add_units(l, 0, (int)extent / unit, unit);
        l->extent = (int)extent;
    }
    more = draw_of(3);
    if (kind < 2 && more) { /* a gap behind the last block */
        plain = l->type;
        MPI_Type_create_resized(plain, 0, l->extent + more * unit, &l->type);
        MPI_Type_free(&plain);
        l->extent += more * unit;
    }
    MPI_Type_commit(&l->type);
}

static int offset_of(const struct layout *l, int byte)
{
    return byte / l->n * l->extent + l->at[byte % l->n];
}

/* ---- views and accesses -------------------------------------------------- */

struct view {
    int disp, unit;
    bool big_endian;
    struct layout file;
};

/* The access of a rank: `bytes` of the stream from byte `first` on. */
struct access {
    struct view view;
    struct layout memory;
    int first, elements, bytes;
};

static bool is_little(void)
{
    return *(const unsigned char *)&(int){1} == 1;
}

/* The byte of the stream that is at byte i in memory. */
static int find_swapped(const struct view *v, int i)
{
    if (!v->big_endian || !is_little())
        return i;
    return i / v->unit * v->unit + v->unit - 1 - i % v->unit;
}

static int file_offset(const struct view *v, int byte)
{
    return v->disp + offset_of(&v->file, byte);
}

static unsigned char value_of(int round, int r, int byte)
{
    return (unsigned char)(round * 31 + r * 57 + byte * 7 + byte / 251 + 1);
}

static MPI_Datatype base_of(int unit)
{
    return unit == 1 ? MPI_BYTE : unit == 4 ? MPI_INT : MPI_DOUBLE;
}

static void draw_access(struct access *a)
{
    static const int units[] = {1, 4, 8};
    struct view *v = &a->view;

    v->unit = units[draw_of(3)];
    v->big_endian = draw_of(3) == 0;
    v->disp = draw_of(200);
    make_layout(&v->file, base_of(v->unit), v->unit);
    make_layout(&a->memory, base_of(v->unit), v->unit);
    a->first = draw_of(200) * v->unit;
    a->elements = draw_of(1 + (draw_of(4) ? 20 : BYTES_MOST / a->memory.n));
    a->bytes = a->elements * a->memory.n;
    while (a->bytes && file_offset(v, a->first + a->bytes - 1) >= ROOM) {
        a->elements /= 2;
        a->bytes = a->elements * a->memory.n;
    }
}

/* The view has the datarep of the first rank: it is the same in all. */
static void draw_all(struct access *a)
{
    for (int r = 0; r < size; r++) {
        draw_access(&a[r]);
        if (a[r].view.unit != a[0].view.unit) {
            MPI_Type_free(&a[r].view.file.type);
            MPI_Type_free(&a[r].memory.type);
            r--;
            continue;
        }
        a[r].view.big_endian = a[0].view.big_endian;
    }
}

static void free_all(struct access *a)
{
    for (int r = 0; r < size; r++) {
        MPI_Type_free(&a[r].view.file.type);
        MPI_Type_free(&a[r].memory.type);
    }
}

static char *make_memory(const struct access *a)
{
    return calloc(1, (size_t)a->elements * (size_t)a->memory.extent + 600);
}

static void set_view(MPI_File f, const struct access *a)
{
    const struct view *v = &a->view;
    MPI_Offset at;

    CHECK(!MPI_File_set_view(f, v->disp, base_of(v->unit), v->file.type,
                             v->big_endian ? "external32" : "native",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_get_byte_offset(f, a->first / v->unit, &at));
    CHECK(at == file_offset(v, a->first));
}

/* ---- one call of many ---------------------------------------------------- */

enum ways { COLLECTIVE_WAYS = 4, WAYS = 8 };

static int write_by(MPI_File f, int way, MPI_Offset at, const void *buf, int n,
                    MPI_Datatype t, MPI_Status *status)
{
    MPI_Request r;
    int rc;

    if (way % 2)
        MPI_File_seek(f, at, MPI_SEEK_SET);
    switch (way) {
    case 0:
        return MPI_File_write_at_all(f, at, buf, n, t, status);
    case 1:
        return MPI_File_write_all_c(f, buf, n, t, status);
    case 2:
        rc = MPI_File_iwrite_at_all(f, at, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    case 3:
        rc = MPI_File_write_all_begin(f, buf, n, t);
        return rc ? rc : MPI_File_write_all_end(f, buf, status);
    case 4:
        return MPI_File_write_at_c(f, at, buf, n, t, status);
    case 5:
        return MPI_File_write(f, buf, n, t, status);
    case 6:
        rc = MPI_File_iwrite_at(f, at, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    default:
        rc = MPI_File_iwrite(f, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    }
}

static int read_by(MPI_File f, int way, MPI_Offset at, void *buf, int n,
                   MPI_Datatype t, MPI_Status *status)
{
    MPI_Request r;
    int rc;

    if (way % 2)
        MPI_File_seek(f, at, MPI_SEEK_SET);
    switch (way) {
    case 0:
        rc = MPI_File_read_at_all_begin(f, at, buf, n, t);
        return rc ? rc : MPI_File_read_at_all_end(f, buf, status);
    case 1:
        rc = MPI_File_iread_all(f, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    case 2:
        return MPI_File_read_at_all_c(f, at, buf, n, t, status);
    case 3:
        return MPI_File_read_all(f, buf, n, t, status);
    case 4:
        return MPI_File_read_at(f, at, buf, n, t, status);
    case 5:
        return MPI_File_read_c(f, buf, n, t, status);
    case 6:
        rc = MPI_File_iread_at_c(f, at, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    default:
        rc = MPI_File_iread(f, buf, n, t, &r);
        return rc ? rc : MPI_Wait(&r, status);
    }
}

static void check_bytes(const MPI_Status *status, int bytes)
{
    int got = -1;

    MPI_Get_elements(status, MPI_BYTE, &got);
    if (got != bytes)
        fprintf(stderr, "rank %d: %d bytes where %d are expected\n", rank, got,
                bytes);
    CHECK(got == bytes);
}

static void check_position(MPI_File f, int way, const struct access *a)
{
    MPI_Offset at = -1;

    CHECK(!MPI_File_get_position(f, &at));
    if (way % 2)
        CHECK(at == (a->first + a->bytes) / a->view.unit);
}

/* ---- writing ------------------------------------------------------------- */

/* Whether two ranks write one byte of the file. */
static bool do_overlap(const struct access *a)
{
    static _Thread_local unsigned char seen[ROOM];
    bool twice = false;

    memset(seen, 0, sizeof seen);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < a[r].bytes; i++) {
            unsigned char *at = &seen[file_offset(&a[r].view, a[r].first + i)];

            twice |= *at && *at != r + 1;
            *at = (unsigned char)(r + 1);
        }
    return twice;
}

static void write_model(const struct access *a, int round, int r)
{
    for (int i = 0; i < a->bytes; i++) {
        int at = file_offset(&a->view, a->first + i);

        model[at] = value_of(round, r, find_swapped(&a->view, i));
        if (at >= model_size)
            model_size = at + 1;
    }
}

static void write_own(MPI_File f, const struct access *a, int round, int way)
{
    char *buf = make_memory(a);
    MPI_Status status;

    for (int i = 0; i < a->bytes; i++)
        buf[offset_of(&a->memory, i)] = (char)value_of(round, rank, i);
    CHECK(!write_by(f, way, a->first / a->view.unit, buf, a->elements,
                    a->memory.type, &status));
    check_bytes(&status, a->bytes);
    check_position(f, way, a);
    free(buf);
}

static void write_round(MPI_File f, int round)
{
    struct access a[RANKS];
    int way = draw_of(WAYS);
    bool in_turn;

    draw_all(a);
    in_turn = do_overlap(a);
    if (in_turn)
        way = COLLECTIVE_WAYS + way % COLLECTIVE_WAYS;
    set_view(f, &a[rank]);
    for (int r = 0; r < size; r++) {
        write_model(&a[r], round, r);
        if (r == rank)
            write_own(f, &a[r], round, way);
        if (in_turn)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free_all(a);
}

/* ---- reading ------------------------------------------------------------- */

/* The bytes up to the end of the file; whole elements where they are
 * converted. */
static int bytes_there(const struct access *a)
{
    int n = 0;

    while (n < a->bytes && file_offset(&a->view, a->first + n) < model_size)
        n++;
    return a->view.big_endian ? n / a->memory.n * a->memory.n : n;
}

static void read_round(MPI_File f)
{
    struct access all[RANKS], *a;
    int way = draw_of(WAYS), wrong = 0, there;
    MPI_Status status;
    char *buf;

    draw_all(all);
    a = &all[rank];
    set_view(f, a);
    buf = make_memory(a);
    CHECK(!read_by(f, way, a->first / a->view.unit, buf, a->elements,
                   a->memory.type, &status));
    there = bytes_there(a);
    check_bytes(&status, there);
    check_position(f, way, a);
    for (int i = 0; i < there; i++) {
        int byte = a->first + find_swapped(&a->view, i);

        wrong += (unsigned char)buf[offset_of(&a->memory, i)] !=
                 model[file_offset(&a->view, byte)];
    }
    CHECK(wrong == 0);
    free(buf);
    free_all(all);
}

/* ---- the file as a whole ------------------------------------------------- */

static void check_size(MPI_File f)
{
    MPI_Offset n = -1, end = -1;

    CHECK(!MPI_File_get_size(f, &n));
    CHECK(n == model_size);
    CHECK(!MPI_File_set_view(f, 5, MPI_SHORT, MPI_SHORT, "native",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_seek(f, 0, MPI_SEEK_END));
    CHECK(!MPI_File_get_position(f, &end));
    CHECK(end == (model_size > 5 ? (model_size - 5 + 1) / 2 : 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void change_size(MPI_File f)
{
    int n = draw_of(ROOM);

    if (draw_of(2)) {
        CHECK(!MPI_File_set_size(f, n));
        if (n < model_size)
            memset(model + n, 0, (size_t)(model_size - n));
        model_size = n;
    } else {
        CHECK(!MPI_File_preallocate(f, n));
        model_size = n > model_size ? n : model_size;
    }
}

static MPI_Info draw_info(void)
{
    static const char *const uses[] = {"enable", "disable", "automatic"};
    char size_text[16];
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", uses[draw_of(3)]);
    MPI_Info_set(info, "romio_ds_write", uses[draw_of(3)]);
    snprintf(size_text, sizeof size_text, "%d", 1 + draw_of(2000));
    MPI_Info_set(info, "ind_rd_buffer_size", size_text);
    MPI_Info_set(info, "ind_wr_buffer_size", size_text);
    return info;
}

static void run_rounds(void)
{
    MPI_Info info = draw_info();
    MPI_File f;

    CHECK(!MPI_File_open(MPI_COMM_WORLD, name,
                         MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR |
                             MPI_MODE_DELETE_ON_CLOSE,
                         info, &f));
    memset(model, 0, ROOM);
    model_size = 0;
    for (int round = 0; round < ROUNDS && !job_failures; round++) {
        if (draw_of(5) == 0)
            CHECK(!MPI_File_set_atomicity(f, draw_of(2)));
        if (draw_of(8) == 0)
            change_size(f);
        write_round(f, round);
        read_round(f);
        check_size(f);
    }
    CHECK(!MPI_File_close(&f));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    io_begin(&argc, &argv, "io_random");
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    model = malloc(ROOM);
    for (int i = 0; i < 6; i++)
        run_rounds();
    free(model);
    return job_end();
}

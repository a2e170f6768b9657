/* Collective accesses against an array of bytes: pieces of random lengths are
 * dealt out to the ranks, or to nobody, and each rank writes or reads a range
 * of its own. All ranks draw the same numbers, so each knows what the file must
 * be.
 *
 *   job_io_collective [SEED]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <stdint.h>
#include <unistd.h>

enum { BYTES = 40000, PIECES = 3000, FILES = 8, STEPS = 8, DISP = 13 };

static _Thread_local unsigned char model[2 * BYTES + DISP];
static _Thread_local int model_size;
static _Thread_local int ranks, me;
static _Thread_local unsigned seed = 1;
static _Thread_local char path[200];

/* Which bytes of a tile each rank sees. */
static _Thread_local int owner[PIECES], start[PIECES], length[PIECES], pieces;

struct range {
    int first, bytes; /* of the rank's stream */
};

static unsigned draw_number(unsigned n)
{
    return draw_from(&seed, n);
}

static unsigned char byte_at(int offset, int step)
{
    return (unsigned char)(offset * 31 + offset / 253 + step * 77 + 1);
}

/* Deals the bytes of a tile out. */
static void deal_pieces(void)
{
    int most = draw_number(3) ? 100 : 2000, holes = (int)draw_number(3);
    int at = 0;

    for (pieces = 0; pieces < PIECES && at < BYTES; pieces++) {
        int n = 1 + (int)draw_number((unsigned)most);
        if (n > BYTES - at)
            n = BYTES - at;
        start[pieces] = at;
        length[pieces] = n;
        /* or nobody */
        owner[pieces] = (int)draw_number((unsigned)(ranks + holes));
        at += n;
    }
}

static int count_bytes(int rank)
{
    int n = 0;

    for (int i = 0; i < pieces; i++)
        n += owner[i] == rank ? length[i] : 0;
    return n;
}

static MPI_Datatype make_filetype(void)
{
    static _Thread_local int lengths[PIECES];
    static _Thread_local MPI_Aint at[PIECES];
    MPI_Datatype t, whole;
    int n = 0;

    for (int i = 0; i < pieces; i++)
        if (owner[i] == me) {
            lengths[n] = length[i];
            at[n++] = start[i];
        }
    MPI_Type_create_hindexed(n, lengths, at, MPI_BYTE, &t);
    MPI_Type_create_resized(t, 0, BYTES, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&t);
    return whole;
}

/* Calls visit for each byte of a range of a rank's stream, in its order. */
static void each_byte(int rank, struct range r,
                      void (*visit)(int k, int offset, void *), void *arg)
{
    int k = 0;

    for (int tile = 0; tile < 2; tile++)
        for (int i = 0; i < pieces; i++)
            for (int j = 0; owner[i] == rank && j < length[i]; j++, k++)
                if (k >= r.first && k < r.first + r.bytes)
                    visit(k - r.first, DISP + tile * BYTES + start[i] + j, arg);
}

static void draw_ranges(struct range *all)
{
    for (int i = 0; i < ranks; i++) {
        int n = 2 * count_bytes(i);
        all[i].first = n ? (int)draw_number((unsigned)n) : 0;
        all[i].bytes =
            n ? (int)draw_number((unsigned)(n - all[i].first + 1)) : 0;
        if (draw_number(6) == 0)
            all[i].bytes = 0;
        if (draw_number(3) == 0) {
            all[i].first = 0;
            all[i].bytes = n;
        }
    }
}

static void model_byte(int k, int offset, void *step)
{
    model[offset] = byte_at(offset, *(int *)step);
    if (offset >= model_size)
        model_size = offset + 1;
}

/* ---- the calls ----------------------------------------------------------- */

/* The rank's bytes in memory: in a row, or every second one. */
struct memory {
    unsigned char *buf;
    MPI_Datatype type;
    int spacing, step, right;
};

static void fill_byte(int k, int offset, void *arg)
{
    struct memory *m = arg;

    m->buf[k * m->spacing] = byte_at(offset, m->step);
}

static struct memory make_memory(int bytes)
{
    struct memory m = {.spacing = 1 + (int)draw_number(2)};
    MPI_Datatype one;

    m.buf = calloc(1, (size_t)(bytes * m.spacing) + 1);
    MPI_Type_vector(1, 1, 1, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, m.spacing, &m.type);
    MPI_Type_commit(&m.type);
    MPI_Type_free(&one);
    return m;
}

static void free_memory(struct memory *m)
{
    MPI_Type_free(&m->type);
    free(m->buf);
}

static int write_by(int form, MPI_File f, struct range r, struct memory *m,
                    MPI_Status *status)
{
    MPI_Request q;
    int rc;

    switch (form) {
    case 0:
        return MPI_File_write_at_all(f, r.first, m->buf, r.bytes, m->type,
                                     status);
    case 1:
        MPI_File_seek(f, r.first, MPI_SEEK_SET);
        return MPI_File_write_all(f, m->buf, r.bytes, m->type, status);
    case 2:
        rc = MPI_File_iwrite_at_all(f, r.first, m->buf, r.bytes, m->type, &q);
        return rc ? rc : MPI_Wait(&q, status);
    default:
        rc = MPI_File_write_at_all_begin(f, r.first, m->buf, r.bytes, m->type);
        return rc ? rc : MPI_File_write_at_all_end(f, m->buf, status);
    }
}

static int read_by(int form, MPI_File f, struct range r, struct memory *m,
                   MPI_Status *status)
{
    MPI_Request q;
    int rc;

    switch (form) {
    case 0:
        return MPI_File_read_at_all(f, r.first, m->buf, r.bytes, m->type,
                                    status);
    case 1:
        MPI_File_seek(f, r.first, MPI_SEEK_SET);
        return MPI_File_read_all(f, m->buf, r.bytes, m->type, status);
    case 2:
        rc = MPI_File_iread_at_all(f, r.first, m->buf, r.bytes, m->type, &q);
        return rc ? rc : MPI_Wait(&q, status);
    default:
        rc = MPI_File_read_at_all_begin(f, r.first, m->buf, r.bytes, m->type);
        return rc ? rc : MPI_File_read_at_all_end(f, m->buf, status);
    }
}

static int count_of(MPI_Status *status)
{
    int n;

    MPI_Get_count(status, MPI_BYTE, &n);
    return n;
}

static void check_file(void)
{
    static _Thread_local unsigned char got[sizeof model + 1];
    FILE *in;

    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        in = fopen(path, "rb");
        CHECK(in && fread(got, 1, sizeof got, in) == (size_t)model_size);
        CHECK(!memcmp(got, model, (size_t)model_size));
        if (in)
            fclose(in);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_step(MPI_File f, int step)
{
    struct range all[64];
    struct memory m;
    MPI_Status status;

    draw_ranges(all);
    for (int i = 0; i < ranks; i++)
        each_byte(i, all[i], model_byte, &step);
    m = make_memory(all[me].bytes);
    m.step = step;
    each_byte(me, all[me], fill_byte, &m);
    CHECK(write_by((int)draw_number(4), f, all[me], &m, &status) ==
          MPI_SUCCESS);
    CHECK(count_of(&status) == all[me].bytes);
    check_file();
    free_memory(&m);
}

/* Counts bytes that were read right, in front of the end of the file. */
static void check_byte(int k, int offset, void *arg)
{
    struct memory *m = arg;

    if (offset < model_size)
        m->right += m->buf[k * m->spacing] == model[offset];
    else
        CHECK(m->buf[k * m->spacing] == 0);
}

static void count_in_file(int k, int offset, void *arg)
{
    *(int *)arg += offset < model_size;
}

static void read_step(MPI_File f)
{
    struct range all[64];
    struct memory m;
    MPI_Status status;
    int want = 0;

    draw_ranges(all);
    m = make_memory(all[me].bytes);
    CHECK(read_by((int)draw_number(4), f, all[me], &m, &status) == MPI_SUCCESS);
    each_byte(me, all[me], count_in_file, &want);
    each_byte(me, all[me], check_byte, &m);
    CHECK(count_of(&status) == want);
    CHECK(m.right == want);
    free_memory(&m);
}

/* Two nonblocking accesses at a time, which end in any order. */
static void overlapping_steps(MPI_File f)
{
    struct range all[64];
    struct memory m[2];
    MPI_Request q[2];
    MPI_Status status[2];

    for (int i = 0; i < 2; i++) {
        draw_ranges(all);
        m[i] = make_memory(all[me].bytes);
        CHECK(MPI_File_iread_at_all(f, all[me].first, m[i].buf, all[me].bytes,
                                    m[i].type, &q[i]) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Waitall(2, q, status) == MPI_SUCCESS);
    each_byte(me, all[me], check_byte, &m[1]);
    CHECK(m[1].right == count_of(&status[1]));
    free_memory(&m[0]);
    free_memory(&m[1]);
}

/* ---- the files ----------------------------------------------------------- */

static MPI_Info draw_hints(void)
{
    static const char *const uses[] = {"enable", "automatic", "disable"};
    char number[16];
    unsigned use = draw_number(8);
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", uses[use < 5 ? 0 : use - 5]);
    MPI_Info_set(info, "romio_cb_read", uses[use < 5 ? 0 : use - 5]);
    snprintf(number, sizeof number, "%d", draw_number(2) ? 4096 : 1 << 20);
    MPI_Info_set(info, "cb_buffer_size", number);
    snprintf(number, sizeof number, "%u", 1 + draw_number((unsigned)ranks));
    if (draw_number(2))
        MPI_Info_set(info, "cb_nodes", number);
    return info;
}

static void run_file(void)
{
    MPI_Info info = draw_hints();
    MPI_Datatype filetype;
    MPI_File f;

    memset(model, 0, sizeof model);
    model_size = 0;
    deal_pieces();
    CHECK(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_RDWR | MPI_MODE_CREATE |
                            MPI_MODE_DELETE_ON_CLOSE,
                        info, &f) == MPI_SUCCESS);
    MPI_Info_free(&info);
    filetype = make_filetype();
    CHECK(MPI_File_set_view(f, DISP, MPI_BYTE, filetype, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
    for (int step = 0; step < STEPS; step++) {
        write_step(f, step);
        read_step(f);
        overlapping_steps(f);
    }
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    snprintf(path, sizeof path, "%s/weft-collective-%d",
             folder ? folder : "/tmp", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < FILES; i++)
        run_file();
    return job_end();
}

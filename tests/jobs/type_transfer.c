/* Derived datatypes between processes: every placement sent to every other, at
 * sizes that travel in a slot, as one container and in many pieces; what does
 * not belong to the type stays as it was.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { LAYOUTS = 8, SPREAD = 8 };

static int me, all, to, from;

/* ---- placements of n doubles; n is a multiple of 6 ----------------------- */

static MPI_Datatype in_groups(int n)
{
    int groups = n / 6, *length = malloc((size_t)(3 * groups) * sizeof *length);
    int *at = malloc((size_t)(3 * groups) * sizeof *at);
    MPI_Datatype t;

    for (int i = 0; i < 3 * groups; i++) {
        length[i] = i % 3 + 1;
        at[i] = i / 3 * 24 + i % 3 * 7 + i % 2;
    }
    MPI_Type_indexed(3 * groups, length, at, MPI_DOUBLE, &t);
    free(length);
    free(at);
    return t;
}

static MPI_Datatype check_nested(int n)
{
    int box[2] = {3, 5}, part[2] = {2, 3}, start[2] = {1, 1};
    MPI_Datatype inner, t;

    MPI_Type_create_subarray(2, box, part, start, MPI_ORDER_C, MPI_DOUBLE,
                             &inner);
    MPI_Type_create_hvector(n / 6, 1, 20 * sizeof(double), inner, &t);
    MPI_Type_free(&inner);
    return t;
}

static MPI_Datatype make_placement(int which, int n)
{
    MPI_Datatype t;

    switch (which) {
    case 0: MPI_Type_contiguous(n, MPI_DOUBLE, &t); break;
    case 1: MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &t); break;
    case 2: MPI_Type_vector(n / 3, 3, 7, MPI_DOUBLE, &t); break;
    case 3: t = in_groups(n); break;
    case 4: MPI_Type_create_hvector(n, 1, -24, MPI_DOUBLE, &t); break;
    case 5: t = check_nested(n); break;
    case 6: MPI_Type_vector(6, n / 6, n / 6 + 5, MPI_DOUBLE, &t); break;
    default: MPI_Type_vector(n, 8, 25, MPI_BYTE, &t); break;
    }
    MPI_Type_commit(&t);
    return t;
}

/* ---- one message --------------------------------------------------------- */

struct memory {
    char *base, *origin;
    size_t bytes;
};

static struct memory memory_for(int n)
{
    struct memory m = {.bytes = (size_t)n * 2 * SPREAD * sizeof(double)};

    m.base = malloc(m.bytes);
    m.origin = m.base + m.bytes / 2;
    return m;
}

static void fill_buffer(struct memory *m, int seed)
{
    for (size_t i = 0; i < m->bytes; i++)
        m->base[i] = (char)(i * 7 + (i >> 8) * 3 + (size_t)seed * 31);
}

static void pack_data(const struct memory *m, MPI_Datatype t, char *out, int n)
{
    int at = 0;

    MPI_Pack(m->origin, 1, t, out, n * 8, &at, MPI_COMM_WORLD);
    CHECK(at == n * 8);
}

/* The memory is as after unpacking what the sender packed. */
static void check_one(MPI_Datatype s, MPI_Datatype r, int n, struct memory *a,
                struct memory *b, char *bytes)
{
    MPI_Status st;
    int at = 0, count;

    fill_buffer(a, me);
    fill_buffer(b, 99);
    CHECK(MPI_Sendrecv(a->origin, 1, s, to, n, b->origin, 1, r, from, n,
                       MPI_COMM_WORLD, &st) == MPI_SUCCESS);
    MPI_Get_elements(&st, r, &count);
    CHECK(count == n || count == 8 * n);
    fill_buffer(a, from);
    pack_data(a, s, bytes, n);
    fill_buffer(a, 99);
    MPI_Unpack(bytes, n * 8, &at, a->origin, 1, r, MPI_COMM_WORLD);
    CHECK(memcmp(a->base, b->base, b->bytes) == 0);
}

static void every_pair(int n)
{
    struct memory a = memory_for(n), b = memory_for(n);
    char *bytes = malloc((size_t)n * 8);
    MPI_Datatype t[LAYOUTS];

    for (int i = 0; i < LAYOUTS; i++)
        t[i] = make_placement(i, n);
    for (int i = 0; i < LAYOUTS; i++)
        for (int j = 0; j < LAYOUTS; j++)
            if (n < 5000 || i == j || i + j == LAYOUTS - 1)
                check_one(t[i], t[j], n, &a, &b, bytes);
    for (int i = 0; i < LAYOUTS; i++)
        MPI_Type_free(&t[i]);
    free(a.base);
    free(b.base);
    free(bytes);
}

/* A receive for less: what fits arrives, and nothing is written beyond it. */
static void too_much(int n)
{
    struct memory a = memory_for(n), b = memory_for(n);
    MPI_Datatype s = make_placement(1, n), r = make_placement(5, n - 6);
    int class, rc;

    fill_buffer(&a, me);
    fill_buffer(&b, 99);
    rc = MPI_Sendrecv(a.origin, 1, s, to, 5, b.origin, 1, r, from, 5,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_TRUNCATE);
    fill_buffer(&a, 99);
    CHECK(memcmp(a.base, b.base, b.bytes / 2) == 0);
    MPI_Type_free(&s);
    MPI_Type_free(&r);
    free(a.base);
    free(b.base);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {6, 60, 600, 30000};

    job_begin(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        every_pair(sizes[i]);
        too_much(sizes[i]);
    }
    return job_end();
}

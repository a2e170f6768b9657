/* Random derived datatypes between processes, against a model that knows where
 * each byte of the packed stream lies. Sizes from a few bytes to what every
 * transport cuts into pieces, at places that have nothing to do with the types.
 * All processes draw the same numbers, so each knows what its neighbour sent.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <stdint.h>

enum { ROUNDS = 10, DEPTH = 3, MOST = 2000 };

/* A type and the displacements of its bytes, in the order of its typemap. */
struct model {
    MPI_Datatype type;
    MPI_Aint lb, extent;
    int n;
    MPI_Aint *byte;
};

static uint64_t drawn = 88172645463325252u;

static int draw_number(int below)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return (int)(drawn % (unsigned)below);
}

static struct model make_empty(void)
{
    struct model m = {.type = MPI_DATATYPE_NULL};
    m.byte = malloc(MOST * sizeof *m.byte);
    return m;
}

static void add_item(struct model *m, const struct model *part, MPI_Aint disp)
{
    for (int i = 0; i < part->n && m->n < MOST; i++)
        m->byte[m->n++] = disp + part->byte[i];
}

/* Bounds that were set on one part of a type are its bounds, wherever the other
 * parts lie (MPI-5.0 s5.1.6). Elements that would overlap then get bounds of
 * their own. */
static void finish_case(struct model *m)
{
    MPI_Datatype inner = m->type;
    MPI_Aint low, span;
    MPI_Type_get_extent(inner, &m->lb, &m->extent);
    MPI_Type_get_true_extent(inner, &low, &span);
    if (m->lb <= low && low + span <= m->lb + m->extent)
        return;
    MPI_Type_create_resized(inner, low, span, &m->type);
    MPI_Type_free(&inner);
    m->lb = low;
    m->extent = span;
}

static struct model make_leaf(void)
{
    struct model m = make_empty();
    m.n = 1 + draw_number(9);
    for (int i = 0; i < m.n; i++)
        m.byte[i] = i;
    MPI_Type_contiguous(m.n, MPI_BYTE, &m.type);
    finish_case(&m);
    return m;
}

/* Blocks of one part, forwards or backwards. */
static struct model check_strided(const struct model *part)
{
    struct model m = make_empty();
    int count = 1 + draw_number(5), length = 1 + draw_number(3);
    MPI_Aint step = part->extent * length + draw_number(12);
    if (draw_number(3) == 0)
        step = -step;
    MPI_Type_create_hvector(count, length, step, part->type, &m.type);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < length; j++)
            add_item(&m, part, i * step + j * part->extent);
    finish_case(&m);
    return m;
}

/* Blocks of different lengths, some of them empty, last one first at times. */
static struct model make_listed(const struct model *part)
{
    struct model m = make_empty();
    int length[6], count = 1 + draw_number(6), backwards = draw_number(2);
    MPI_Aint at[6], next = 0;
    for (int i = 0; i < count; i++) {
        int k = backwards ? count - 1 - i : i;
        length[k] = draw_number(4);
        at[k] = next;
        next += length[k] * part->extent + draw_number(10);
    }
    MPI_Type_create_hindexed(count, length, at, part->type, &m.type);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < length[i]; j++)
            add_item(&m, part, at[i] + j * part->extent);
    finish_case(&m);
    return m;
}

static struct model check_mixed(const struct model *a, const struct model *b)
{
    struct model m = make_empty();
    int length[2] = {1 + draw_number(2), 1 + draw_number(2)};
    MPI_Aint at[2] = {-a->lb, 0};
    MPI_Datatype types[2] = {a->type, b->type};
    at[1] = length[0] * a->extent + draw_number(9) - b->lb;
    MPI_Type_create_struct(2, length, at, types, &m.type);
    for (int i = 0; i < length[0]; i++)
        add_item(&m, a, at[0] + i * a->extent);
    for (int i = 0; i < length[1]; i++)
        add_item(&m, b, at[1] + i * b->extent);
    finish_case(&m);
    return m;
}

static struct model make_padded(const struct model *part)
{
    struct model m = make_empty();
    MPI_Type_create_resized(part->type, part->lb - draw_number(4),
                            part->extent + 4 + draw_number(9), &m.type);
    add_item(&m, part, 0);
    finish_case(&m);
    return m;
}

static void drop_message(struct model *m)
{
    MPI_Type_free(&m->type);
    free(m->byte);
}

static struct model random_type(int depth)
{
    if (depth == 0)
        return make_leaf();
    struct model a = random_type(depth - 1), b, m;
    switch (draw_number(4)) {
    case 0: m = check_strided(&a); break;
    case 1:
        m = make_listed(&a);
        break;
    case 2:
        m = make_padded(&a);
        break;
    default:
        b = random_type(depth - 1);
        m = check_mixed(&a, &b);
        drop_message(&b);
    }
    drop_message(&a);
    return m;
}

/* One that has data, no more of it than the model holds. */
static struct model usable_type(void)
{
    for (;;) {
        struct model m = random_type(DEPTH);
        int size;
        MPI_Type_size(m.type, &size);
        CHECK(size == m.n || m.n == MOST);
        if (m.n > 0 && m.n < MOST && m.extent > 0) {
            MPI_Type_commit(&m.type);
            return m;
        }
        drop_message(&m);
    }
}

/* ---- messages ------------------------------------------------------------ */

/* Memory for count elements. */
struct memory {
    char *base;
    MPI_Aint origin, bytes;
};

static struct memory memory_for(const struct model *m, int count)
{
    MPI_Aint low = 0, high = 0;
    for (int i = 0; i < m->n; i++) {
        low = m->byte[i] < low ? m->byte[i] : low;
        high = m->byte[i] >= high ? m->byte[i] + 1 : high;
    }
    struct memory a = {.origin = 64 - low};
    a.bytes = a.origin + high + (count - 1) * m->extent + 64;
    a.base = malloc((size_t)a.bytes);
    return a;
}

static void fill_buffer(struct memory *a, int seed)
{
    for (MPI_Aint i = 0; i < a->bytes; i++)
        a->base[i] = (char)(i * 7 + (i >> 8) * 3 + seed * 31);
}

static char *byte_at(const struct memory *a, const struct model *m, int i)
{
    return a->base + a->origin + i / m->n * m->extent + m->byte[i % m->n];
}

static void exchange_messages(const struct model *s, const struct model *r,
                              int bytes)
{
    int me = rank_in(MPI_COMM_WORLD), all = size_of(MPI_COMM_WORLD), got;
    int from = (me + all - 1) % all, scount = bytes / s->n + 1;
    int total = scount * s->n, rcount = (total + r->n - 1) / r->n;
    struct memory out = memory_for(s, scount), in = memory_for(r, rcount);
    struct memory want = memory_for(r, rcount);
    MPI_Status st;
    fill_buffer(&out, me);
    fill_buffer(&in, 99);
    fill_buffer(&want, 99);
    MPI_Sendrecv(out.base + out.origin, scount, s->type, (me + 1) % all, 1,
                 in.base + in.origin, rcount, r->type, from, 1, MPI_COMM_WORLD,
                 &st);
    MPI_Get_elements(&st, MPI_BYTE, &got);
    CHECK(got == total);
    fill_buffer(&out, from);
    for (int i = 0; i < total; i++)
        *byte_at(&want, r, i) = *byte_at(&out, s, i);
    CHECK(memcmp(in.base, want.base, (size_t)in.bytes) == 0);
    free(out.base);
    free(in.base);
    free(want.base);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 40, 700, 9000, 200000};
    job_begin(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        struct model s = usable_type(), r = usable_type();
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            exchange_messages(&s, &r, sizes[i] + draw_number(50));
        drop_message(&s);
        drop_message(&r);
    }
    return job_end();
}

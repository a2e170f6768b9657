/* Packed streams of random nested datatypes against the definition.
 *
 * The test builds every type twice: with the constructors, and as a plain
 * typemap by the definitions of MPI-5.0 s5.1. Sizes, bounds, packed bytes,
 * segments and element counts of both must agree, for every byte range; packed
 * bytes in the other byte order too.
 * WEFT_SEED chooses the sequence; it is printed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* */
#include <cmocka.h>

#include "core_api.h"
#include "datatype/locate.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "datatype/segments.h"
#include "datatype/swap.h"
#include "datatype/type.h"
#include "process/instance.h"
#include "object/status.h"
#include "protocol/request.h"
#include "type_model.h"

/* ---- comparisons ------------------------------------------------------ */

static int64_t model_size(const struct model *m)
{
    int64_t size = 0;

    for (int64_t i = 0; i < m->n; i++)
        size += m->map[i].size;
    return size;
}

static void bounds_agree(const struct model *m)
{
    int64_t low = 0, high = 0;
    MPI_Count lb, ext;

    for (int64_t i = 0; i < m->n; i++) {
        if (i == 0 || m->map[i].disp < low)
            low = m->map[i].disp;
        if (i == 0 || m->map[i].disp + m->map[i].size > high)
            high = m->map[i].disp + m->map[i].size;
    }
    wf_mpi_type_get_true_extent(&wf, wf_type_of(m->handle), &lb, &ext);
    assert_int_equal(lb, low);
    assert_int_equal(ext, high - low);
    wf_mpi_type_get_extent(&wf, wf_type_of(m->handle), &lb, &ext);
    assert_int_equal(lb, m->lb);
    assert_int_equal(ext, extent_of(m));
    assert_int_equal(wf_type_of(m->handle)->size, model_size(m));
}

/* User memory for count elements; *origin is where the buffer argument is. */
struct memory {
    unsigned char *bytes;
    int64_t n, origin;
};

static struct memory memory_for(const struct model *m, int64_t count)
{
    int64_t low = 0, high = 0;

    for (int64_t c = 0; c < count; c++)
        for (int64_t i = 0; i < m->n; i++) {
            int64_t at = c * extent_of(m) + m->map[i].disp;

            if (at < low)
                low = at;
            if (at + m->map[i].size > high)
                high = at + m->map[i].size;
        }
    return (struct memory){malloc((size_t)(high - low + 1)), high - low, -low};
}

/* where[k]: place in memory of byte k of the stream; swapped: of one whose
 * elements are in the other byte order. */
static int64_t *stream_places(const struct model *m, int64_t count,
                              const struct memory *mem, bool swapped)
{
    int64_t *where = malloc(sizeof *where *
                            (size_t)(count * model_size(m) + 1));
    int64_t k = 0;

    for (int64_t c = 0; c < count; c++)
        for (int64_t i = 0; i < m->n; i++)
            for (int b = 0; b < m->map[i].size; b++)
                where[k++] = mem->origin + c * extent_of(m) + m->map[i].disp +
                             (swapped ? m->map[i].size - 1 - b : b);
    return where;
}

static bool does_overlap(const int64_t *where, int64_t total,
                         const struct memory *mem)
{
    unsigned char *seen = calloc((size_t)mem->n + 1, 1);
    bool twice = false;

    for (int64_t k = 0; k < total; k++)
        twice |= seen[where[k]]++ != 0;
    free(seen);
    return twice;
}

/* A byte order of streams, and the functions for it. */
struct order {
    bool swapped;
    void (*pack)(const struct wf_type *, const void *, uint64_t, uint64_t,
                 void *, uint64_t);
    void (*unpack)(const struct wf_type *, void *, uint64_t, uint64_t,
                   const void *, uint64_t);
};

static const struct order orders[] = {
    {false, wf_type_pack, wf_type_unpack},
    {true, wf_type_pack_swapped, wf_type_unpack_swapped},
};

static void pack_agrees(const struct order *order, const struct model *m,
                        const struct memory *mem, const int64_t *where,
                        int64_t count, int64_t off, int64_t n)
{
    unsigned char *out = malloc((size_t)n + 1);

    out[n] = 0x5a;
    order->pack(wf_type_of(m->handle), mem->bytes + mem->origin,
                (uint64_t)count, (uint64_t)off, out, (uint64_t)n);
    for (int64_t k = 0; k < n; k++)
        assert_int_equal(out[k], mem->bytes[where[off + k]]);
    assert_int_equal(out[n], 0x5a);
    free(out);
}

static void unpack_agrees(const struct order *order, const struct model *m,
                          const struct memory *mem, const int64_t *where,
                          int64_t count, int64_t off, int64_t n)
{
    unsigned char *in = malloc((size_t)n + 1);
    unsigned char *wanted = malloc((size_t)mem->n + 1);
    unsigned char *got = malloc((size_t)mem->n + 1);

    memset(wanted, 0xee, (size_t)mem->n + 1);
    memset(got, 0xee, (size_t)mem->n + 1);
    for (int64_t k = 0; k < n; k++) {
        in[k] = (unsigned char)next_random();
        wanted[where[off + k]] = in[k];
    }
    order->unpack(wf_type_of(m->handle), got + mem->origin, (uint64_t)count,
                  (uint64_t)off, in, (uint64_t)n);
    assert_memory_equal(got, wanted, (size_t)mem->n);
    free(in);
    free(wanted);
    free(got);
}

static void segments_agree(const struct model *m, const struct memory *mem,
                           const int64_t *where, int64_t count, int64_t total,
                           int64_t off)
{
    struct iovec v[5];
    int n;

    do {
        int max = (int)draw_between(1, 5);

        n = wf_type_list_segments(wf_type_of(m->handle),
                                  mem->bytes + mem->origin, (uint64_t)count,
                                  (uint64_t)off, v, max);
        assert_true(n <= max);
        for (int i = 0; i < n; i++) {
            const unsigned char *base = v[i].iov_base;

            assert_true(v[i].iov_len > 0);
            if (i > 0) /* adjacent segments are merged */
                assert_true((char *)v[i - 1].iov_base + v[i - 1].iov_len !=
                            (char *)base);
            for (size_t k = 0; k < v[i].iov_len; k++, off++)
                assert_int_equal(base + k - mem->bytes, where[off]);
        }
    } while (n > 0);
    assert_int_equal(off, total);
}

static void order_agrees(const struct order *order, const struct model *m,
                         const struct memory *mem, int64_t count)
{
    int64_t *where = stream_places(m, count, mem, order->swapped);
    int64_t total = count * model_size(m);
    bool twice = does_overlap(where, total, mem);

    for (int i = 0; i < 12; i++) {
        int64_t off = i == 0 ? 0 : draw_between(0, total);
        int64_t n = i == 0 ? total : draw_between(0, total - off);

        pack_agrees(order, m, mem, where, count, off, n);
        if (!twice)
            unpack_agrees(order, m, mem, where, count, off, n);
    }
    free(where);
}

static void ranges_agree(const struct model *m, int64_t count)
{
    struct memory mem = memory_for(m, count);
    int64_t *where = stream_places(m, count, &mem, false);
    int64_t total = count * model_size(m);

    for (int64_t i = 0; i < mem.n; i++)
        mem.bytes[i] = (unsigned char)next_random();
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        order_agrees(&orders[i], m, &mem, count);
    segments_agree(m, &mem, where, count, total, 0);
    segments_agree(m, &mem, where, count, total, draw_between(0, total));
    free(where);
    free(mem.bytes);
}

/* Each byte of the stream is found, and where the addresses grow, the bytes
 * below an address are counted. */
static void places_agree(const struct model *m)
{
    const struct wf_type *t = wf_type_of(m->handle);
    struct memory mem = memory_for(m, 1);
    int64_t *where = stream_places(m, 1, &mem, false);
    int64_t total = model_size(m), below = 0;
    bool ascending = true;

    for (int64_t k = 0; k < total; k++) {
        assert_int_equal(wf_type_locate(t, k), where[k] - mem.origin);
        ascending &= k == 0 || where[k - 1] < where[k];
    }
    assert_int_equal(wf_type_is_ascending(t), ascending);
    assert_true(wf_type_is_nondecreasing(t) || !ascending);
    for (int64_t at = -3; ascending && at < mem.n + 3; at++) {
        while (below < total && where[below] < at)
            below++;
        assert_int_equal(wf_type_count_below(t, at - mem.origin), below);
    }
    free(where);
    free(mem.bytes);
}

/* Copying between two layouts is packing with one, unpacking with the other. */
static void copies_agree(const struct model *a, const struct model *b)
{
    int64_t ca = draw_between(1, 30), cb = draw_between(1, 30);
    struct memory from = memory_for(a, ca), to = memory_for(b, cb);
    int64_t *src = stream_places(a, ca, &from, false);
    int64_t *dst = stream_places(b, cb, &to, false);
    int64_t na = ca * model_size(a), nb = cb * model_size(b);
    int64_t n = na < nb ? na : nb;
    unsigned char *wanted = malloc((size_t)to.n + 1);

    if (!does_overlap(dst, n, &to)) {
        for (int64_t i = 0; i < from.n; i++)
            from.bytes[i] = (unsigned char)next_random();
        memset(to.bytes, 0xee, (size_t)to.n);
        memset(wanted, 0xee, (size_t)to.n);
        for (int64_t k = 0; k < n; k++)
            wanted[dst[k]] = from.bytes[src[k]];
        wf_type_copy(wf_type_of(a->handle), from.bytes + from.origin,
                     (uint64_t)ca, wf_type_of(b->handle),
                     to.bytes + to.origin, (uint64_t)cb);
        assert_memory_equal(to.bytes, wanted, (size_t)to.n);
    }
    free(wanted);
    free(src);
    free(dst);
    free(from.bytes);
    free(to.bytes);
}

/* MPI_Get_elements counts exactly, or says MPI_UNDEFINED inside an element. */
static void elements_agree(const struct model *m, int64_t count)
{
    int64_t bytes = 0, elements = 0;
    MPI_Status status = {0};
    MPI_Count got;

    for (int64_t c = 0; c < count; c++)
        for (int64_t i = 0; i < m->n; i++) {
            if (m->map[i].size > 1) {
                wf_status_set_bytes(&status, (uint64_t)bytes + 1);
                wf_mpi_get_elements(&wf, &status, wf_type_of(m->handle), &got);
                assert_int_equal(got, MPI_UNDEFINED);
            }
            bytes += m->map[i].size;
            elements++;
            wf_status_set_bytes(&status, (uint64_t)bytes);
            wf_mpi_get_elements(&wf, &status, wf_type_of(m->handle), &got);
            assert_int_equal(got, elements);
            wf_mpi_get_count(&wf, &status, wf_type_of(m->handle), &got);
            assert_int_equal(got, i + 1 == m->n ? c + 1 : MPI_UNDEFINED);
            wf_status_set_bytes(&status, 0);
            assert_int_equal(
                wf_mpi_status_set_elements(&wf, &status,
                                           wf_type_of(m->handle), elements),
                MPI_SUCCESS);
            assert_int_equal(wf_status_bytes(&status), bytes);
        }
}

/* ---- tests ------------------------------------------------------------ */

static void random_types_agree_with_their_typemaps(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct model pool[POOL];
        int n = 0;

        for (; n < 5; n++)
            model_basic(&pool[n]);
        model_short_int(&pool[n++]);
        for (; n < POOL; n++) {
            make_any(&pool[n], pool, n);
            bounds_agree(&pool[n]);
            places_agree(&pool[n]);
            ranges_agree(&pool[n], draw_between(0, 3));
            ranges_agree(&pool[n], draw_between(1, 60));
            elements_agree(&pool[n], 2);
            copies_agree(&pool[n], &pool[draw_between(0, n)]);
        }
        while (n > 0) /* the older first: younger types keep them alive */
            model_free(&pool[POOL - n--]);
    }
}

static void long_lists_are_found_by_any_byte(void **state)
{
    enum { N = 3000 };
    int *blk = malloc(N * sizeof *blk), *disp = malloc(N * sizeof *disp);
    MPI_Datatype listed, column, pieces;
    struct model m = {0};
    int at = 0;

    m.map = malloc(N * 3 * sizeof *m.map);
    m.align = 4;
    for (int i = 0; i < N; i++) {
        blk[i] = (int)draw_between(1, 3);
        disp[i] = at;
        at += blk[i] + (int)draw_between(0, 2);
        for (int k = 0; k < blk[i]; k++)
            m.map[m.n++] = (struct basic){4 * ((int64_t)disp[i] + k), 4};
    }
    m.ub = 4 * (disp[N - 1] + blk[N - 1]);
    wf_mpi_type_indexed(&wf, N, ints_of(blk), ints_of(disp),
                        wf_type_of(MPI_INT), &listed);
    m.handle = listed;
    bounds_agree(&m);
    for (int i = 0; i < 30; i++)
        ranges_agree(&m, draw_between(1, 2));
    /* a list whose parts are loops */
    wf_mpi_type_vector(&wf, 40, 1, 2, wf_type_of(MPI_INT), &column);
    wf_mpi_type_indexed(&wf, 3, ints_of((int[]){2, 1, 3}),
                        ints_of((int[]){0, 4, 6}), wf_type_of(column), &pieces);
    m.handle = pieces;
    m.n = 0;
    for (int part = 0; part < 6; part++) {
        static const int places[] = {0, 1, 4, 6, 7, 8};

        for (int i = 0; i < 40; i++)
            m.map[m.n++] =
                (struct basic){places[part] * 79 * 4 + (int64_t)i * 8, 4};
    }
    m.ub = 9 * 79 * 4;
    bounds_agree(&m);
    for (int i = 0; i < 30; i++)
        ranges_agree(&m, draw_between(1, 4));
    wf_mpi_type_free(&wf, &listed);
    wf_mpi_type_free(&wf, &column);
    wf_mpi_type_free(&wf, &pieces);
    free(m.map);
    free(blk);
    free(disp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_agree_with_their_typemaps),
        cmocka_unit_test(long_lists_are_found_by_any_byte),
    };
    const char *seed = getenv("WEFT_SEED");

    random_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    printf("WEFT_SEED=%llu\n", (unsigned long long)random_state);
    random_state = random_state * 0x9e3779b97f4a7c15u | 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

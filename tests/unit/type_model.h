/* Random datatypes, built twice: by the constructors, and as plain typemaps by
 * the definitions of MPI-5.0 s5.1. Included by one test after cmocka.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_TYPE_MODEL_H
#define WF_TEST_TYPE_MODEL_H

#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"

enum { MAP_MAX = 1500, POOL = 24, ROUNDS = 400 };

/* One basic element of a typemap. */
struct basic {
    int64_t disp;
    int size;
};

/* A type and its definition. */
struct model {
    MPI_Datatype handle;
    struct basic *map;
    int64_t n;
    bool sticky;
    int64_t lb, ub, align; /* lb, ub: when sticky or n > 0 */
};

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t draw_between(int64_t low, int64_t high)
{
    return low + (int64_t)(next_random() % (uint64_t)(high - low + 1));
}

static void model_free(struct model *m)
{
    if (m->handle && !wf_type_of(m->handle)->predefined)
        assert_int_equal(wf_mpi_type_free(&wf, &m->handle), MPI_SUCCESS);
    free(m->map);
    memset(m, 0, sizeof *m);
}

static void model_basic(struct model *m)
{
    static const struct {
        MPI_Datatype type;
        int size, align;
    } basics[] = {
        {MPI_CHAR, 1, 1},   {MPI_SHORT, 2, 2},        {MPI_INT, 4, 4},
        {MPI_DOUBLE, 8, 8}, {MPI_LONG_DOUBLE, 16, 16}, {MPI_BYTE, 1, 1},
    };
    int64_t i = draw_between(0, 5);

    m->handle = basics[i].type;
    m->map = malloc(sizeof *m->map);
    m->map[0] = (struct basic){0, basics[i].size};
    m->n = 1;
    m->lb = 0;
    m->ub = basics[i].size;
    m->align = basics[i].align;
    m->sticky = false;
}

/* {short, int}: a predefined type of two elements with a hole. */
static void model_short_int(struct model *m)
{
    m->handle = MPI_SHORT_INT;
    m->map = malloc(2 * sizeof *m->map);
    m->map[0] = (struct basic){0, 2};
    m->map[1] = (struct basic){4, 4};
    m->n = 2;
    m->lb = 0;
    m->ub = 8;
    m->align = 4;
    m->sticky = false;
}

static int64_t extent_of(const struct model *m)
{
    return m->ub - m->lb;
}

/* ---- definitions ------------------------------------------------------ */

static void define_start(struct model *m)
{
    memset(m, 0, sizeof *m);
    m->map = malloc(MAP_MAX * sizeof *m->map);
    m->align = 1;
}

/* count copies of old at disp; false: too large for this test. */
static bool define_add(struct model *m, int64_t disp, int64_t count,
                       const struct model *old)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = disp + i * extent_of(old);

        if (m->n + old->n > MAP_MAX)
            return false;
        for (int64_t k = 0; k < old->n; k++)
            m->map[m->n++] =
                (struct basic){at + old->map[k].disp, old->map[k].size};
        if (old->n == 0 && !old->sticky)
            continue;
        if (old->align > m->align)
            m->align = old->align;
        if (m->sticky && !old->sticky)
            continue;
        if (old->sticky && !m->sticky) {
            m->sticky = true;
            m->lb = at + old->lb;
            m->ub = at + old->ub;
        } else if (m->n == old->n && !m->sticky) {
            m->lb = at + old->lb;
            m->ub = at + old->ub;
        }
        if (at + old->lb < m->lb)
            m->lb = at + old->lb;
        if (at + old->ub > m->ub)
            m->ub = at + old->ub;
    }
    return true;
}

static void define_end(struct model *m)
{
    int64_t size = m->ub - m->lb;

    if (!m->sticky && m->n > 0 && size > 0 && size % m->align)
        m->ub += m->align - size % m->align;
}

/* ---- random constructors ---------------------------------------------- */

enum { PARTS = 6 };

static struct wf_ints ints_of(const int *a)
{
    return (struct wf_ints){a, sizeof *a};
}

static struct wf_ints view64(const MPI_Aint *a)
{
    return (struct wf_ints){a, sizeof *a};
}

static bool make_vector(struct model *m, const struct model *old, bool bytes)
{
    int64_t count = draw_between(0, 6), blk = draw_between(0, 4);
    int64_t stride = bytes ? draw_between(-40, 80) : draw_between(-3, 6);
    int64_t step = bytes ? stride : stride * extent_of(old);
    int rc;

    for (int64_t i = 0; i < count; i++)
        if (!define_add(m, i * step, blk, old))
            return false;
    if (bytes)
        rc = wf_mpi_type_create_hvector(&wf, count, blk, stride,
                                        wf_type_of(old->handle), &m->handle);
    else
        rc = wf_mpi_type_vector(&wf, count, blk, stride,
                                wf_type_of(old->handle), &m->handle);
    assert_int_equal(rc, MPI_SUCCESS);
    return true;
}

static bool make_contiguous(struct model *m, const struct model *old)
{
    int64_t count = draw_between(0, 20);

    if (!define_add(m, 0, count, old))
        return false;
    assert_int_equal(wf_mpi_type_contiguous(&wf, count,
                                            wf_type_of(old->handle),
                                            &m->handle),
                     MPI_SUCCESS);
    return true;
}

static bool make_indexed(struct model *m, const struct model *old, bool bytes)
{
    int count = (int)draw_between(0, PARTS), blk[PARTS], disp[PARTS], rc;
    MPI_Aint at[PARTS];

    for (int i = 0; i < count; i++) {
        blk[i] = (int)draw_between(0, 4);
        disp[i] = (int)draw_between(-8, 8);
        at[i] = bytes ? draw_between(-60, 60) : disp[i] * extent_of(old);
        if (!define_add(m, at[i], blk[i], old))
            return false;
    }
    if (bytes)
        rc = wf_mpi_type_create_hindexed(&wf, count, ints_of(blk), view64(at),
                                         wf_type_of(old->handle), &m->handle);
    else
        rc = wf_mpi_type_indexed(&wf, count, ints_of(blk), ints_of(disp),
                                 wf_type_of(old->handle), &m->handle);
    assert_int_equal(rc, MPI_SUCCESS);
    return true;
}

static bool make_indexed_block(struct model *m, const struct model *old,
                               bool bytes)
{
    int count = (int)draw_between(0, PARTS), blk = (int)draw_between(0, 3);
    int disp[PARTS], rc, step = (int)draw_between(-4, 6);
    bool regular = draw_between(0, 1);
    MPI_Aint at[PARTS];

    for (int i = 0; i < count; i++) {
        disp[i] = regular ? i * step : (int)draw_between(-8, 8);
        at[i] = bytes ? disp[i] * 5 : disp[i] * extent_of(old);
        if (!define_add(m, at[i], blk, old))
            return false;
    }
    if (bytes)
        rc = wf_mpi_type_create_hindexed_block(
            &wf, count, blk, view64(at), wf_type_of(old->handle), &m->handle);
    else
        rc = wf_mpi_type_create_indexed_block(&wf, count, blk, ints_of(disp),
                                              wf_type_of(old->handle),
                                              &m->handle);
    assert_int_equal(rc, MPI_SUCCESS);
    return true;
}

static bool make_struct(struct model *m, const struct model *pool, int npool)
{
    int count = (int)draw_between(0, PARTS), blk[PARTS];
    MPI_Datatype types[PARTS];
    MPI_Aint at[PARTS];

    for (int i = 0; i < count; i++) {
        const struct model *old = &pool[draw_between(0, npool - 1)];

        blk[i] = (int)draw_between(0, 3);
        at[i] = draw_between(-100, 200);
        types[i] = old->handle;
        if (!define_add(m, at[i], blk[i], old))
            return false;
    }
    assert_int_equal(wf_mpi_type_create_struct(&wf, count, ints_of(blk),
                                               view64(at), types, &m->handle),
                     MPI_SUCCESS);
    return true;
}

static bool make_resized(struct model *m, const struct model *old)
{
    int64_t lb = draw_between(-20, 20), size = draw_between(-10, 120);

    if (!define_add(m, 0, 1, old))
        return false;
    m->sticky = true;
    m->lb = lb;
    m->ub = lb + size;
    assert_int_equal(wf_mpi_type_create_resized(&wf, wf_type_of(old->handle),
                                                lb, size, &m->handle),
                     MPI_SUCCESS);
    return true;
}

static bool make_dup(struct model *m, const struct model *old)
{
    if (!define_add(m, 0, 1, old))
        return false;
    assert_int_equal(
        wf_mpi_type_dup(&wf, wf_type_of(old->handle), &m->handle), MPI_SUCCESS);
    return true;
}

static bool make_subarray(struct model *m, const struct model *old)
{
    int sizes[3], subs[3], starts[3], n = (int)draw_between(1, 3);
    bool fortran = draw_between(0, 1);
    int64_t full = extent_of(old), total = 1, index[3] = {0};

    for (int d = 0; d < n; d++) {
        sizes[d] = (int)draw_between(1, 6);
        subs[d] = (int)draw_between(1, sizes[d]);
        starts[d] = (int)draw_between(0, sizes[d] - subs[d]);
        full *= sizes[d];
        total *= subs[d];
    }
    for (int64_t i = 0; i < total; i++) {
        int64_t at = 0;

        for (int k = 0; k < n; k++) { /* slowest dimension first */
            int d = fortran ? n - 1 - k : k;
            at = at * sizes[d] + starts[d] + index[d];
        }
        if (!define_add(m, at * extent_of(old), 1, old))
            return false;
        for (int k = 0; k < n; k++) { /* fastest dimension first */
            int d = fortran ? k : n - 1 - k;
            if (++index[d] < subs[d])
                break;
            index[d] = 0;
        }
    }
    m->sticky = true;
    m->lb = 0;
    m->ub = full;
    assert_int_equal(wf_mpi_type_create_subarray(
                         &wf, n, ints_of(sizes), ints_of(subs), ints_of(starts),
                         fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C,
                         wf_type_of(old->handle), &m->handle),
                     MPI_SUCCESS);
    return true;
}

/* A new random type over the pool. */
static void make_any(struct model *m, const struct model *pool, int npool)
{
    for (;;) {
        const struct model *old = &pool[draw_between(0, npool - 1)];
        bool ok = false;

        define_start(m);
        switch (draw_between(0, 10)) {
        case 0: ok = make_contiguous(m, old); break;
        case 1: ok = make_vector(m, old, false); break;
        case 2: ok = make_vector(m, old, true); break;
        case 3: ok = make_indexed(m, old, false); break;
        case 4: ok = make_indexed(m, old, true); break;
        case 5: ok = make_indexed_block(m, old, false); break;
        case 6: ok = make_indexed_block(m, old, true); break;
        case 7: ok = make_struct(m, pool, npool); break;
        case 8: ok = make_resized(m, old); break;
        case 9: ok = make_dup(m, old); break;
        case 10: ok = make_subarray(m, old); break;
        }
        if (ok)
            break;
        free(m->map);
    }
    define_end(m);
    assert_int_equal(wf_mpi_type_commit(&wf, &m->handle), MPI_SUCCESS);
}

#endif

/* Random layouts of elements of one basic type, and a model of them: arrays
 * that are packed out of the memory, and unpacked into a copy of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_RMA_LAYOUTS_H
#define WF_TEST_RMA_LAYOUTS_H

#include "rma_rig.h"

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "process/rank.h"
#include "rma/elements.h"

enum { ELEMENTS = 300, ROOM = 48 << 10 };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static uint64_t seed = 88172645463325252u;

static int64_t draw_between(int64_t low, int64_t high)
{
    return low + (int64_t)(rig_random(&seed) % (uint64_t)(high - low + 1));
}

/* Bytes that are finite numbers whatever they are taken for. */
static void fill_bytes(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(rig_random(&seed) % 64);
}

/* ---- random layouts ------------------------------------------------------ */

/* A side of `elements` elements of a basic type, within `room` bytes at `at`,
 * no two of them in one place. */
struct drawn_side {
    struct wf_rma_side side;
    MPI_Datatype made;
};

static MPI_Datatype draw_indexed(const struct wf_type *basic, int n, bool bytes,
                                 int64_t *span)
{
    enum { PARTS = 40 };
    int parts = (int)draw_between(1, n < PARTS ? n : PARTS), lengths[PARTS];
    MPI_Aint disps[PARTS], at = 0;
    MPI_Datatype made;

    for (int i = 0; i < parts; i++) {
        lengths[i] = i == parts - 1 ? n : 1;
        n -= lengths[i];
        disps[i] = at;
        at += lengths[i] * basic->extent;
        at += bytes ? draw_between(0, 7) : draw_between(0, 2) * basic->extent;
    }
    *span = at + basic->extent;
    assert_int_equal(
        wf_mpi_type_create_hindexed(
            &wf, parts, (struct wf_ints){lengths, sizeof *lengths},
            (struct wf_ints){disps, sizeof *disps},
            (struct wf_type *)(uintptr_t)basic, &made),
        MPI_SUCCESS);
    return made;
}

static MPI_Datatype draw_vector(const struct wf_type *basic, int n, bool bytes,
                                int64_t *span)
{
    int64_t stride = basic->extent * draw_between(1, 3);
    MPI_Datatype made;

    stride += bytes ? draw_between(0, 7) : 0;
    *span = stride * n;
    if (draw_between(0, 1)) /* backwards, and a place before its address */
        stride = -stride;
    assert_int_equal(wf_mpi_type_create_hvector(
                         &wf, n, 1, stride, (struct wf_type *)(uintptr_t)basic,
                         &made),
                     MPI_SUCCESS);
    return made;
}

static MPI_Datatype draw_struct(const struct wf_type *basic, int n,
                                int64_t *span)
{
    int lengths[2] = {n / 2, n - n / 2};
    MPI_Aint disps[2] = {(n - n / 2 + 3) * basic->extent, 0};
    MPI_Datatype types[2], made;

    types[0] = types[1] = wf_type_handle((struct wf_type *)(uintptr_t)basic);
    *span = (n + 3) * basic->extent;
    assert_int_equal(wf_mpi_type_create_struct(
                         &wf, 2, (struct wf_ints){lengths, sizeof *lengths},
                         (struct wf_ints){disps, sizeof *disps}, types, &made),
                     MPI_SUCCESS);
    return made;
}

static void draw_side(struct drawn_side *d, char *memory, int n,
                      const struct wf_type *basic)
{
    bool bytes = draw_between(0, 2) == 0;
    int64_t span = n * basic->extent;
    struct wf_type *t;

    memory += 1024 + draw_between(0, 500) * 16;
    memory += draw_between(0, 3) == 0 ? draw_between(1, 15) : 0;
    d->made = MPI_DATATYPE_NULL;
    d->side = (struct wf_rma_side){memory,
                                   (struct wf_type *)(uintptr_t)basic,
                                   (uint64_t)n};
    switch (draw_between(0, 4)) {
    case 0:
        return;
    case 1:
        d->made = draw_indexed(basic, n, bytes, &span);
        break;
    case 2:
        d->made = draw_vector(basic, n, bytes, &span);
        break;
    case 3:
        d->made = draw_struct(basic, n, &span);
        break;
    default:
        assert_int_equal(wf_mpi_type_contiguous(
                             &wf, n, (struct wf_type *)(uintptr_t)basic,
                             &d->made),
                         MPI_SUCCESS);
    }
    wf_mpi_type_commit(&wf, &d->made);
    t = wf_type_of(d->made);
    assert_true(span < ROOM - 10000);
    d->side.type = t;
    d->side.count = 1;
    d->side.buf = memory + (t->true_lb < 0 ? -t->true_lb : 0);
}

static void free_side(struct drawn_side *d)
{
    if (d->made != MPI_DATATYPE_NULL)
        wf_mpi_type_free(&wf, &d->made);
}

/* ---- model --------------------------------------------------------------- */

static char packed[ROOM];

static void to_array(const struct wf_rma_side *s, const struct wf_type *basic,
                     void *array, int n)
{
    uint64_t bytes = (uint64_t)(n * basic->size);

    wf_type_pack(s->type, s->buf, s->count, 0, packed, bytes);
    wf_type_unpack(basic, array, (uint64_t)n, 0, packed, bytes);
}

/* Writes an array to the place of a side in another copy of its memory. */
static void from_array(const struct wf_rma_side *s, const struct wf_type *basic,
                       const void *array, int n, ptrdiff_t other)
{
    uint64_t bytes = (uint64_t)(n * basic->size);

    wf_type_pack(basic, array, (uint64_t)n, 0, packed, bytes);
    wf_type_unpack(s->type, (char *)s->buf + other, s->count, 0, packed, bytes);
}

static _Alignas(64) char origin_memory[ROOM], window_model[ROOM];
static _Alignas(64) char origin_array[ELEMENTS * 32];

#endif

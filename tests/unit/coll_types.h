/* Types and operations for testing collectives.
 *
 * Types are lists of 4-byte pieces; operations are a sum and the composition
 * of affine maps, which is associative and does not commute.
 *
 * Included by coll_world.h; defines the functions it fakes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_COLL_TYPES_H
#define WF_TEST_COLL_TYPES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll/coll.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "report/error.h"

/* ---- types --------------------------------------------------------------- */

struct pieces {
    int n;
    int64_t at[4];
};

static struct pieces two_pieces = {2, {0, 4}};
static struct pieces gap_pieces = {2, {8, -4}};

static struct wf_type byte_type = {.flags = WF_TYPE_PREDEFINED | WF_TYPE_CONTIG,
                                   .size = 1, .extent = 1, .true_extent = 1};
static struct wf_type pair_type = {.flags = WF_TYPE_CONTIG, .size = 8,
                                   .extent = 8, .true_extent = 8,
                                   .object = {0, 1},
                                   .priv = (void *)&two_pieces};
/* two words out of order, with holes around and between, and lb < 0 */
static struct wf_type gap_type = {.size = 8, .lb = -8, .extent = 24,
                                  .true_lb = -4, .true_extent = 16,
                                  .object = {0, 1},
                                  .priv = (void *)&gap_pieces};

void wf_type_get(struct wf_type *t)
{
    t->object.refs++;
}

void wf_type_put(struct wf_type *t)
{
    assert_true(t->object.refs > 1);
    t->object.refs--;
}

struct wf_type *wf_type_of(MPI_Datatype handle)
{
    return handle == MPI_BYTE ? &byte_type
           : handle == MPI_DATATYPE_NULL ? NULL
                                         : (struct wf_type *)handle;
}

bool wf_type_reach(const struct wf_type *t, uint64_t count, int64_t *low,
                   int64_t *high)
{
    assert_true(t->extent >= 0);
    *low = count ? t->true_lb : 0;
    *high = count ? t->true_lb + t->true_extent +
                    (int64_t)(count - 1) * t->extent : 0;
    return true;
}

static char *piece_at(const struct wf_type *t, const void *buf, uint64_t word)
{
    const struct pieces *p = (const struct pieces *)t->priv;
    char *base = (char *)(uintptr_t)buf;

    return base + (int64_t)(word / (unsigned)p->n) * t->extent +
           p->at[word % (unsigned)p->n];
}

static void gather_bytes(const struct wf_type *t, const void *buf,
                         uint64_t bytes, char *out)
{
    if (!t->priv) {
        if (bytes)
            memcpy(out, buf, bytes);
        return;
    }
    assert_int_equal(bytes % 4, 0);
    for (uint64_t i = 0; i < bytes / 4; i++)
        memcpy(out + 4 * i, piece_at(t, buf, i), 4);
}

static void scatter_bytes(const struct wf_type *t, void *buf, uint64_t bytes,
                          const char *in)
{
    if (!t->priv) {
        if (bytes)
            memcpy(buf, in, bytes);
        return;
    }
    assert_int_equal(bytes % 4, 0);
    for (uint64_t i = 0; i < bytes / 4; i++)
        memcpy(piece_at(t, buf, i), in + 4 * i, 4);
}

int wf_type_copy(const struct wf_type *stype, const void *src, uint64_t scount,
                 const struct wf_type *dtype, void *dst, uint64_t dcount)
{
    uint64_t s = scount * (uint64_t)stype->size;
    uint64_t d = dcount * (uint64_t)dtype->size;
    uint64_t n = s < d ? s : d;
    char *packed = malloc(n + 1);

    gather_bytes(stype, src, n, packed);
    scatter_bytes(dtype, dst, n, packed);
    free(packed);
    return s > d ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

/* Only teams move parts of a block (coll/shm/shmcoll.h), and here are none. */
void wf_type_pack(const struct wf_type *t, const void *buf, uint64_t count,
                  uint64_t off, void *out, uint64_t n)
{
    (void)t, (void)buf, (void)count, (void)off, (void)out, (void)n;
    fail();
}

void wf_type_unpack(const struct wf_type *t, void *buf, uint64_t count,
                    uint64_t off, const void *in, uint64_t n)
{
    (void)t, (void)buf, (void)count, (void)off, (void)in, (void)n;
    fail();
}

/* ---- operations ---------------------------------------------------------- */

static struct wf_op sum_op = {.object = {0, 1}, .predefined = 1,
                              .commutes = true};
static struct wf_op compose_op = {.object = {0, 1}};
static struct wf_op bad_op = {.object = {0, 1}};

void wf_op_get(struct wf_op *op)
{
    op->object.refs++;
}

void wf_op_put(struct wf_op *op)
{
    assert_true(op->object.refs > 1);
    op->object.refs--;
}

int wf_op_check(const struct wf_op *op, const struct wf_type *t,
                const struct wf_instance *wf)
{
    return op == &bad_op ? wf_error(MPI_ERR_OP, "bad op") : MPI_SUCCESS;
}

/* hi = lo op hi, on pairs */
static void combine_pair(const struct wf_op *op, const uint32_t lo[2],
                         uint32_t hi[2])
{
    if (op == &sum_op) {
        hi[0] += lo[0];
        hi[1] += lo[1];
    } else {
        uint32_t a = lo[0] * hi[0], b = lo[0] * hi[1] + lo[1];
        hi[0] = a;
        hi[1] = b;
    }
}

int wf_op_apply(struct wf_instance *wf, struct wf_op *op, const void *in,
                void *inout, uint64_t count, struct wf_type *t)
{
    assert_ptr_not_equal(in, inout);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t lo[2], hi[2];
        for (uint64_t k = 0; k < 2; k++) {
            memcpy(&lo[k], piece_at(t, in, 2 * i + k), 4);
            memcpy(&hi[k], piece_at(t, inout, 2 * i + k), 4);
        }
        combine_pair(op, lo, hi);
        for (uint64_t k = 0; k < 2; k++)
            memcpy(piece_at(t, inout, 2 * i + k), &hi[k], 4);
    }
    return MPI_SUCCESS;
}

#endif

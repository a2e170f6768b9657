/* These cases are placements of data that programs send, with loops that pack
 * and unpack them without datatypes.
 *
 * A loop gets its numbers at run time, as in a program that reads its input; it
 * copies short rows element by element and long ones by memcpy, whichever is
 * the faster.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PACK_CASES_H
#define PACK_CASES_H

#include "bench.h"

enum { PACK_DIMS = 4, SHORT_ROW = 8 };

enum pack_kind {
    VECTOR,  /* n[0] blocks of n[1] doubles, n[2] doubles apart */
    PIXELS,  /* n[0] times 3 bytes of 4 */
    RECORDS, /* n[0] structs {double, int, char} */
    BOX,     /* n[] doubles in the middle of an array of of[] doubles */
    INDEXED, /* n[0] blocks of n[1] doubles at listed places */
    MIXED,   /* n[0] blocks of 1 to 4 doubles at listed places */
    TRANSPOSE, /* the columns of a matrix of n[0] times n[0] doubles */
    FIELDS   /* of n[0] rows of 12 doubles: 0, 3 to 5 and 8 to 9, every second
                row */
};

struct record {
    double d;
    int i;
    char c;
};

struct pack_case {
    const char *name;
    enum pack_kind kind;
    int dims;           /* BOX */
    int n[PACK_DIMS];   /* BOX: the last index is the fastest */
    int of[PACK_DIMS];
};

static const struct pack_case pack_cases[] = {
    {"1-of-2-1K", VECTOR, 0, {128, 1, 2}, {0}},
    {"1-of-2-64K", VECTOR, 0, {8192, 1, 2}, {0}},
    {"2-of-4-64K", VECTOR, 0, {4096, 2, 4}, {0}},
    {"4-of-8-64K", VECTOR, 0, {2048, 4, 8}, {0}},
    {"128-of-256-64K", VECTOR, 0, {64, 128, 256}, {0}},
    {"1-of-16-4M", VECTOR, 0, {524288, 1, 16}, {0}},
    {"1024-of-2048-4M", VECTOR, 0, {512, 1024, 2048}, {0}},
    {"pixels-48K", PIXELS, 0, {16384}, {0}},
    {"records-832K", RECORDS, 0, {65536}, {0}},
    {"face-x-128K", BOX, 3, {128, 128, 1}, {128, 128, 128}},
    {"face-y-128K", BOX, 3, {128, 1, 128}, {128, 128, 128}},
    {"face-x2-4K", BOX, 3, {16, 16, 2}, {18, 18, 18}},
    {"box-2d-512K", BOX, 2, {256, 256}, {512, 512}},
    {"box-3d-2M", BOX, 3, {64, 64, 64}, {66, 66, 66}},
    {"box-4d-512K", BOX, 4, {16, 16, 16, 16}, {18, 18, 18, 18}},
    {"face-4d-128K", BOX, 4, {16, 16, 16, 4}, {18, 18, 18, 18}},
    {"indexed-1-128K", INDEXED, 0, {16384, 1}, {0}},
    {"indexed-3-48K", INDEXED, 0, {2048, 3}, {0}},
    {"mixed-160K", MIXED, 0, {8192}, {0}},
    {"transpose-2M", TRANSPOSE, 0, {512}, {0}},
    {"fields-96K", FIELDS, 0, {2048}, {0}},
};

/* A case has the memory that it needs. */
struct pack_data {
    const struct pack_case *c;
    char *user, *packed;
    size_t user_bytes, bytes;
    int *at, *length; /* INDEXED, MIXED: in doubles */
};

/* ---- making one ------------------------------------------------------- */

static inline size_t pack_volume(const int *n, int dims)
{
    size_t all = 1;

    for (int i = 0; i < dims; i++)
        all *= (size_t)n[i];
    return all;
}

/* Make compare_doubles places with gaps that no rule predicts. */
static inline void pack_places(struct pack_data *p)
{
    int n = p->c->n[0], at = 0;
    unsigned seed = 7;

    p->at = malloc((size_t)n * sizeof *p->at);
    p->length = malloc((size_t)n * sizeof *p->length);
    p->bytes = 0;
    for (int i = 0; i < n; i++) {
        seed = seed * 1103515245 + 12345;
        p->at[i] = at + (int)(seed >> 16) % 3;
        p->length[i] =
            p->c->kind == MIXED ? 1 + (int)(seed >> 20) % 4 : p->c->n[1];
        at = p->at[i] + p->length[i] + 1;
        p->bytes += (size_t)p->length[i] * sizeof(double);
    }
    p->user_bytes = (size_t)at * sizeof(double);
}

static inline void pack_sizes(struct pack_data *p)
{
    const int *n = p->c->n;
    size_t d = sizeof(double), rows = (size_t)n[0];

    switch (p->c->kind) {
    case VECTOR:
        p->bytes = rows * (size_t)n[1] * d;
        p->user_bytes = rows * (size_t)n[2] * d;
        return;
    case PIXELS:
        p->bytes = rows * 3;
        p->user_bytes = rows * 4;
        return;
    case RECORDS:
        p->bytes = rows * 13;
        p->user_bytes = rows * sizeof(struct record);
        return;
    case BOX:
        p->bytes = pack_volume(n, p->c->dims) * d;
        p->user_bytes = pack_volume(p->c->of, p->c->dims) * d;
        return;
    case TRANSPOSE:
        p->bytes = p->user_bytes = rows * rows * d;
        return;
    case FIELDS:
        p->bytes = rows * 6 * d;
        p->user_bytes = rows * 24 * d;
        return;
    default:
        pack_places(p);
    }
}

static inline struct pack_data pack_make(const char *name)
{
    struct pack_data p = {.c = NULL};

    for (size_t i = 0; i < sizeof pack_cases / sizeof *pack_cases; i++)
        if (strcmp(pack_cases[i].name, name) == 0)
            p.c = &pack_cases[i];
    if (p.c == NULL) {
        fprintf(stderr, "bench: no case is called %s\n", name);
        exit(2);
    }
    pack_sizes(&p);
    p.user = allocate_buffer(p.user_bytes);
    p.packed = allocate_buffer(p.bytes);
    return p;
}

/* ---- by hand ---------------------------------------------------------- */

static inline void row_out(double *restrict out, const double *restrict in,
                           int n)
{
    if (n > SHORT_ROW)
        memcpy(out, in, (size_t)n * sizeof *out);
    else
        for (int i = 0; i < n; i++)
            out[i] = in[i];
}

static inline void hand_vector(struct pack_data *p, int unpack)
{
    int n = p->c->n[0], block = p->c->n[1], stride = p->c->n[2];
    double *out = (double *)p->packed, *in = (double *)p->user;

    if (block == 1 && !unpack) {
        for (int i = 0; i < n; i++)
            out[i] = in[(long)i * stride];
    } else if (block == 1) {
        for (int i = 0; i < n; i++)
            in[(long)i * stride] = out[i];
    } else
        for (int i = 0; i < n; i++, out += block, in += stride)
            row_out(unpack ? in : out, unpack ? out : in, block);
}

static inline void hand_pixels(struct pack_data *p, int unpack)
{
    char *restrict a = p->packed, *restrict b = p->user;

    for (int i = 0; i < p->c->n[0]; i++, a += 3, b += 4)
        for (int j = 0; j < 3; j++)
            if (unpack)
                b[j] = a[j];
            else
                a[j] = b[j];
}

static inline void hand_records(struct pack_data *p, int unpack)
{
    struct record *r = (struct record *)p->user;
    char *at = p->packed;

    for (int i = 0; i < p->c->n[0]; i++, r++, at += 13)
        if (unpack) {
            memcpy(&r->d, at, 8);
            memcpy(&r->i, at + 8, 4);
            r->c = at[12];
        } else {
            memcpy(at, &r->d, 8);
            memcpy(at + 8, &r->i, 4);
            at[12] = r->c;
        }
}

static inline void hand_box(struct pack_data *p, int unpack)
{
    int n[PACK_DIMS] = {1, 1, 1, 1}, of[PACK_DIMS] = {1, 1, 1, 1};
    double *out = (double *)p->packed, *in = (double *)p->user;
    int skip = PACK_DIMS - p->c->dims;

    for (int i = 0; i < p->c->dims; i++) {
        n[skip + i] = p->c->n[i];
        of[skip + i] = p->c->of[i];
    }
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++)
            for (int k = 0; k < n[2]; k++, out += n[3]) {
                double *row =
                    in + (((long)i * of[1] + j) * of[2] + k) * of[3];
                row_out(unpack ? row : out, unpack ? out : row, n[3]);
            }
}

static inline void hand_indexed(struct pack_data *p, int unpack)
{
    double *out = (double *)p->packed, *in = (double *)p->user;
    const int *at = p->at, *length = p->length;
    int n = p->c->n[0];

    if (p->c->kind == INDEXED && p->c->n[1] == 1) {
        for (int i = 0; i < n; i++)
            if (unpack)
                in[at[i]] = out[i];
            else
                out[i] = in[at[i]];
        return;
    }
    for (int i = 0; i < n; i++, out += length[i - 1])
        row_out(unpack ? in + at[i] : out, unpack ? out : in + at[i],
                length[i]);
}

static inline void hand_transpose(struct pack_data *p, int unpack)
{
    double *restrict out = (double *)p->packed, *restrict in =
                                                    (double *)p->user;
    int n = p->c->n[0];

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (unpack)
                in[(long)j * n + i] = out[(long)i * n + j];
            else
                out[(long)i * n + j] = in[(long)j * n + i];
}

static inline void hand_fields(struct pack_data *p, int unpack)
{
    static const int which[6] = {0, 3, 4, 5, 8, 9};
    double *restrict out = (double *)p->packed, *restrict in =
                                                    (double *)p->user;

    for (int i = 0; i < p->c->n[0]; i++, out += 6, in += 24)
        for (int j = 0; j < 6; j++)
            if (unpack)
                in[which[j]] = out[j];
            else
                out[j] = in[which[j]];
}

static __attribute__((noinline)) void by_hand(struct pack_data *p, int unpack)
{
    switch (p->c->kind) {
    case VECTOR:
        hand_vector(p, unpack);
        return;
    case PIXELS:
        hand_pixels(p, unpack);
        return;
    case RECORDS:
        hand_records(p, unpack);
        return;
    case BOX:
        hand_box(p, unpack);
        return;
    case TRANSPOSE:
        hand_transpose(p, unpack);
        return;
    case FIELDS:
        hand_fields(p, unpack);
        return;
    default:
        hand_indexed(p, unpack);
    }
}

#endif

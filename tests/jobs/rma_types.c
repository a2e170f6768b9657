/* Accumulates of every predefined type and operation, aligned and not, have the
 * result that MPI_Reduce_local has. Displacement units differ among ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { ELEMENTS = 5, BYTES = 32 * ELEMENTS + 64 };

static _Thread_local int rank, size;

static MPI_Datatype types[] = {
    MPI_INT, MPI_LONG, MPI_SHORT, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR,
    MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_LONG_LONG,
    MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T,
    MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET,
    MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_BOOL, MPI_BYTE,
    MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_2INT, MPI_SHORT_INT,
    MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_LONG_DOUBLE_INT};
static MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN,    MPI_MAX,
                       MPI_BAND, MPI_BOR,  MPI_BXOR,   MPI_LAND,
                       MPI_LOR,  MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};

enum { TYPES = sizeof types / sizeof *types, OPS = sizeof ops / sizeof *ops };

/* Values that are valid in each type: small integers as their bytes lie, or
 * floating-point numbers. */
static void fill_values(char *at, MPI_Datatype t, int add)
{
    MPI_Aint lb, extent;

    memset(at, 0, BYTES);
    MPI_Type_get_extent(t, &lb, &extent);
    for (int i = 0; i < ELEMENTS; i++) {
        char *e = at + i * extent;
        if (t == MPI_FLOAT || t == MPI_C_FLOAT_COMPLEX || t == MPI_FLOAT_INT)
            *(float *)(void *)e = (float)(i + add);
        else if (t == MPI_DOUBLE || t == MPI_C_DOUBLE_COMPLEX ||
                 t == MPI_DOUBLE_INT)
            *(double *)(void *)e = i + add;
        else if (t == MPI_LONG_DOUBLE || t == MPI_LONG_DOUBLE_INT)
            *(long double *)(void *)e = i + add;
        else
            *e = t == MPI_C_BOOL ? (i + add) & 1 : (char)(i + add);
    }
}

/* Compares what the elements of a type hold: not the holes between. */
static int are_equal(const char *a, const char *b, MPI_Datatype t)
{
    char x[BYTES] = {0}, y[BYTES] = {0};
    int at = 0;

    MPI_Pack(a, ELEMENTS, t, x, BYTES, &at, MPI_COMM_SELF);
    at = 0;
    MPI_Pack(b, ELEMENTS, t, y, BYTES, &at, MPI_COMM_SELF);
    return !memcmp(x, y, BYTES);
}

static void check_type(MPI_Win win, MPI_Datatype t, MPI_Op op, int offset)
{
    _Alignas(32) char in[BYTES], old[BYTES], want[BYTES], now[BYTES];
    int to = (rank + 1) % size;

    fill_values(in, t, 2);
    fill_values(want, t, 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
    MPI_Put(want, ELEMENTS, t, to, offset, ELEMENTS, t, win);
    MPI_Win_flush(to, win);
    int rc = MPI_Get_accumulate(in, ELEMENTS, t, old, ELEMENTS, t, to, offset,
                                ELEMENTS, t, op, win);
    memset(now, 0, BYTES);
    MPI_Get_accumulate(NULL, 0, MPI_BYTE, now, ELEMENTS, t, to, offset,
                       ELEMENTS, t, MPI_NO_OP, win);
    CHECK(MPI_Win_unlock(to, win) == MPI_SUCCESS);
    if (rc) { /* not defined there, as Reduce_local says */
        CHECK(class_of(rc) == MPI_ERR_OP);
        CHECK(class_of(MPI_Reduce_local(in, want, ELEMENTS, t, op)) ==
              MPI_ERR_OP);
        return;
    }
    CHECK(are_equal(old, want, t));
    CHECK(MPI_Reduce_local(in, want, ELEMENTS, t, op) == MPI_SUCCESS);
    CHECK(are_equal(now, want, t));
}

/* Bases and units differ from rank to rank, and the origin's data lie at an
 * absolute address. */
static void check_units(void)
{
    int unit = 1 << (rank % 4), to = (rank + 1) % size;
    int there = 1 << (to % 4), from = (rank + size - 1) % size;
    char *base = calloc(64, 1);
    long value = 1234 + rank, in = 0;
    MPI_Datatype absolute;
    MPI_Aint at;
    MPI_Win win;
    int one = 1;

    MPI_Get_address(&value, &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_LONG, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Win_create(base, rank % 2 ? 64 : 32, unit, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    MPI_Put(MPI_BOTTOM, 1, absolute, to, 16 / there, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*(long *)(void *)(base + 16) == 1234 + from);
    MPI_Get(&in, 1, MPI_LONG, rank, 16 / unit, 1, MPI_LONG, win);
    CHECK((MPI_Put(&in, 1, MPI_LONG, to, 56 / there, 1, MPI_LONG, win) ==
           MPI_SUCCESS) == to % 2);
    MPI_Win_fence(0, win);
    CHECK(in == 1234 + from);
    MPI_Type_free(&absolute);
    MPI_Win_free(&win);
    free(base);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char *base;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Win_allocate(BYTES + 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < TYPES; i++)
        for (int k = 0; k < OPS; k++)
            check_type(win, types[i], ops[k], (i + k) % 2 ? 0 : 3);
    MPI_Win_free(&win);
    check_units();
    return job_end();
}

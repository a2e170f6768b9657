/* Each constructor of datatypes in its int and its large form makes the same
 * type: bounds, bytes and what is said about its making agree, as far as the
 * standard lets them, and what one packs the other unpacks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <stdint.h>

/* deprecated functions have to work, too */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { MOST = 3, PACKED = 4096, SPACE = 8192, ORIGIN = 4000 };

static const int ints[MOST] = {2, 1, 3}, places[MOST] = {0, 9, 4};
static const MPI_Aint bytes[MOST] = {0, 72, 32};
static const MPI_Count large_ints[MOST] = {2, 1, 3},
                       large_places[MOST] = {0, 9, 4},
                       large_bytes[MOST] = {0, 72, 32};
static MPI_Datatype inner; /* what the others are made of */

static int make_contiguous(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_contiguous_c(3, inner, t)
                 : MPI_Type_contiguous(3, inner, t);
}

static int make_vector(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_vector_c(3, 2, -4, inner, t)
                 : MPI_Type_vector(3, 2, -4, inner, t);
}

static int make_hvector(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_create_hvector_c(3, 2, 56, inner, t)
                 : MPI_Type_create_hvector(3, 2, 56, inner, t);
}

static int make_indexed(int large, MPI_Datatype *t)
{
    return large
               ? MPI_Type_indexed_c(MOST, large_ints, large_places, inner, t)
               : MPI_Type_indexed(MOST, ints, places, inner, t);
}

static int make_hindexed(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_create_hindexed_c(MOST, large_ints, large_bytes,
                                              inner, t)
                 : MPI_Type_create_hindexed(MOST, ints, bytes, inner, t);
}

static int indexed_block(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_create_indexed_block_c(MOST, 2, large_places,
                                                   inner, t)
                 : MPI_Type_create_indexed_block(MOST, 2, places, inner, t);
}

static int hindexed_block(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_create_hindexed_block_c(MOST, 1, large_bytes,
                                                    inner, t)
                 : MPI_Type_create_hindexed_block(MOST, 1, bytes, inner, t);
}

static int make_structure(int large, MPI_Datatype *t)
{
    MPI_Datatype types[MOST] = {inner, MPI_CHAR, MPI_DOUBLE};

    return large ? MPI_Type_create_struct_c(MOST, large_ints, large_bytes,
                                            types, t)
                 : MPI_Type_create_struct(MOST, ints, bytes, types, t);
}

static int make_subarray(int large, MPI_Datatype *t)
{
    static const int sizes[] = {4, 5}, part[] = {2, 3}, start[] = {1, 2};
    static const MPI_Count lsizes[] = {4, 5}, lpart[] = {2, 3},
                           lstart[] = {1, 2};

    return large ? MPI_Type_create_subarray_c(2, lsizes, lpart, lstart,
                                              MPI_ORDER_FORTRAN, inner, t)
                 : MPI_Type_create_subarray(2, sizes, part, start,
                                            MPI_ORDER_FORTRAN, inner, t);
}

static int make_darray(int large, MPI_Datatype *t)
{
    static const int sizes[] = {7, 6}, grid[] = {2, 2},
                     args[] = {MPI_DISTRIBUTE_DFLT_DARG, 2},
                     how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    static const MPI_Count lsizes[] = {7, 6};

    return large ? MPI_Type_create_darray_c(4, 2, 2, lsizes, how, args, grid,
                                            MPI_ORDER_C, inner, t)
                 : MPI_Type_create_darray(4, 2, 2, sizes, how, args, grid,
                                          MPI_ORDER_C, inner, t);
}

static int make_resized(int large, MPI_Datatype *t)
{
    return large ? MPI_Type_create_resized_c(inner, -8, 40, t)
                 : MPI_Type_create_resized(inner, -8, 40, t);
}

static const struct {
    const char *name;
    int (*make)(int large, MPI_Datatype *);
    int combiner;
} constructors[] = {
    {"contiguous", make_contiguous, MPI_COMBINER_CONTIGUOUS},
    {"vector", make_vector, MPI_COMBINER_VECTOR},
    {"hvector", make_hvector, MPI_COMBINER_HVECTOR},
    {"indexed", make_indexed, MPI_COMBINER_INDEXED},
    {"hindexed", make_hindexed, MPI_COMBINER_HINDEXED},
    {"indexed_block", indexed_block, MPI_COMBINER_INDEXED_BLOCK},
    {"hindexed_block", hindexed_block, MPI_COMBINER_HINDEXED_BLOCK},
    {"struct", make_structure, MPI_COMBINER_STRUCT},
    {"subarray", make_subarray, MPI_COMBINER_SUBARRAY},
    {"darray", make_darray, MPI_COMBINER_DARRAY},
    {"resized", make_resized, MPI_COMBINER_RESIZED},
};
enum { CONSTRUCTORS = sizeof constructors / sizeof *constructors };

/* ---- what it is ---------------------------------------------------------- */

static void same_bounds(MPI_Datatype a, MPI_Datatype b)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count c[4];
    int size;

    MPI_Type_get_extent(a, &lb, &extent);
    MPI_Type_get_true_extent(a, &true_lb, &true_extent);
    MPI_Type_size(a, &size);
    MPI_Type_get_extent_c(b, &c[0], &c[1]);
    MPI_Type_get_true_extent_c(b, &c[2], &c[3]);
    CHECK(c[0] == lb && c[1] == extent);
    CHECK(c[2] == true_lb && c[3] == true_extent);
    MPI_Type_get_extent_x(a, &c[0], &c[1]);
    MPI_Type_get_true_extent_x(b, &c[2], &c[3]);
    CHECK(c[0] == lb && c[1] == extent);
    CHECK(c[2] == true_lb && c[3] == true_extent);
    MPI_Type_size_c(b, &c[0]);
    MPI_Type_size_x(b, &c[1]);
    CHECK(c[0] == size && c[1] == size);
}

/* ---- how it was made ----------------------------------------------------- */

struct contents {
    MPI_Count n[4]; /* integers, addresses, large counts, types */
    int combiner, integers[32];
    MPI_Aint addresses[8];
    MPI_Count large[32];
    MPI_Datatype types[8];
};

static struct contents contents_of(MPI_Datatype t)
{
    struct contents c = {.combiner = -1};

    CHECK(MPI_Type_get_envelope_c(t, &c.n[0], &c.n[1], &c.n[2], &c.n[3],
                                  &c.combiner) == MPI_SUCCESS);
    CHECK(MPI_Type_get_contents_c(t, c.n[0], c.n[1], c.n[2], c.n[3],
                                  c.integers, c.addresses, c.large,
                                  c.types) == MPI_SUCCESS);
    return c;
}

/* Those of a derived type are new handles, those of a predefined one itself. */
static void free_types(int n, MPI_Datatype *types)
{
    for (int i = 0; i < n; i++)
        if (types[i] == inner || (uintptr_t)types[i] > 0x3ff)
            MPI_Type_free(&types[i]);
}

static int64_t sum_of(const struct contents *c)
{
    int64_t sum = 0;

    for (int i = 0; i < c->n[0]; i++)
        sum += c->integers[i];
    for (int i = 0; i < c->n[1]; i++)
        sum += c->addresses[i];
    for (int i = 0; i < c->n[2]; i++)
        sum += c->large[i];
    return sum;
}

/* The int form of a question about an int type. */
static void old_contents(MPI_Datatype t, const struct contents *c)
{
    int ni, na, nt, combiner, integers[32];
    MPI_Datatype types[8];
    MPI_Aint addresses[8];

    CHECK(MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner) == MPI_SUCCESS);
    CHECK(ni == c->n[0] && na == c->n[1] && nt == c->n[3]);
    CHECK(combiner == c->combiner);
    CHECK(MPI_Type_get_contents(t, ni, na, nt, integers, addresses, types) ==
          MPI_SUCCESS);
    CHECK(!memcmp(integers, c->integers, sizeof(int) * (size_t)ni));
    CHECK(!memcmp(addresses, c->addresses, sizeof(MPI_Aint) * (size_t)na));
    free_types(nt, types);
}

/* Every number that was given comes back, whatever the array. */
static void same_making(MPI_Datatype a, MPI_Datatype b, int combiner)
{
    struct contents ca = contents_of(a), cb = contents_of(b);

    CHECK(ca.combiner == combiner && cb.combiner == combiner);
    CHECK(ca.n[2] == 0 && cb.n[2] > 0);
    CHECK(ca.n[0] + ca.n[1] == cb.n[0] + cb.n[1] + cb.n[2]);
    CHECK(ca.n[3] == cb.n[3]);
    CHECK(sum_of(&ca) == sum_of(&cb));
    old_contents(a, &ca);
    free_types((int)ca.n[3], ca.types);
    free_types((int)cb.n[3], cb.types);
}

/* ---- what it moves ------------------------------------------------------- */

static unsigned char from[SPACE], to[SPACE], again[SPACE];

static int pack_data(int large, MPI_Datatype t, char *packed, MPI_Count *size)
{
    int n = 0, rc;

    *size = 0;
    if (large)
        return MPI_Pack_c(from + ORIGIN, 2, t, packed, PACKED, size,
                          MPI_COMM_SELF);
    rc = MPI_Pack(from + ORIGIN, 2, t, packed, PACKED, &n, MPI_COMM_SELF);
    *size = n;
    return rc;
}

static void same_bytes(MPI_Datatype a, MPI_Datatype b)
{
    char packed[2][PACKED];
    MPI_Count n[2], at = 0, room;
    int position = 0, little_room;

    CHECK(pack_data(0, a, packed[0], &n[0]) == MPI_SUCCESS);
    CHECK(pack_data(1, b, packed[1], &n[1]) == MPI_SUCCESS);
    CHECK(n[0] == n[1] && !memcmp(packed[0], packed[1], (size_t)n[0]));
    MPI_Pack_size_c(2, a, MPI_COMM_SELF, &room);
    MPI_Pack_size(2, b, MPI_COMM_SELF, &little_room);
    CHECK(room >= n[0] && little_room == room);
    memset(to, 0, SPACE);
    memset(again, 0, SPACE);
    MPI_Unpack(packed[1], (int)n[1], &position, to + ORIGIN, 2, a,
               MPI_COMM_SELF);
    MPI_Unpack_c(packed[0], n[0], &at, again + ORIGIN, 2, b, MPI_COMM_SELF);
    CHECK(position == n[1] && at == n[0]);
    CHECK(!memcmp(to, again, SPACE));
}

static void same_external(MPI_Datatype a, MPI_Datatype b)
{
    char packed[2][PACKED];
    MPI_Aint room, little = 0, at = 0;
    MPI_Count large_room, large = 0, large_at = 0;

    MPI_Pack_external_size("external32", 2, a, &room);
    MPI_Pack_external_size_c("external32", 2, b, &large_room);
    CHECK(room == large_room);
    CHECK(MPI_Pack_external("external32", from + ORIGIN, 2, a, packed[0],
                            PACKED, &little) == MPI_SUCCESS);
    CHECK(MPI_Pack_external_c("external32", from + ORIGIN, 2, b, packed[1],
                              PACKED, &large) == MPI_SUCCESS);
    CHECK(little == large && !memcmp(packed[0], packed[1], (size_t)little));
    memset(to, 0, SPACE);
    memset(again, 0, SPACE);
    CHECK(MPI_Unpack_external("external32", packed[1], large, &at, to + ORIGIN,
                              2, a) == MPI_SUCCESS);
    CHECK(MPI_Unpack_external_c("external32", packed[0], little, &large_at,
                                again + ORIGIN, 2, b) == MPI_SUCCESS);
    CHECK(at == little && large_at == large && !memcmp(to, again, SPACE));
}

static void both_forms(int i)
{
    int before = job_failures;
    MPI_Datatype t[2];

    for (int large = 0; large < 2; large++) {
        CHECK(constructors[i].make(large, &t[large]) == MPI_SUCCESS);
        MPI_Type_commit(&t[large]);
    }
    same_bounds(t[0], t[1]);
    same_making(t[0], t[1], constructors[i].combiner);
    same_bytes(t[0], t[1]);
    same_external(t[0], t[1]);
    MPI_Type_free(&t[0]);
    MPI_Type_free(&t[1]);
    if (job_failures > before)
        fprintf(stderr, "that was %s\n", constructors[i].name);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    for (int i = 0; i < SPACE; i++)
        from[i] = (unsigned char)(i * 7 + i / 251);
    inner = MPI_INT;
    for (int i = 0; i < CONSTRUCTORS; i++)
        both_forms(i);
    MPI_Type_create_resized(MPI_SHORT, 0, 8, &inner);
    for (int i = 0; i < CONSTRUCTORS; i++)
        both_forms(i);
    MPI_Type_free(&inner);
    return job_end();
}

/* MPI_Comm_split and split_type make the groups the standard says, and the
 * new communicators do not hear one another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static void colors_and_keys(void)
{
    int r = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    MPI_Comm c;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, r % 2, -r, &c) == MPI_SUCCESS);
    CHECK(size_of(c) == (n + 1 - r % 2) / 2);
    CHECK(rank_in(c) == size_of(c) - 1 - r / 2); /* keys turn the order */
    check_talks(c);
    MPI_Comm_free(&c);
    CHECK(c == MPI_COMM_NULL);
}

static void equal_keys_keep_order(void)
{
    MPI_Comm c;
    int result;
    MPI_Comm_split(MPI_COMM_WORLD, 7, 0, &c);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&c);
}

static void undefined_is_left_out(void)
{
    MPI_Comm c;
    int r = rank_in(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, r == 0 ? MPI_UNDEFINED : 1, 0, &c);
    CHECK((c == MPI_COMM_NULL) == (r == 0));
    if (c != MPI_COMM_NULL) {
        CHECK(size_of(c) == size_of(MPI_COMM_WORLD) - 1);
        check_talks(c);
        MPI_Comm_free(&c);
    }
}

static void by_type(void)
{
    MPI_Comm c, d;
    MPI_Info info;
    int result;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &c);
    check_talks(c);
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &d);
    CHECK(d == MPI_COMM_NULL);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &d);
    MPI_Comm_compare(c, d, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&d);
    MPI_Info_free(&info);
    MPI_Comm_split_type(c, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &d);
    CHECK(d == MPI_COMM_NULL);
    MPI_Comm_split_type(c, MPI_UNDEFINED, 0, MPI_INFO_NULL, &d);
    CHECK(d == MPI_COMM_NULL);
    MPI_Comm_free(&c);
}

/* The unguided split tells what it split by (MPI-5.0 s7.4.2). */
static void unguided_tells_its_resource(void)
{
    MPI_Comm c;
    MPI_Info info;
    char type[MPI_MAX_INFO_VAL] = "";
    int size = sizeof type, flag;
    MPI_Info_create(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &c);
    MPI_Info_get_string(info, "mpi_hw_resource_type", &size, type, &flag);
    CHECK(flag == (c != MPI_COMM_NULL));
    if (c != MPI_COMM_NULL) {
        CHECK(size_of(c) < size_of(MPI_COMM_WORLD));
        check_talks(c);
        MPI_Comm_free(&c);
    }
    MPI_Info_free(&info);
}

static void down_to_one(void)
{
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    while (size_of(c) > 1) {
        MPI_Comm half;
        MPI_Comm_split(c, 2 * rank_in(c) < size_of(c), rank_in(c), &half);
        CHECK(size_of(half) < size_of(c));
        check_talks(half);
        MPI_Comm_free(&c);
        c = half;
    }
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    colors_and_keys();
    equal_keys_keep_order();
    undefined_is_left_out();
    by_type();
    unguided_tells_its_resource();
    down_to_one();
    return job_end();
}

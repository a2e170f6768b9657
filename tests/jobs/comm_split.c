/* MPI_Comm_split and split_type make the groups the standard says, and the
 * new communicators do not hear one another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <sched.h>

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

/* Any member may stay out, which only it knows (MPI-5.0 s7.4.2). */
static void undefined_takes_part_in_an_unguided_split(void)
{
    MPI_Comm c;

    for (int out = 0; out < size_of(MPI_COMM_WORLD); out++) {
        int type = rank_in(MPI_COMM_WORLD) == out ? MPI_UNDEFINED
                                                  : MPI_COMM_TYPE_HW_UNGUIDED;
        MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &c);
        CHECK(type != MPI_UNDEFINED || c == MPI_COMM_NULL);
        if (c != MPI_COMM_NULL) {
            CHECK(size_of(c) < size_of(MPI_COMM_WORLD));
            check_talks(c);
            MPI_Comm_free(&c);
        }
    }
}

/* One that passes another type than the others is told, and so are they. */
static void different_types_are_an_error_for_all(void)
{
    MPI_Comm c;
    int rank = rank_in(MPI_COMM_WORLD);
    int wrong = size_of(MPI_COMM_WORLD) == 1 ? MPI_SUCCESS : MPI_ERR_ARG;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Comm_split_type(
              MPI_COMM_WORLD, rank ? MPI_COMM_TYPE_SHARED
                                   : MPI_COMM_TYPE_HW_GUIDED,
              0, MPI_INFO_NULL, &c)) == wrong);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int says_text(MPI_Info info, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL] = "";
    int size = sizeof value, flag;
    MPI_Info_get_string(info, key, &size, value, &flag);
    return flag && !strcmp(value, wanted);
}

/* Processes that bind themselves to one CPU are together with those on the
 * same CPU of the same node. */
static void bound_to_a_cpu(void)
{
    MPI_Comm c, node;
    MPI_Info info;
    cpu_set_t before, one;
    int cpu = -1, together = 0, *all;
    if (sched_getaffinity(0, sizeof before, &before))
        return; /* more CPUs than the set holds */
    for (int skip = rank_in(MPI_COMM_WORLD) % CPU_COUNT(&before); skip >= 0;)
        skip -= CPU_ISSET(++cpu, &before) != 0;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    all = malloc((size_t)size_of(node) * sizeof *all);
    MPI_Allgather(&cpu, 1, MPI_INT, all, 1, MPI_INT, node);
    for (int i = 0; i < size_of(node); i++)
        together += all[i] == cpu;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "weft://PU");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c);
    CHECK(c != MPI_COMM_NULL && size_of(c) == together);
    check_talks(c);
    MPI_Comm_free(&c);
    MPI_Info_free(&info);
    MPI_Get_hw_resource_info(&info);
    CHECK(says_text(info, "weft://PU", "true") &&
          says_text(info, "weft://Node", "true"));
    sched_setaffinity(0, sizeof before, &before);
    MPI_Info_free(&info);
    MPI_Get_hw_resource_info(&info);
    CHECK(says_text(info, "weft://PU",
                    CPU_COUNT(&before) > 1 ? "false" : "true"));
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
    free(all);
}

/* By process set, or by resource, but not by both at once. */
static void by_named_resource(void)
{
    MPI_Comm c;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info,
                        &c);
    CHECK(c != MPI_COMM_NULL && size_of(c) == 1);
    MPI_Comm_free(&c);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info,
                        &c);
    CHECK(c == MPI_COMM_NULL);
    MPI_Info_set(info, "mpi_hw_resource_type", "weft://Warp");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &c);
    CHECK(c == MPI_COMM_NULL);
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
    undefined_takes_part_in_an_unguided_split();
    different_types_are_an_error_for_all();
    bound_to_a_cpu();
    by_named_resource();
    down_to_one();
    return job_end();
}

/* Communicators of groups: MPI_Comm_create over disjoint groups, and
 * MPI_Comm_create_group, which only the members call.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static MPI_Group group_half(int upper)
{
    MPI_Group world, g;
    int n = size_of(MPI_COMM_WORLD);
    int range[1][3] = {{upper ? n / 2 : 0, upper ? n - 1 : n / 2 - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (range[0][0] > range[0][1])
        g = MPI_GROUP_EMPTY;
    else
        MPI_Group_range_incl(world, 1, range, &g);
    MPI_Group_free(&world);
    return g;
}

static void create_disjoint(void)
{
    MPI_Comm c;
    int upper = rank_in(MPI_COMM_WORLD) >= size_of(MPI_COMM_WORLD) / 2;
    MPI_Group g = group_half(upper), h;
    int result;
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, g, &c) == MPI_SUCCESS);
    MPI_Comm_group(c, &h);
    MPI_Group_compare(g, h, &result);
    CHECK(result == MPI_IDENT);
    check_talks(c);
    MPI_Group_free(&g);
    MPI_Group_free(&h);
    MPI_Comm_free(&c);
}

static void create_of_some(void)
{
    MPI_Comm c;
    int member = rank_in(MPI_COMM_WORLD) >= size_of(MPI_COMM_WORLD) / 2;
    MPI_Group g = group_half(1);
    MPI_Comm_create(MPI_COMM_WORLD, g, &c);
    CHECK((c != MPI_COMM_NULL) == member);
    if (c != MPI_COMM_NULL) {
        check_talks(c);
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&g);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &c);
    CHECK(c == MPI_COMM_NULL);
}

/* The lower half makes more of them than the upper one. */
static void create_group(void)
{
    int upper = rank_in(MPI_COMM_WORLD) >= size_of(MPI_COMM_WORLD) / 2;
    MPI_Group g = group_half(upper);
    for (int i = 0; i < (upper ? 50 : 200); i++) {
        MPI_Comm c;
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, g, i, &c) == MPI_SUCCESS);
        check_talks(c);
        MPI_Comm_free(&c);
    }
    MPI_Group_free(&g);
}

/* Wildcards of the program do not catch the library's messages. */
static void wildcards_stay_out(void)
{
    int x = 0, y = 7, n = size_of(MPI_COMM_WORLD);
    MPI_Comm c;
    MPI_Group g;
    MPI_Request q;
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Comm_create_group(MPI_COMM_WORLD, g, 3, &c);
    MPI_Send(&y, 1, MPI_INT, (rank_in(c) + 1) % n, 0, MPI_COMM_WORLD);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(x == 7);
    MPI_Group_free(&g);
    MPI_Comm_free(&c);
}

/* A group that is no part of the communicator is refused. */
static void foreign_group(void)
{
    MPI_Comm c;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (size_of(MPI_COMM_WORLD) > 1)
        CHECK(MPI_Comm_create(MPI_COMM_SELF, world, &c) == MPI_ERR_GROUP);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    create_disjoint();
    create_of_some();
    create_group();
    wildcards_stay_out();
    foreign_group();
    return job_end();
}

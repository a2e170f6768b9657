/* Intercommunicators: create, talk across, dup, split, create, merge. Needs two
 * ranks or more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static _Thread_local int upper;
static _Thread_local MPI_Comm mine; /* of this process's half */

static MPI_Comm make_bridge(int tag)
{
    MPI_Comm inter;
    int n = size_of(MPI_COMM_WORLD);
    int leader = size_of(mine) - 1;      /* the last of each half */
    int other = upper ? n / 2 - 1 : n - 1; /* as rank of the world */
    CHECK(MPI_Intercomm_create(mine, leader, MPI_COMM_WORLD, other, tag,
                               &inter) == MPI_SUCCESS);
    return inter;
}

/* Everybody sends its world rank to all of the remote group. */
static void check_across(MPI_Comm inter)
{
    int m, r = rank_in(MPI_COMM_WORLD);
    int n = size_of(MPI_COMM_WORLD);
    MPI_Comm_remote_size(inter, &m);
    for (int i = 0; i < m; i++) {
        int x = -1;
        MPI_Sendrecv(&r, 1, MPI_INT, i, 9, &x, 1, MPI_INT, i, 9, inter,
                     MPI_STATUS_IGNORE);
        CHECK(x >= 0 && x < n && (x >= n / 2) != upper);
    }
}

static void inquire_status(MPI_Comm inter)
{
    int flag, m, n = size_of(MPI_COMM_WORLD), result;
    MPI_Group g;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_test_inter(mine, &flag);
    CHECK(!flag);
    MPI_Comm_remote_size(inter, &m);
    CHECK(m == n - size_of(mine));
    MPI_Comm_remote_group(inter, &g);
    MPI_Group_size(g, &m);
    CHECK(m == n - size_of(mine));
    MPI_Group_free(&g);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNEQUAL);
}

static void check_dups(MPI_Comm inter)
{
    MPI_Comm a, b;
    MPI_Request q;
    int result, one = 1, sum = 0, m;
    MPI_Comm_dup(inter, &a);
    MPI_Comm_idup(inter, &b, &q);
    check_across(a);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    check_across(b);
    MPI_Comm_compare(a, b, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, b);
    MPI_Comm_remote_size(b, &m);
    CHECK(sum == m);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

/* The lower half comes first, whatever the ranks were. */
static void check_merges(MPI_Comm inter)
{
    MPI_Comm c;
    int result;
    MPI_Intercomm_merge(inter, upper, &c);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_CONGRUENT);
    check_talks(c);
    MPI_Comm_free(&c);
    MPI_Intercomm_merge(inter, !upper, &c);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_SIMILAR);
    CHECK((rank_in(c) < size_of(mine)) == upper ||
          size_of(MPI_COMM_WORLD) % 2);
    check_talks(c);
    MPI_Comm_free(&c);
    MPI_Intercomm_merge(inter, 1, &c);
    check_talks(c);
    MPI_Comm_free(&c);
}

static void check_parts(MPI_Comm inter)
{
    MPI_Comm c;
    MPI_Group local, one;
    int zero = 0, m, r = rank_in(inter);
    MPI_Comm_split(inter, r == 0 ? 5 : upper, 0, &c);
    CHECK((c != MPI_COMM_NULL) == (r == 0)); /* others have no counterpart */
    if (c != MPI_COMM_NULL) {
        MPI_Comm_remote_size(c, &m);
        CHECK(m == 1 && size_of(c) == 1);
        check_across(c);
        MPI_Comm_free(&c);
    }
    MPI_Comm_group(inter, &local);
    MPI_Group_incl(local, 1, &zero, &one);
    MPI_Comm_create(inter, one, &c);
    CHECK((c != MPI_COMM_NULL) == (r == 0));
    if (c != MPI_COMM_NULL) {
        check_across(c);
        MPI_Comm_free(&c);
    }
    MPI_Comm_create(inter, upper ? one : MPI_GROUP_EMPTY, &c);
    CHECK(c == MPI_COMM_NULL);
    MPI_Group_free(&local);
    MPI_Group_free(&one);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    MPI_Init(&argc, &argv);
    int n = size_of(MPI_COMM_WORLD);
    if (n > 1) {
        upper = rank_in(MPI_COMM_WORLD) >= n / 2;
        MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &mine);
        for (int turn = 0; turn < 20; turn++) {
            inter = make_bridge(turn);
            inquire_status(inter);
            check_across(inter);
            check_dups(inter);
            check_merges(inter);
            check_parts(inter);
            CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
        }
        MPI_Comm_free(&mine);
    }
    return job_end();
}

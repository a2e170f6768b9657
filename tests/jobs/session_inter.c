/* Intercommunicators from two groups of a session, without a bridge.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "session.h"

/* The processes of even, or odd, number in the set of all. */
static MPI_Group group_half(MPI_Group all, int odd)
{
    int n, range[1][3];
    MPI_Group g;
    MPI_Group_size(all, &n);
    range[0][0] = odd;
    range[0][1] = n - 1;
    range[0][2] = 2;
    MPI_Group_range_incl(all, 1, range, &g);
    return g;
}

static void both_sides_talk(MPI_Comm inter, int odd)
{
    int remote, sum = 0, one = 1, merged_size, local = size_of(inter);
    MPI_Comm merged;
    MPI_Comm_remote_size(inter, &remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote);
    MPI_Intercomm_merge(inter, odd, &merged);
    MPI_Comm_size(merged, &merged_size);
    CHECK(merged_size == local + remote);
    check_talks(merged);
    MPI_Comm_free(&merged);
}

static void make_and_use(MPI_Group all, int rank)
{
    int odd = rank % 2, n, own;
    MPI_Group mine = group_half(all, odd), theirs = group_half(all, !odd);
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Group_size(mine, &own);
    MPI_Group_size(theirs, &n);
    for (int last = 0; last < 2; last++) {
        CHECK(MPI_Intercomm_create_from_groups(
                  mine, last ? own - 1 : 0, theirs, last ? n - 1 : 0, "halves",
                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter) == MPI_SUCCESS);
        both_sides_talk(inter, odd);
        MPI_Comm_disconnect(&inter);
    }
    CHECK(MPI_Intercomm_create_from_groups(mine, 0, theirs, n, "wrong",
                                           MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                           &inter) != MPI_SUCCESS);
    CHECK(inter == MPI_COMM_NULL);
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
}

int main(void)
{
    MPI_Session s = session_open();
    MPI_Group all = session_group(s, "mpi://WORLD");
    int rank, size;
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &size);
    if (size > 1)
        make_and_use(all, rank);
    MPI_Group_free(&all);
    session_close(&s);
    return job_failures != 0;
}

/* Sessions beside the world model: before it, inside it, and after it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "session.h"

static void talk_in(MPI_Session s, const char *tag)
{
    MPI_Comm c = session_comm(s, "mpi://WORLD", tag);
    check_talks(c);
    MPI_Comm_disconnect(&c);
}

static void check_inside(MPI_Session before)
{
    MPI_Session s = session_open();
    MPI_Group world, set = session_group(s, "mpi://WORLD");
    MPI_Comm c;
    int same;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(world, set, &same);
    CHECK(same == MPI_IDENT);
    CHECK(MPI_Comm_create_from_group(world, "of the world", MPI_INFO_NULL,
                                     MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    check_talks(c);
    MPI_Comm_free(&c);
    MPI_Group_free(&world);
    MPI_Group_free(&set);
    talk_in(before, "inside");
    talk_in(s, "inside");
    check_talks(MPI_COMM_WORLD);
    session_close(&s);
    check_talks(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int flag;
    MPI_Session brief = session_open();
    session_close(&brief);
    MPI_Session long_one = session_open();
    talk_in(long_one, "before");
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Initialized(&flag);
    CHECK(flag);
    CHECK(MPI_Init(&argc, &argv) == MPI_ERR_OTHER);
    check_inside(long_one);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    talk_in(long_one, "after");
    session_close(&long_one);
    MPI_Session again = session_open();
    talk_in(again, "again");
    session_close(&again);
    return job_failures != 0;
}

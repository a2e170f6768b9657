/* Errors of calls without a communicator: MPI_COMM_SELF's handler gets them
 * (MPI-5.0 s9.3); MPI_COMM_WORLD's, as before MPI-4.0, when the program gave
 * none to MPI_COMM_SELF.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static int calls;

static void count_call(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF);
    CHECK(*code == MPI_ERR_TYPE);
    calls++;
}

static void fails_with(void)
{
    int size;
    CHECK(MPI_Type_size(MPI_DATATYPE_NULL, &size) == MPI_ERR_TYPE);
}

/* A call with a null handle has no communicator either. */
static void fails_without_communicator(void)
{
    CHECK(MPI_Barrier(MPI_COMM_NULL) == MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    MPI_Errhandler counting;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    fails_with();
    fails_without_communicator();
    MPI_Comm_create_errhandler(count_call, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
    fails_with();
    CHECK(calls == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    fails_with();
    CHECK(calls == 2);
    MPI_Errhandler_free(&counting);
    return job_end();
}

/* Handles as integers of Fortran, statuses in its form, and the other names
 * that C programs expect beyond the standard's ABI.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

static int failures, called;

static void expect_value(int so, const char *what)
{
    if (so)
        return;
    printf("not so: %s\n", what);
    failures++;
}

#define ROUND_TRIP(kind, handle)                                               \
    do {                                                                       \
        MPI_Fint number = MPI_##kind##_c2f(handle);                            \
        expect_value(MPI_##kind##_f2c(number) == (handle), #kind " " #handle); \
        expect_value(PMPI_##kind##_f2c(PMPI_##kind##_c2f(handle)) == (handle), \
                     "PMPI, " #kind " " #handle);                              \
    } while (0)

static void convert_handles(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    MPI_Info info;
    ROUND_TRIP(Comm, MPI_COMM_WORLD);
    ROUND_TRIP(Comm, MPI_COMM_NULL);
    ROUND_TRIP(Errhandler, MPI_ERRORS_RETURN);
    ROUND_TRIP(File, MPI_FILE_NULL);
    ROUND_TRIP(Group, MPI_GROUP_EMPTY);
    ROUND_TRIP(Info, MPI_INFO_ENV);
    ROUND_TRIP(Message, MPI_MESSAGE_NO_PROC);
    ROUND_TRIP(Op, MPI_SUM);
    ROUND_TRIP(Request, MPI_REQUEST_NULL);
    ROUND_TRIP(Session, MPI_SESSION_NULL);
    ROUND_TRIP(Type, MPI_DOUBLE);
    ROUND_TRIP(Win, MPI_WIN_NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Info_create(&info);
    ROUND_TRIP(Comm, comm);
    ROUND_TRIP(Group, group);
    ROUND_TRIP(Type, type);
    ROUND_TRIP(Info, info);
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void expect_status(const MPI_Status *s, const char *what)
{
    int count = -1;
    MPI_Get_count(s, MPI_INT, &count);
    expect_value(s->MPI_SOURCE == 0 && s->MPI_TAG == 9 && count == 2, what);
}

static void convert_statuses(void)
{
    MPI_Fint f[MPI_F_STATUS_SIZE], g[MPI_F_STATUS_SIZE];
    MPI_Status c, other;
    MPI_F08_status f08;
    int out[2] = {1, 2}, in[4];
    MPI_Sendrecv(out, 2, MPI_INT, 0, 9, in, 4, MPI_INT, 0, 9, MPI_COMM_SELF,
                 &c);
    expect_value(MPI_Status_c2f(&c, f) == MPI_SUCCESS, "MPI_Status_c2f");
    expect_value(f[MPI_F_SOURCE] == 0 && f[MPI_F_TAG] == 9, "Fortran's status");
    expect_value(MPI_Status_f2c(f, &other) == MPI_SUCCESS, "MPI_Status_f2c");
    expect_status(&other, "a status by way of Fortran");
    MPI_Status_c2f08(&c, &f08);
    MPI_Status_f082f(&f08, g);
    MPI_Status_f2f08(g, &f08);
    PMPI_Status_f082c(&f08, &other);
    expect_status(&other, "a status by way of Fortran 2008");
    expect_value(MPI_Status_c2f(MPI_STATUS_IGNORE, f) == MPI_ERR_ARG,
           "MPI_STATUS_IGNORE is no status");
}

static void note_call(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    called = *code;
}

static void name_error_handlers(void)
{
    MPI_Comm_errhandler_fn *fn = note_call;
    MPI_File_errhandler_fn *of_file = NULL;
    MPI_Win_errhandler_fn *of_win = NULL;
    MPI_Session_errhandler_fn *of_session = NULL;
    MPI_Errhandler handler;
    (void)of_file, (void)of_win, (void)of_session;
    MPI_Comm_create_errhandler(fn, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
    expect_value(called == MPI_ERR_OTHER, "the handler is called");
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    convert_handles();
    convert_statuses();
    name_error_handlers();
    MPI_Finalize();
    return failures != 0;
}

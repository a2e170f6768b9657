/* MPI_PROC_NULL as a partner (MPI-5.0 s3.10): the call returns at once, with
 * the status of nothing, also when the program has no datatype for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#define NOWHERE NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 7
#define WORLD MPI_COMM_WORLD

static void is_nothing(const MPI_Status *s)
{
    int n = -1;
    CHECK(s->MPI_SOURCE == MPI_PROC_NULL);
    CHECK(s->MPI_TAG == MPI_ANY_TAG);
    MPI_Get_count(s, MPI_INT, &n);
    CHECK(n == 0);
}

static void check_blocking(void)
{
    MPI_Status s;
    int x = 5;
    MPI_Send(NOWHERE, WORLD);
    MPI_Ssend(NOWHERE, WORLD);
    MPI_Rsend(NOWHERE, WORLD);
    MPI_Bsend(NOWHERE, WORLD);
    MPI_Recv(NOWHERE, WORLD, &s);
    is_nothing(&s);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD, &s);
    is_nothing(&s);
    CHECK(x == 5);
    MPI_Sendrecv(NOWHERE, NOWHERE, WORLD, &s);
    is_nothing(&s);
    MPI_Sendrecv_replace(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1,
                         MPI_PROC_NULL, 1, WORLD, &s);
    is_nothing(&s);
}

static void check_requests(void)
{
    MPI_Request r[5];
    MPI_Status s;
    MPI_Isend(NOWHERE, WORLD, &r[0]);
    MPI_Issend(NOWHERE, WORLD, &r[1]);
    MPI_Irecv(NOWHERE, WORLD, &r[2]);
    MPI_Isendrecv(NOWHERE, NOWHERE, WORLD, &r[3]);
    MPI_Recv_init(NOWHERE, WORLD, &r[4]);
    MPI_Start(&r[4]);
    MPI_Wait(&r[2], &s);
    is_nothing(&s);
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[4]);
}

static void check_probes(void)
{
    MPI_Message m = MPI_MESSAGE_NULL;
    MPI_Status s;
    int flag = 0;
    MPI_Probe(MPI_PROC_NULL, 3, WORLD, &s);
    is_nothing(&s);
    MPI_Iprobe(MPI_PROC_NULL, 3, WORLD, &flag, &s);
    CHECK(flag);
    is_nothing(&s);
    MPI_Mprobe(MPI_PROC_NULL, 3, WORLD, &m, &s);
    CHECK(m == MPI_MESSAGE_NO_PROC);
    is_nothing(&s);
    MPI_Mrecv(NULL, 0, MPI_INT, &m, &s);
    is_nothing(&s);
    CHECK(m == MPI_MESSAGE_NULL);
}

/* That nothing is sent makes nothing right. */
static void wrong_to_nobody(void)
{
    MPI_Request r;
    int x = 0;
    CHECK(MPI_Send(&x, -1, MPI_INT, MPI_PROC_NULL, 7, WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, -7, WORLD) == MPI_ERR_TAG);
    CHECK(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_NULL) ==
          MPI_ERR_COMM);
    CHECK(MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD, NULL) ==
          MPI_ERR_ARG);
    CHECK(MPI_Isend(NULL, 1, MPI_INT, MPI_PROC_NULL, 7, WORLD, &r) ==
          MPI_ERR_BUFFER);
    CHECK(MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_SELF, &r) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(r == MPI_REQUEST_NULL);
}

/* A real partner needs a real type. */
static void only_nowhere(void)
{
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, 0, 7, WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Send(NULL, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 7, WORLD) ==
          MPI_ERR_TYPE);
    wrong_to_nobody();
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
}

static void null_handles_have_names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int n;
    MPI_Comm_get_name(MPI_COMM_NULL, name, &n);
    CHECK(!strcmp(name, "MPI_COMM_NULL") && n == 13);
    MPI_Type_get_name(MPI_DATATYPE_NULL, name, &n);
    CHECK(!strcmp(name, "MPI_DATATYPE_NULL") && n == 17);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check_blocking();
    check_requests();
    check_probes();
    only_nowhere();
    null_handles_have_names();
    return job_end();
}

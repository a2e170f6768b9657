/* Messages of nothing: NULL is as good a place for them as any other, and a
 * message of something does not fit there.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <stdlib.h>

enum { TAG = 70 };

enum form { BLOCKING, STORED, POSTED, WILD, FORMS };

static const int sizes[] = {0, 1, 8, 40, 64, 1000, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static _Thread_local int to, from;

static int receive_nothing(enum form form, MPI_Status *s)
{
    MPI_Request r;

    if (form == BLOCKING || form == STORED)
        return MPI_Recv(NULL, 0, MPI_BYTE, from, TAG, MPI_COMM_WORLD, s);
    if (form == POSTED)
        MPI_Irecv(NULL, 0, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &r);
    else
        MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &r);
    return MPI_Wait(&r, s);
}

static void check_received(int rc, const MPI_Status *s, int sent)
{
    int class = MPI_SUCCESS, count = -1;

    if (rc)
        MPI_Error_class(rc, &class);
    CHECK(class == (sent ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    CHECK(s->MPI_SOURCE == from && s->MPI_TAG == TAG);
    MPI_Get_count(s, MPI_BYTE, &count);
    CHECK(sent || count == 0);
}

static void pass_on(enum form form, int size, void *data)
{
    MPI_Request r;
    MPI_Status s = {0};
    int rc;

    MPI_Isend(size ? data : NULL, size, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &r);
    if (form == STORED)
        MPI_Probe(from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rc = receive_nothing(form, &s);
    check_received(rc, &s, size);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* A window of them, as benchmarks send: in order, and none lost. */
static void pass_many(void)
{
    enum { MANY = 128 };
    MPI_Request r[MANY];

    for (int i = 0; i < MANY; i++)
        MPI_Irecv(NULL, 0, MPI_BYTE, from, TAG + i, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Send(NULL, 0, MPI_BYTE, to, TAG + i, MPI_COMM_WORLD);
    CHECK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

/* A type whose data lie before the buffer: there is nothing before NULL. */
static void pass_nothing_below(void)
{
    MPI_Aint below = -8;
    MPI_Datatype type;
    MPI_Request r[2];
    int one = 1;

    MPI_Type_create_hindexed(1, &one, &below, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(NULL, 0, type, from, TAG, MPI_COMM_WORLD, &r[0]);
        if (i == 0)
            MPI_Isend(NULL, 0, type, to, TAG, MPI_COMM_WORLD, &r[1]);
        else
            MPI_Issend(NULL, 0, type, to, TAG, MPI_COMM_WORLD, &r[1]);
        CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        MPI_Sendrecv(NULL, 0, type, to, TAG, NULL, 0, type, from, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    char *data = calloc(1, (size_t)sizes[SIZES - 1]);
    int rank, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    rank = rank_in(MPI_COMM_WORLD);
    to = (rank + 1) % n;
    from = (rank + n - 1) % n;
    for (int i = 0; i < SIZES; i++)
        for (enum form form = 0; form < FORMS; form++) {
            pass_on(form, sizes[i], data);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    pass_many();
    pass_nothing_below();
    MPI_Finalize();
    free(data);
    return 0;
}

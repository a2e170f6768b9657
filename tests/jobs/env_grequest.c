/* Generalized requests (MPI-5.0 s13.2): whose callbacks are called when, and
 * who hears what they return.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { SOURCE = 5, TAG = 6, COUNT = 7 };

/* The callbacks return this: MPI_SUCCESS, or an error. */
struct answers {
    int query, free, cancel;
};

static struct {
    struct answers say;
    int queries, frees, cancels, complete; /* as cancel was told */
} seen;

static int query_object(void *state, MPI_Status *status)
{
    CHECK(state == &seen);
    seen.queries++;
    MPI_Status_set_elements(status, MPI_INT, COUNT);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = SOURCE;
    status->MPI_TAG = TAG;
    return seen.say.query;
}

static int release_object(void *state)
{
    CHECK(state == &seen);
    seen.frees++;
    return seen.say.free;
}

static int cancel_request(void *state, int complete)
{
    CHECK(state == &seen);
    seen.cancels++;
    seen.complete = complete;
    return seen.say.cancel;
}

static MPI_Request start_case(struct answers say)
{
    MPI_Request r = MPI_REQUEST_NULL;

    memset(&seen, 0, sizeof seen);
    seen.say = say;
    CHECK(MPI_Grequest_start(query_object, release_object, cancel_request,
                             &seen, &r) == 0);
    return r;
}

static MPI_Request start_complete(struct answers say)
{
    MPI_Request r = start_case(say);

    CHECK(MPI_Grequest_complete(r) == MPI_SUCCESS);
    CHECK(seen.queries == 0 && seen.frees == 0);
    return r;
}

static void the_status_is_what_query_makes_it(void)
{
    MPI_Request r = start_case((struct answers){0});
    MPI_Status st = {.MPI_ERROR = 77};
    int flag = 1, n;

    CHECK(MPI_Test(&r, &flag, &st) == MPI_SUCCESS && !flag);
    CHECK(seen.queries == 0);
    CHECK(MPI_Grequest_complete(r) == MPI_SUCCESS);
    CHECK(MPI_Request_get_status(r, &flag, &st) == MPI_SUCCESS && flag);
    CHECK(seen.queries == 1 && seen.frees == 0);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS && r == MPI_REQUEST_NULL);
    CHECK(seen.queries == 2 && seen.frees == 1);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(st.MPI_SOURCE == SOURCE && st.MPI_TAG == TAG && n == COUNT);
    CHECK(st.MPI_ERROR == 77); /* not of one that is completed alone */
}

static void who_waits_hears_an_error_of_query(void)
{
    MPI_Request r = start_complete((struct answers){.query = MPI_ERR_BUFFER});

    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_ERR_BUFFER);
    CHECK(r == MPI_REQUEST_NULL && seen.frees == 1);
}

static void who_waits_hears_an_error_of_free(void)
{
    MPI_Request r = start_complete((struct answers){.free = MPI_ERR_OTHER});
    int flag = 0;

    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_ERR_OTHER);
    CHECK(r == MPI_REQUEST_NULL && seen.frees == 1);
    r = start_complete((struct answers){.free = MPI_ERR_OTHER});
    CHECK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE) == MPI_ERR_OTHER);
    CHECK(flag && r == MPI_REQUEST_NULL && seen.frees == 1);
}

/* Free is the last that is called. */
static void of_two_errors_that_of_free_counts(void)
{
    MPI_Request r = start_complete(
        (struct answers){.query = MPI_ERR_BUFFER, .free = MPI_ERR_OTHER});

    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_ERR_OTHER);
}

static void among_several_it_is_in_the_status(void)
{
    MPI_Request r[2];
    MPI_Status st[2];

    MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[0]);
    r[1] = start_complete((struct answers){.free = MPI_ERR_OTHER});
    CHECK(MPI_Waitall(2, r, st) == MPI_ERR_IN_STATUS);
    CHECK(st[0].MPI_ERROR == MPI_SUCCESS && st[1].MPI_ERROR == MPI_ERR_OTHER);
    CHECK(r[1] == MPI_REQUEST_NULL);
}

static void who_frees_a_complete_one_hears_it(void)
{
    MPI_Request r = start_complete((struct answers){.free = MPI_ERR_OTHER});

    CHECK(MPI_Request_free(&r) == MPI_ERR_OTHER && r == MPI_REQUEST_NULL);
    CHECK(seen.queries == 0 && seen.frees == 1);
}

static void one_that_was_freed_before_is_released_when_complete(void)
{
    MPI_Request r = start_case((struct answers){.free = MPI_ERR_OTHER}),
                copy = r;

    CHECK(MPI_Request_free(&r) == MPI_SUCCESS && seen.frees == 0);
    CHECK(MPI_Grequest_complete(copy) == MPI_ERR_OTHER);
    CHECK(seen.queries == 0 && seen.frees == 1);
}

static void cancel_is_told_whether_it_is_complete(void)
{
    MPI_Request r = start_case((struct answers){.cancel = MPI_ERR_BUFFER});

    CHECK(MPI_Cancel(&r) == MPI_ERR_BUFFER && !seen.complete);
    seen.say.cancel = MPI_SUCCESS;
    CHECK(MPI_Grequest_complete(r) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&r) == MPI_SUCCESS && seen.complete);
    CHECK(seen.cancels == 2);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    the_status_is_what_query_makes_it();
    who_waits_hears_an_error_of_query();
    who_waits_hears_an_error_of_free();
    of_two_errors_that_of_free_counts();
    among_several_it_is_in_the_status();
    who_frees_a_complete_one_hears_it();
    one_that_was_freed_before_is_released_when_complete();
    cancel_is_told_whether_it_is_complete();
    return job_end();
}

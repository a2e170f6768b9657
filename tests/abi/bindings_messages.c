/* The generated argument checks of what carries messages: point-to-point,
 * requests, collectives.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bindings_test.h"

#include "api/check.h"

#define INTER ((MPI_Comm)&job.inter)
#define PAIR ((MPI_Datatype)&job.pair)
#define RAW ((MPI_Datatype)&job.raw)
#define GROUP ((MPI_Group)&job.group4)
#define WORLD MPI_COMM_WORLD

static int buf[4];

/* ---- point-to-point ------------------------------------------------------ */

static void a_good_send_reaches_the_core_resolved(void **state)
{
    passed(MPI_Send(buf, 3, MPI_INT, 2, 7, WORLD), "send");
    assert_ptr_equal(last.wf, &job.wf);
    assert_int_equal(arg("buf"), (intptr_t)buf);
    assert_int_equal(arg("count"), 3);
    assert_int_equal(arg("datatype"), (intptr_t)&job.integer);
    assert_int_equal(arg("dest"), 2);
    assert_int_equal(arg("tag"), 7);
    assert_int_equal(arg("comm"), (intptr_t)&job.world);
    passed(MPI_Send_c(buf, 3000000000, PAIR, 2, 0, WORLD), "send");
    assert_int_equal(arg("count"), 3000000000);
}

static void ranks_are_held_against_the_communicator(void **state)
{
    refused(MPI_Send(buf, 1, MPI_INT, 7, 0, WORLD), MPI_ERR_RANK, "MPI_Send",
            "dest is 7 but communicator 'MPI_COMM_WORLD' has ranks 0..3 (or "
            "MPI_PROC_NULL)");
    refused(MPI_Send(buf, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD), MPI_ERR_RANK,
            "MPI_Send", "dest is -1");
    refused_on(&job.inter, MPI_Send(buf, 1, MPI_INT, 3, 0, INTER), MPI_ERR_RANK,
               "MPI_Send", "the communicator has remote ranks 0..2");
    refused(MPI_Recv(buf, 1, MPI_INT, 4, 0, WORLD, MPI_STATUS_IGNORE),
            MPI_ERR_RANK, "MPI_Recv", "MPI_ANY_SOURCE or MPI_PROC_NULL");
    passed(MPI_Recv(buf, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD,
                    MPI_STATUS_IGNORE),
           "recv");
}

static void tags_are_not_negative_but_for_the_wildcard(void **state)
{
    int flag;
    refused(MPI_Send(buf, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD), MPI_ERR_TAG,
            "MPI_Send", "tag is -2 but must be 0..2147483647");
    refused(MPI_Iprobe(0, -7, WORLD, &flag, MPI_STATUS_IGNORE), MPI_ERR_TAG,
            "MPI_Iprobe", "tag is -7");
    refused(MPI_Sendrecv(buf, 1, MPI_INT, 0, MPI_ANY_TAG, buf, 1, MPI_INT, 0, 0,
                         WORLD, MPI_STATUS_IGNORE),
            MPI_ERR_TAG, "MPI_Sendrecv", "sendtag is -2");
    passed(MPI_Sendrecv(buf, 1, MPI_INT, 0, 0, buf, 1, MPI_INT, 0, MPI_ANY_TAG,
                        WORLD, MPI_STATUS_IGNORE),
           "sendrecv");
}

static void a_count_that_overflowed_is_pointed_to_the_large_twin(void **state)
{
    refused(MPI_Send(buf, -5, MPI_INT, 0, 0, WORLD), MPI_ERR_COUNT, "MPI_Send",
            "count is -5 but must be 0..2147483647; if a larger number "
            "overflowed, use MPI_Send_c");
    refused(MPI_Send_c(buf, -5, MPI_INT, 0, 0, WORLD), MPI_ERR_COUNT,
            "MPI_Send_c", "count is -5 but must be 0 or more");
}

static void communicators_are_told_from_other_handles(void **state)
{
    refused_on(NULL, MPI_Send(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL),
               MPI_ERR_COMM, "MPI_Send", "comm is MPI_COMM_NULL");
    refused_on(NULL, MPI_Send(buf, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT),
               MPI_ERR_COMM, "MPI_Send", "a datatype and not a communicator");
    refused_on(NULL, MPI_Send(buf, 1, MPI_INT, 0, 0, (MPI_Comm)GROUP),
               MPI_ERR_COMM, "MPI_Send", "a group and not a communicator");
    refused_on(NULL, MPI_Barrier(NULL), MPI_ERR_COMM, "MPI_Barrier",
               "was it ever set?");
    job.inter.freed = true;
    refused_on(NULL, MPI_Barrier(INTER), MPI_ERR_COMM, "MPI_Barrier", "comm");
    job.inter.object.kind = WF_KIND_DEAD;
    refused_on(NULL, MPI_Barrier(INTER), MPI_ERR_COMM, "MPI_Barrier",
               "a freed object");
}

static void datatypes_must_be_committed_to_communicate(void **state)
{
    MPI_Datatype made;
    refused(MPI_Send(buf, 1, RAW, 0, 0, WORLD), MPI_ERR_TYPE, "MPI_Send",
            "call MPI_Type_commit first");
    refused(MPI_Send(buf, 1, MPI_DATATYPE_NULL, 0, 0, WORLD), MPI_ERR_TYPE,
            "MPI_Send", "datatype is MPI_DATATYPE_NULL");
    refused(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, WORLD,
                     MPI_STATUS_IGNORE),
            MPI_ERR_TYPE, "MPI_Recv", "datatype is MPI_DATATYPE_NULL");
    passed(MPI_Type_contiguous(2, RAW, &made), "type_contiguous");
}

static void a_null_buffer_is_refused_where_a_predefined_type_has_data(
    void **state)
{
    refused(MPI_Send(NULL, 1, MPI_INT, 0, 0, WORLD), MPI_ERR_BUFFER, "MPI_Send",
            "buf is NULL but 1 elements");
    refused(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, WORLD), MPI_ERR_BUFFER,
            "MPI_Send", "buf is MPI_IN_PLACE");
    passed(MPI_Send(NULL, 0, MPI_INT, 0, 0, WORLD), "send");
    passed(MPI_Send(MPI_BOTTOM, 1, PAIR, 0, 0, WORLD), "send");
}

static void out_pointers_must_point_somewhere_but_statuses_may_be_ignored(
    void **state)
{
    int n;
    refused(MPI_Isend(buf, 1, MPI_INT, 0, 0, WORLD, NULL), MPI_ERR_ARG,
            "MPI_Isend", "request is NULL");
    refused_on(NULL, MPI_Get_count(NULL, MPI_INT, &n), MPI_ERR_ARG,
               "MPI_Get_count", "status is NULL");
    passed(MPI_Probe(0, 0, WORLD, MPI_STATUS_IGNORE), "probe");
}

/* ---- requests ------------------------------------------------------------ */

static void requests_are_live_or_null(void **state)
{
    MPI_Request r[3] = {MPI_REQUEST_NULL, (MPI_Request)&job.request,
                        (MPI_Request)GROUP};
    int flag;
    passed(MPI_Wait(&r[0], MPI_STATUS_IGNORE), "wait");
    passed(MPI_Waitall(2, r, MPI_STATUSES_IGNORE), "waitall");
    passed(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE), "waitall");
    passed(MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE),
           "request_get_status");
    assert_int_equal(arg("request"), 0);
    memset(&last, 0, sizeof(last));
    refused_on(NULL, MPI_Waitall(3, r, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST,
               "MPI_Waitall", "array_of_requests[2] is");
    refused_on(NULL, MPI_Waitall(-1, r, MPI_STATUSES_IGNORE), MPI_ERR_COUNT,
               "MPI_Waitall", "count is -1 but must be 0 or more");
    refused_on(NULL, MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG,
               "MPI_Waitall", "array_of_requests is NULL");
    refused_on(NULL, MPI_Start(&r[0]), MPI_ERR_REQUEST, "MPI_Start",
               "MPI_REQUEST_NULL");
    refused_on(NULL, MPI_Request_free(&r[0]), MPI_ERR_REQUEST,
               "MPI_Request_free", "MPI_REQUEST_NULL");
}

static void a_message_handle_is_matched_or_of_no_process(void **state)
{
    MPI_Message m = MPI_MESSAGE_NO_PROC;
    passed(MPI_Mrecv(buf, 1, MPI_INT, &m, MPI_STATUS_IGNORE), "mrecv");
    memset(&last, 0, sizeof(last));
    m = MPI_MESSAGE_NULL;
    refused_on(NULL, MPI_Mrecv(buf, 1, MPI_INT, &m, MPI_STATUS_IGNORE),
               MPI_ERR_REQUEST, "MPI_Mrecv", "MPI_MESSAGE_NULL");
}

/* ---- collectives --------------------------------------------------------- */

static void arguments_of_the_root_are_read_at_the_root_only(void **state)
{
    passed(MPI_Gather(buf, 1, MPI_INT, NULL, -1, (MPI_Datatype)1, 0, WORLD),
           "gather");
    assert_int_equal(arg("recvtype"), 0);
    assert_int_equal(arg("sendtype"), (intptr_t)&job.integer);
    memset(&last, 0, sizeof(last));
    refused(MPI_Gather(buf, 1, MPI_INT, buf, -1, MPI_INT, 1, WORLD),
            MPI_ERR_COUNT, "MPI_Gather", "recvcount is -1");
    refused(MPI_Gather(buf, 1, MPI_INT, buf, 1, MPI_INT, 4, WORLD),
            MPI_ERR_ROOT, "MPI_Gather", "root is 4");
    refused(MPI_Gather(buf, 1, MPI_INT, buf, 1, MPI_INT, MPI_ROOT, WORLD),
            MPI_ERR_ROOT, "MPI_Gather", "root is -4");
}

static void intercommunicators_have_roots_of_their_own(void **state)
{
    passed(MPI_Bcast(NULL, -1, NULL, MPI_PROC_NULL, INTER), "bcast");
    passed(MPI_Bcast(buf, 1, MPI_INT, MPI_ROOT, INTER), "bcast");
    passed(MPI_Gather(NULL, -1, NULL, buf, 1, MPI_INT, MPI_ROOT, INTER),
           "gather");
    assert_int_equal(arg("sendtype"), 0);
    memset(&last, 0, sizeof(last));
    refused_on(&job.inter, MPI_Bcast(buf, -1, MPI_INT, 2, INTER), MPI_ERR_COUNT,
               "MPI_Bcast", "count is -1");
    refused_on(&job.inter, MPI_Bcast(buf, 1, MPI_INT, 3, INTER), MPI_ERR_ROOT,
               "MPI_Bcast", "(or MPI_ROOT or MPI_PROC_NULL)");
}

static void in_place_hides_what_it_replaces(void **state)
{
    passed(MPI_Allgather(MPI_IN_PLACE, -1, NULL, buf, 1, MPI_INT, WORLD),
           "allgather");
    assert_int_equal(arg("sendtype"), 0);
    passed(MPI_Gather(MPI_IN_PLACE, -1, NULL, buf, 1, MPI_INT, 1, WORLD),
           "gather");
    passed(MPI_Allreduce(MPI_IN_PLACE, buf, 1, MPI_INT, MPI_SUM, WORLD),
           "allreduce");
    assert_int_equal(arg("datatype"), (intptr_t)&job.integer);
    memset(&last, 0, sizeof(last));
    refused(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, buf, 1, MPI_INT, 0, WORLD),
            MPI_ERR_BUFFER, "MPI_Gather", "only the root may give here");
    refused_on(&job.inter,
               MPI_Allreduce(MPI_IN_PLACE, buf, 1, MPI_INT, MPI_SUM, INTER),
               MPI_ERR_BUFFER, "MPI_Allreduce", "intercommunicator");
    refused(MPI_Allreduce(buf, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, WORLD),
            MPI_ERR_BUFFER, "MPI_Allreduce", "recvbuf is MPI_IN_PLACE");
    refused(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 1, WORLD), MPI_ERR_BUFFER,
            "MPI_Bcast", "buffer is MPI_IN_PLACE");
}

static void count_arrays_are_views_of_the_callers_width(void **state)
{
    int narrow[4] = {1, 2, 3, 4}, displs[4] = {0, 1, 3, 6};
    MPI_Count wide[4] = {1, 2, 3, 4};
    MPI_Aint offsets[4] = {0, 1, 3, 6};
    passed(MPI_Allgatherv(buf, 1, MPI_INT, buf, narrow, displs, MPI_INT, WORLD),
           "allgatherv");
    assert_int_equal(arg("recvcounts"), (intptr_t)narrow);
    assert_int_equal(last.arg[4].width, 4);
    passed(MPI_Allgatherv_c(buf, 1, MPI_INT, buf, wide, offsets, MPI_INT,
                            WORLD),
           "allgatherv");
    assert_int_equal(last.arg[4].width, 8);
    memset(&last, 0, sizeof(last));
    narrow[3] = wide[2] = -1;
    refused(MPI_Allgatherv(buf, 1, MPI_INT, buf, narrow, displs, MPI_INT,
                           WORLD),
            MPI_ERR_COUNT, "MPI_Allgatherv",
            "recvcounts[3] is -1 but must be 0 or more");
    refused(MPI_Allgatherv_c(buf, 1, MPI_INT, buf, wide, offsets, MPI_INT,
                             WORLD),
            MPI_ERR_COUNT, "MPI_Allgatherv_c", "recvcounts[2] is -1");
    refused(MPI_Allgatherv(buf, 1, MPI_INT, buf, NULL, displs, MPI_INT, WORLD),
            MPI_ERR_ARG, "MPI_Allgatherv", "recvcounts is NULL");
}

static void type_arrays_are_checked_where_there_is_data(void **state)
{
    int counts[4] = {1, 0, 1, 1}, displs[4] = {0};
    MPI_Datatype types[4] = {MPI_INT, MPI_DATATYPE_NULL, PAIR, RAW};
    refused(MPI_Alltoallw(buf, counts, displs, types, buf, counts, displs,
                          types, WORLD),
            MPI_ERR_TYPE, "MPI_Alltoallw",
            "sendtypes[3] is not committed");
    counts[3] = 0;
    passed(MPI_Alltoallw(buf, counts, displs, types, buf, counts, displs, types,
                         WORLD),
           "alltoallw");
    passed(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, displs,
                         types, WORLD),
           "alltoallw");
}

static void operations_must_exist(void **state)
{
    refused(MPI_Allreduce(buf, buf, 1, MPI_INT, MPI_OP_NULL, WORLD), MPI_ERR_OP,
            "MPI_Allreduce", "op is MPI_OP_NULL");
    refused_on(NULL, MPI_Op_create(NULL, 1, (MPI_Op[1]){0}), MPI_ERR_ARG,
               "MPI_Op_create", "user_fn is NULL");
}

int bindings_messages(void)
{
    const struct CMUnitTest tests[] = {
        RULE(a_good_send_reaches_the_core_resolved),
        RULE(ranks_are_held_against_the_communicator),
        RULE(tags_are_not_negative_but_for_the_wildcard),
        RULE(a_count_that_overflowed_is_pointed_to_the_large_twin),
        RULE(communicators_are_told_from_other_handles),
        RULE(datatypes_must_be_committed_to_communicate),
        RULE(a_null_buffer_is_refused_where_a_predefined_type_has_data),
        RULE(out_pointers_must_point_somewhere_but_statuses_may_be_ignored),
        RULE(requests_are_live_or_null),
        RULE(a_message_handle_is_matched_or_of_no_process),
        RULE(arguments_of_the_root_are_read_at_the_root_only),
        RULE(intercommunicators_have_roots_of_their_own),
        RULE(in_place_hides_what_it_replaces),
        RULE(count_arrays_are_views_of_the_callers_width),
        RULE(type_arrays_are_checked_where_there_is_data),
        RULE(operations_must_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

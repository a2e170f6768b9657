/* The generated argument checks of what makes and asks objects: datatypes,
 * groups, communicators, info.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bindings_test.h"

#include "api/check.h"

#define INTER ((MPI_Comm)&job.inter)
#define INFO ((MPI_Info)&job.info)
#define GROUP ((MPI_Group)&job.group4)
#define WORLD MPI_COMM_WORLD

static int buf[4];

/* ---- datatypes ----------------------------------------------------------- */

static void results_too_large_for_int_are_undefined_or_refused(void **state)
{
    MPI_Status status = {0};
    MPI_Count large;
    int n = 0, position = 4;
    next_result = 5;
    passed(MPI_Get_count(&status, MPI_INT, &n), "get_count");
    assert_int_equal(n, 5);
    next_result = 3000000000;
    passed(MPI_Get_count(&status, MPI_INT, &n), "get_count");
    assert_int_equal(n, MPI_UNDEFINED);
    passed(MPI_Get_count_c(&status, MPI_INT, &large), "get_count");
    assert_int_equal(large, 3000000000);
    n = 17;
    assert_int_equal(MPI_Pack_size(1, MPI_INT, WORLD, &n),
                     MPI_ERR_VALUE_TOO_LARGE);
    assert_string_equal(raised.function, "MPI_Pack_size");
    assert_non_null(strstr(record.text, "use MPI_Pack_size_c"));
    assert_int_equal(n, 17);
    memset(&raised, 0, sizeof(raised));
    next_result = 8;
    passed(MPI_Pack(buf, 1, MPI_INT, buf, 16, &position, WORLD), "pack");
    assert_int_equal(arg("position"), 4);
    assert_int_equal(position, 8);
}

static void a_type_that_Fortran_lacks_has_no_size_and_no_other_use(void **state)
{
    int size = 0;
    refused(MPI_Send(buf, 1, MPI_REAL2, 0, 0, WORLD), MPI_ERR_TYPE, "MPI_Send",
            "datatype is a type that the Fortran compiler does not have");
    next_result = MPI_UNDEFINED;
    passed(MPI_Type_size(MPI_REAL2, &size), "type_size");
    assert_int_equal(size, MPI_UNDEFINED);
}

static void a_handler_for_what_is_made_gets_the_errors(void **state)
{
    MPI_Comm made;
    assert_int_equal(MPI_Comm_create_from_group((MPI_Group)&job.group4, "tag",
                                                MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, NULL),
                     MPI_ERR_ARG);
    assert_ptr_equal(raised.comm, &job.errhandler);
    memset(&raised, 0, sizeof(raised));
    assert_int_equal(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag",
                                                MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &made),
                     MPI_ERR_GROUP);
    assert_ptr_equal(raised.comm, &job.errhandler);
    memset(&raised, 0, sizeof(raised));
}

static void constructors_check_lengths_and_element_types(void **state)
{
    int blocks[2] = {1, -1};
    MPI_Aint displs[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_INT, MPI_DATATYPE_NULL}, made;
    refused_on(NULL, MPI_Type_create_struct(2, blocks, displs, types, &made),
               MPI_ERR_ARG, "MPI_Type_create_struct",
               "array_of_blocklengths[1] is -1 but must be 0 or more");
    blocks[1] = 1;
    refused_on(NULL, MPI_Type_create_struct(2, blocks, displs, types, &made),
               MPI_ERR_TYPE, "MPI_Type_create_struct",
               "array_of_types[1] is MPI_DATATYPE_NULL");
    refused_on(NULL, MPI_Type_vector(-1, 1, 1, MPI_INT, &made), MPI_ERR_COUNT,
               "MPI_Type_vector", "count is -1");
    passed(MPI_Type_vector(1, 1, -9, MPI_INT, &made), "type_vector");
    passed(MPI_Type_create_struct(0, NULL, NULL, NULL, &made),
           "type_create_struct");
}

/* ---- groups, communicators, info ----------------------------------------- */

static void ranks_of_groups_are_members(void **state)
{
    int ranks[2] = {3, 4}, out[2];
    MPI_Group made;
    refused_on(GROUP, MPI_Group_incl(GROUP, 2, ranks, &made), MPI_ERR_RANK,
               "MPI_Group_incl", "ranks[1] is 4 but must be 0..3");
    refused_on(GROUP, MPI_Group_incl(GROUP, -1, ranks, &made), MPI_ERR_ARG,
               "MPI_Group_incl", "n is -1");
    refused_on(NULL, MPI_Group_incl(MPI_GROUP_NULL, 1, ranks, &made),
               MPI_ERR_GROUP, "MPI_Group_incl", "group is MPI_GROUP_NULL");
    ranks[1] = MPI_PROC_NULL;
    passed(MPI_Group_translate_ranks(GROUP, 2, ranks, GROUP, out),
           "group_translate_ranks");
    memset(&last, 0, sizeof(last));
    refused_on(GROUP, MPI_Group_incl(GROUP, 2, ranks, &made), MPI_ERR_RANK,
               "MPI_Group_incl", "ranks[1] is -3");
}

static void the_peer_communicator_matters_at_the_leader_only(void **state)
{
    MPI_Comm made;
    passed(MPI_Intercomm_create(WORLD, 0, MPI_COMM_NULL, 99, 1, &made),
           "intercomm_create");
    memset(&last, 0, sizeof(last));
    refused(MPI_Intercomm_create(WORLD, 1, MPI_COMM_NULL, 0, 1, &made),
            MPI_ERR_COMM, "MPI_Intercomm_create", "peer_comm is MPI_COMM_NULL");
    refused(MPI_Intercomm_create(WORLD, 1, WORLD, 9, 1, &made), MPI_ERR_RANK,
            "MPI_Intercomm_create", "remote_leader is 9");
    refused(MPI_Intercomm_create(WORLD, 1, WORLD, 9, 1, NULL), MPI_ERR_ARG,
            "MPI_Intercomm_create", "newintercomm is NULL");
    refused(MPI_Intercomm_create(WORLD, 4, WORLD, 0, 1, &made), MPI_ERR_RANK,
            "MPI_Intercomm_create", "local_leader is 4");
    refused(MPI_Comm_split(WORLD, -7, 0, &made), MPI_ERR_ARG, "MPI_Comm_split",
            "color is -7");
    passed(MPI_Comm_split(WORLD, MPI_UNDEFINED, -7, &made), "comm_split");
}

static void handles_given_to_be_freed_are_looked_at(void **state)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    refused_on(NULL, MPI_Comm_free(&comm), MPI_ERR_COMM, "MPI_Comm_free",
               "comm is MPI_COMM_NULL");
    refused_on(NULL, MPI_Comm_free(NULL), MPI_ERR_ARG, "MPI_Comm_free",
               "comm is NULL");
    refused_on(NULL, MPI_Type_free(&type), MPI_ERR_TYPE, "MPI_Type_free",
               "MPI_DATATYPE_NULL");
    comm = INTER;
    next_code = MPI_ERR_OTHER;
    assert_int_equal(MPI_Comm_free(&comm), MPI_ERR_OTHER);
    assert_ptr_equal(raised.comm, &job.inter);
}

static void info_null_is_an_argument_but_not_an_object(void **state)
{
    MPI_Comm made;
    char value[8];
    int length = 0, flag;
    passed(MPI_Comm_dup_with_info(WORLD, MPI_INFO_NULL, &made),
           "comm_dup_with_info");
    assert_int_equal(arg("info"), 0);
    memset(&last, 0, sizeof(last));
    refused(MPI_Comm_dup_with_info(WORLD, (MPI_Info)GROUP, &made), MPI_ERR_INFO,
            "MPI_Comm_dup_with_info", "a group and not an info object");
    refused_on(NULL, MPI_Info_set(MPI_INFO_NULL, "k", "v"), MPI_ERR_INFO,
               "MPI_Info_set", "info is MPI_INFO_NULL");
    refused_on(NULL, MPI_Info_set(INFO, NULL, "v"), MPI_ERR_ARG, "MPI_Info_set",
               "key is NULL");
    passed(MPI_Info_get_string(INFO, "k", &length, NULL, &flag),
           "info_get_string");
    length = sizeof(value);
    memset(&last, 0, sizeof(last));
    refused_on(NULL, MPI_Info_get_string(INFO, "k", &length, NULL, &flag),
               MPI_ERR_ARG, "MPI_Info_get_string", "value is NULL");
    refused(MPI_Comm_set_errhandler(WORLD, MPI_ERRHANDLER_NULL),
            MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler",
            "MPI_ERRHANDLER_NULL");
}

int bindings_objects(void)
{
    const struct CMUnitTest tests[] = {
        RULE(results_too_large_for_int_are_undefined_or_refused),
        RULE(a_type_that_Fortran_lacks_has_no_size_and_no_other_use),
        RULE(a_handler_for_what_is_made_gets_the_errors),
        RULE(constructors_check_lengths_and_element_types),
        RULE(ranks_of_groups_are_members),
        RULE(the_peer_communicator_matters_at_the_leader_only),
        RULE(handles_given_to_be_freed_are_looked_at),
        RULE(info_null_is_an_argument_but_not_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

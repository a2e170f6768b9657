/* The generated argument checks, with core functions that only note how they
 * were called: what reaches the core, what does not, and what the user reads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "process/process.h"
#include "bindings_test.h"

#include "api/check.h"

#define INFO ((MPI_Info)&job.info)
#define WORLD MPI_COMM_WORLD

static int buf[4];

/* ---- life ---------------------------------------------------------------- */

static void before_init_only_some_functions_work(void **state)
{
    int flag = 1, size;
    wf_process_instance = NULL;
    wf_store_release(&wf_process_state.phase, WF_PHASE_BEFORE);
    refused_on(NULL, MPI_Comm_size(WORLD, &size), MPI_ERR_OTHER,
               "MPI_Comm_size", "called before MPI_Init");
    passed(MPI_Info_set(INFO, "k", "v"), "info_set");
    assert_null(last.wf);
    assert_int_equal(MPI_Initialized(&flag), MPI_SUCCESS);
    assert_false(flag);
    assert_int_equal(MPI_Finalized(&flag), MPI_SUCCESS);
    assert_false(flag);
    passed(MPI_Init(NULL, NULL), "init");
}

static void init_happens_once(void **state)
{
    int flag, size;
    refused_on(NULL, MPI_Init(NULL, NULL), MPI_ERR_OTHER, "MPI_Init",
               "already initialised");
    passed(MPI_Finalize(), "finalize");
    wf_process_instance = NULL; /* as the core function does */
    wf_store_release(&wf_process_state.phase, WF_PHASE_AFTER);
    MPI_Initialized(&flag);
    assert_true(flag);
    MPI_Finalized(&flag);
    assert_true(flag);
    memset(&last, 0, sizeof(last));
    refused_on(NULL, MPI_Init(NULL, NULL), MPI_ERR_OTHER, "MPI_Init",
               "cannot be initialised twice");
    refused_on(NULL, MPI_Comm_size(WORLD, &size), MPI_ERR_OTHER,
               "MPI_Comm_size", "called after MPI_Finalize");
}

static void an_error_of_the_core_is_raised_on_the_communicator(void **state)
{
    next_code = MPI_ERR_TRUNCATE;
    assert_int_equal(MPI_Recv(buf, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE),
                     MPI_ERR_TRUNCATE);
    assert_int_equal(raised.count, 1);
    assert_ptr_equal(raised.comm, &job.world);
    assert_string_equal(raised.function, "MPI_Recv");
}

static void handles_go_through_integers_and_back(void **state)
{
    MPI_Comm comms[200];
    int n[200];
    assert_int_equal(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    assert_ptr_equal(MPI_Type_fromint(0x209), MPI_INT);
    for (int i = 0; i < 200; i++) {
        comms[i] = (MPI_Comm)((char *)&job + 8 * i);
        n[i] = MPI_Comm_toint(comms[i]);
        assert_true(n[i] > 0xfff);
    }
    for (int i = 0; i < 200; i++) {
        assert_int_equal(MPI_Comm_toint(comms[i]), n[i]);
        assert_ptr_equal(MPI_Comm_fromint(n[i]), comms[i]);
    }
    assert_null(MPI_Comm_fromint(0x7fffffff));
    assert_null(MPI_Comm_fromint(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(before_init_only_some_functions_work),
        RULE(init_happens_once),
        RULE(an_error_of_the_core_is_raised_on_the_communicator),
        RULE(handles_go_through_integers_and_back),
    };
    return bindings_messages() + bindings_objects() +
           cmocka_run_group_tests(tests, NULL, NULL);
}

/* Spawning by a PMIx server that is in this process (fake_pmix.h): what it is
 * asked for, what it answers, and when a job has ended.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "boot/spawn.h"
#include "pmix_job.h"
#include "report/error.h"

static int job; /* that was spawned last */

static int spawn_two(struct wf_boot *b, int wait_ms)
{
    char *const argv[] = {(char *)"a b", (char *)"c", NULL};
    const struct weft_boot_pair info[] = {
        {"wdir", "/here"}, {"env", "A=1\nnone\nB="}, {"host", "h1,h2"}};
    const struct weft_boot_command commands[] = {{"one", argv, 2, info, 3},
                                                 {"two", NULL, 1, info, 1}};
    const struct weft_boot_spawn q = {sizeof q, 2, commands, "port 7", wait_ms};
    int statuses[3] = {9, 9, 9}, rc = wf_spawn_start(b, &q, statuses, &job);

    for (int i = 0; i < 3; i++)
        assert_int_equal(statuses[i], rc);
    assert_int_equal(job > 0, rc == 0);
    return rc;
}

static void a_request_to_spawn_has_all_that_is_asked_for(void **state)
{
    struct wf_boot *b = open_job(1);

    assert_int_equal(spawn_two(b, 60000), 0);
    assert_string_equal(
        pmix.request,
        "2 one [one,a b,c,] {PMIX_WEFT_PARENT_PORT=port 7,A=1,B=,} (/here) "
        "<h1,h2>;1 two [two,] {PMIX_WEFT_PARENT_PORT=port 7,} (/here) <>;");
    end_job(b);
}

static void a_server_that_starts_nothing_is_named(void **state)
{
    struct wf_boot *b = open_job(1);

    pmix.spawn = PMIX_ERR_NOT_SUPPORTED;
    assert_int_equal(spawn_two(b, 60000), WEFT_ENOTSUP);
    assert_string_equal(wf_error_last()->text,
                        "pmix: the PMIx server starts no processes for others "
                        "(NOT-SUPPORTED)");
    pmix.spawn = PMIX_SUCCESS;
    pmix.spawned = PMIX_ERR_NOT_FOUND; /* so its answer */
    assert_int_equal(spawn_two(b, 60000), WEFT_EUNREACH);
    assert_non_null(strstr(wf_error_last()->text, "has not started the"));
    end_job(b);
}

static void a_server_that_never_answers_ends_the_wait(void **state)
{
    struct wf_boot *b = open_job(1);

    pmix.silent = true;
    assert_int_equal(spawn_two(b, 1), WEFT_EUNREACH);
    assert_non_null(strstr(wf_error_last()->text, "within 0.001 s"));
    fake_answer_spawn(); /* too late: what was asked for is freed */
    end_job(b);
}

/* A job is unknown to the server of a node where it has no process, and a
 * process that has closed its output has the state of one that has ended. */
static void a_job_has_ended_when_it_is_unknown_and_all_have_left(void **state)
{
    static const pmix_proc_state_t left[] = {PMIX_PROC_STATE_UNDEF,
                                             PMIX_PROC_STATE_TERMINATED},
                                   one_runs[] = {PMIX_PROC_STATE_UNDEF,
                                                 PMIX_PROC_STATE_CONNECTED};
    struct wf_boot *b = open_job(1);

    assert_int_equal(spawn_two(b, 60000), 0);
    for (int i = 0; i < 2; i++) {
        pmix.wrapped = i;
        pmix.forgotten = false;
        pmix.states = left;
        assert_false(wf_spawn_has_ended(b, job));
        pmix.forgotten = true;
        pmix.states = one_runs;
        assert_false(wf_spawn_has_ended(b, job));
        pmix.states = NULL;
        assert_false(wf_spawn_has_ended(b, job));
        pmix.states = left;
        assert_true(wf_spawn_has_ended(b, job));
        assert_false(wf_spawn_has_ended(b, job + 1));
    }
    for (int i = 0; i < 100; i++) {
        pmix.request[0] = '\0';
        assert_int_equal(spawn_two(b, 60000), 0);
    }
    assert_true(wf_spawn_has_ended(b, job));
    assert_false(wf_spawn_has_ended(b, 1)); /* nobody remembers it */
    end_job(b);
}

static void a_spawned_process_has_the_port_of_its_parent(void **state)
{
    struct wf_boot *b;
    char *port;

    setenv("PMIX_WEFT_PARENT_PORT", "port 7", 1);
    b = open_job(1);
    assert_true(b->is_spawned);
    assert_null(getenv("PMIX_WEFT_PARENT_PORT"));
    assert_int_equal(wf_spawn_parent(b, &port), 0);
    assert_string_equal(port, "port 7");
    free(port);
    end_job(b);
    setenv("PMIX_WEFT_PARENT_PORT", "port 8", 1);
    end_job(open_job(1)); /* nobody takes it */
    b = open_job(1);
    assert_false(b->is_spawned);
    assert_int_equal(wf_spawn_parent(b, &port), 0);
    assert_null(port);
    end_job(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_request_to_spawn_has_all_that_is_asked_for),
        CASE(a_server_that_starts_nothing_is_named),
        CASE(a_server_that_never_answers_ends_the_wait),
        CASE(a_job_has_ended_when_it_is_unknown_and_all_have_left),
        CASE(a_spawned_process_has_the_port_of_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

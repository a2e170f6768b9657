/* Requests of a process that spawns others, the answers of launchers, and a
 * process that has no launcher.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot_launcher.h"

#include "boot/spawn.h"
#include "os/base64.h"
#include "report/error.h"

static char *const arguments[] = {"a b", "", "line\nbreak", NULL};
static const struct weft_boot_pair places[] = {{"wdir", "/some where"},
                                               {"env", "A=1\nB=2"}};

static struct weft_boot_spawn request_of(struct weft_boot_command *c,
                                          uint32_t n)
{
    return (struct weft_boot_spawn){sizeof(weft_boot_spawn), n, c, "port 7", 0};
}

static void assert_said(const struct launcher *l, const char *lines)
{
    if (!strstr(l->spawn, lines))
        fail_msg("'%s' has no '%s'", l->spawn, lines);
}

/* Opens the boot of a process of Weft's mpirun, whose texts are encoded. */
static struct wf_boot *open_weft_job(struct launcher *l)
{
    store_value(l, "weft.hosts", "1,await");
    return open_job(l, 0, 1);
}

static void mpirun_gets_every_word(void **state)
{
    struct launcher l = {.spawn_answer = "cmd=spawn_result rc=0\n"};
    struct wf_boot *b = open_weft_job(&l);
    struct weft_boot_command commands[] = {
        {"./my program", arguments, 3, places, 2}, {"other", NULL, 2, NULL, 0}};
    struct weft_boot_spawn q = request_of(commands, 2);
    int statuses[5] = {7, 7, 7, 7, 7}, job;

    assert_int_equal(wf_spawn_start(b, &q, statuses, &job), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(statuses[i], 0);
    assert_said(&l, "mcmd=spawn\nweft_words=1\nnprocs=3\n"
                    "execname=./my%20program\ntotspawns=2\nspawnssofar=1\n"
                    "arg1=a%20b\narg2=\narg3=line%0Abreak\nargcnt=3\n"
                    "preput_num=1\npreput_key_0=weft.parent\n"
                    "preput_val_0=cG9ydCA3\ninfo_num=2\ninfo_key_0=wdir\n"
                    "info_val_0=/some%20where\ninfo_key_1=env\n"
                    "info_val_1=A%3D1%0AB%3D2\nendcmd\n");
    assert_said(&l, "nprocs=2\nexecname=other\ntotspawns=2\nspawnssofar=2\n"
                    "argcnt=0\n");
    stop_launcher(&l, b);
}

static void others_get_plain_words(void **state)
{
    struct launcher l = {.spawn_answer = "cmd=spawn_result rc=0\n"};
    struct wf_boot *b = open_job(&l, 0, 1);
    struct weft_boot_command c = {"a program", arguments, 1, NULL, 0};
    struct weft_boot_spawn q = request_of(&c, 1);
    char *const plain[] = {"a b", NULL};
    int status, job;

    assert_int_equal(wf_spawn_start(b, &q, &status, &job), WEFT_EINVAL);
    assert_int_equal(status, WEFT_EINVAL);
    assert_string_equal(l.spawn, "");
    c.argv = plain;
    assert_int_equal(wf_spawn_start(b, &q, &status, &job), 0);
    assert_said(&l, "mcmd=spawn\nnprocs=1\nexecname=a program\ntotspawns=1\n"
                    "spawnssofar=1\narg1=a b\nargcnt=1\n");
    stop_launcher(&l, b);
}

/* The children get a long port, cut as the launcher demands, in one piece. */
static void the_port_arrives_whole(void **state)
{
    struct launcher l = {.value_max = 100,
                         .spawn_answer = "cmd=spawn_result rc=0\n"};
    struct wf_boot *b = open_job(&l, 0, 1), *child;
    char port[1024], *got, *at = l.spawn, key[64], value[1100];
    struct weft_boot_command c = {"p", NULL, 1, NULL, 0};
    struct weft_boot_spawn q = {sizeof q, 1, &c, port, 0};
    struct launcher other = {.value_max = 100};
    int status, job;

    for (int i = 0; i < 1023; i++)
        port[i] = (char)('a' + i % 26);
    port[1023] = '\0';
    assert_int_equal(wf_spawn_start(b, &q, &status, &job), 0);
    while ((at = strstr(at, "preput_key_")) != NULL) {
        assert_int_equal(sscanf(at, "preput_key_%*d=%63s preput_val_%*d=%1099s",
                                key, value), 2);
        assert_true(strlen(value) < 100);
        store_value(&other, key, value);
        at++;
    }
    stop_launcher(&l, b);
    setenv("PMI_SPAWNED", "1", 1);
    child = open_job(&other, 0, 1);
    assert_int_equal(wf_spawn_parent(child, &got), 0);
    assert_string_equal(got, port);
    free(got);
    stop_launcher(&other, child);
    unsetenv("PMI_SPAWNED");
}

static void a_process_that_was_not_spawned_has_no_parent(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b = open_job(&l, 0, 1);
    char *port = (char *)"x";

    store_value(&l, "weft.parent", "cG9ydA");
    assert_int_equal(wf_spawn_parent(b, &port), 0);
    assert_null(port);
    stop_launcher(&l, b);
}

/* A launcher that knows only the spawn of another MPI has no such key. */
static void a_process_of_another_mpi_is_no_parent(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b;
    char *port = (char *)"x";

    setenv("PMI_SPAWNED", "1", 1);
    b = open_job(&l, 0, 1);
    assert_int_equal(wf_spawn_parent(b, &port), 0);
    assert_null(port);
    stop_launcher(&l, b);
    unsetenv("PMI_SPAWNED");
}

static void check_answer(const char *answer, int rc, const char *why)
{
    struct launcher l = {.spawn_answer = answer};
    struct wf_boot *b = open_weft_job(&l);
    struct weft_boot_command c = {"prog", NULL, 3, NULL, 0};
    struct weft_boot_spawn q = request_of(&c, 1);
    int statuses[3], job;

    assert_int_equal(wf_spawn_start(b, &q, statuses, &job), rc);
    for (int i = 0; i < 3; i++)
        assert_true(statuses[i] == (rc ? rc : 0));
    if (why && !strstr(wf_error_last()->text, why))
        fail_msg("'%s' has no '%s'", wf_error_last()->text, why);
    stop_launcher(&l, b);
}

static void a_refusal_says_why(void **state)
{
    check_answer("cmd=spawn_result rc=-1 msg=prog:%20no%20such%20program\n",
                 WEFT_EUNREACH, "'prog': prog: no such program");
    check_answer("cmd=spawn_result rc=-1\n", WEFT_EUNREACH, "prog");
    check_answer("cmd=spawn_result rc=-1 msg=%ZZ\n", WEFT_EUNREACH, "%ZZ");
    check_answer("cmd=spawn_result rc=0 errcodes=0,0,0\n", 0, NULL);
    /* Slurm refuses in the words of another protocol */
    check_answer("cmd=spawn-response;rc=5;\n", WEFT_ENOTSUP, "launcher");
    check_answer("cmd=other_result rc=0\n", WEFT_ENOTSUP, "launcher");
}

static void some_processes_may_fail(void **state)
{
    struct launcher l = {
        .spawn_answer = "cmd=spawn_result rc=-1 errcodes=0,-1,0,99,99,99\n"};
    struct wf_boot *b = open_weft_job(&l);
    struct weft_boot_command c = {"prog", NULL, 3, NULL, 0};
    struct weft_boot_spawn q = request_of(&c, 1);
    int statuses[4] = {0, 0, 0, 12345}, job;

    assert_int_equal(wf_spawn_start(b, &q, statuses, &job), WEFT_EUNREACH);
    assert_int_equal(statuses[1], WEFT_EUNREACH);
    assert_int_equal(statuses[3], 12345);
    stop_launcher(&l, b);
}

static void a_notice_may_come_before_the_answer(void **state)
{
    check_answer("cmd=weft_lost_by rank=0\ncmd=weft_called\n"
                 "cmd=spawn_result rc=0\n", 0, NULL);
}

static void the_launcher_tells_when_a_job_has_ended(void **state)
{
    struct launcher l = {.spawn_answer = "cmd=weft_job_ended job=6\n"
                                         "cmd=spawn_result rc=0 job=7\n"};
    struct wf_boot *b = open_weft_job(&l);
    struct weft_boot_command c = {"prog", NULL, 1, NULL, 0};
    struct weft_boot_spawn q = request_of(&c, 1);
    int status, job;

    assert_int_equal(wf_spawn_start(b, &q, &status, &job), 0);
    assert_int_equal(job, 7);
    assert_true(wf_spawn_has_ended(b, 6));
    assert_false(wf_spawn_has_ended(b, 7));
    dprintf(l.fd, "cmd=weft_job_ended job=7\ncmd=weft_job_ended\n");
    assert_true(wf_spawn_has_ended(b, 7));
    assert_false(wf_spawn_has_ended(b, 0));
    stop_launcher(&l, b);
}

/* An answer that comes too late is not taken for that to a later request. */
static void a_launcher_that_is_silent_is_given_up(void **state)
{
    struct launcher l = {0};
    struct wf_boot *b = open_weft_job(&l);
    struct weft_boot_command c = {"prog", NULL, 1, NULL, 0};
    struct weft_boot_spawn q = {sizeof q, 1, &c, "port 7", 50};
    int status, job;

    assert_int_equal(wf_spawn_start(b, &q, &status, &job), WEFT_EUNREACH);
    assert_int_equal(status, WEFT_EUNREACH);
    assert_non_null(strstr(wf_error_last()->text, "'prog'"));
    l.spawn_answer = "cmd=spawn_result rc=-1\ncmd=spawn_result rc=0 job=4\n";
    q.wait_ms = 0;
    assert_int_equal(wf_spawn_start(b, &q, &status, &job), 0);
    assert_int_equal(job, 4);
    stop_launcher(&l, b);
}

static void without_a_launcher_the_message_names_the_remedy(void **state)
{
    struct wf_boot *b;
    struct weft_boot_command c = {"prog", NULL, 1, NULL, 0};
    struct weft_boot_spawn q = request_of(&c, 1);
    char err[256];
    int status, job;

    assert_int_equal(wf_boot_open(NULL, &b, err, sizeof err), 0);
    assert_string_equal(b->ops->name, "singleton");
    b->launcher_path = "/nowhere/mpirun";
    assert_int_equal(wf_spawn_start(b, &q, &status, &job), WEFT_ENOTSUP);
    assert_non_null(strstr(wf_error_last()->text, "/nowhere/mpirun"));
    b->launcher_path = "/bin/true"; /* it serves nobody */
    assert_int_equal(wf_spawn_start(b, &q, &status, &job), WEFT_ESYS);
    assert_non_null(strstr(wf_error_last()->text, "/bin/true"));
    wf_boot_close(b);
}

#define TEST(f) cmocka_unit_test_setup(f, clear_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mpirun_gets_every_word),
        TEST(others_get_plain_words),
        TEST(the_port_arrives_whole),
        TEST(a_process_that_was_not_spawned_has_no_parent),
        TEST(a_process_of_another_mpi_is_no_parent),
        TEST(a_refusal_says_why),
        TEST(some_processes_may_fail),
        TEST(a_notice_may_come_before_the_answer),
        TEST(the_launcher_tells_when_a_job_has_ended),
        TEST(a_launcher_that_is_silent_is_given_up),
        TEST(without_a_launcher_the_message_names_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

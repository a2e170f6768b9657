/* The mark of a job in the environments of its processes: also while they
 * execute another program, when they have no environment.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/mpirun/mark.c"
#include "tools/mpirun/proc_stat.c"

static const char mark[] = "\0MARK=this";

static char *const marked[] = {(char[]){"MARK=this"}, NULL};
static char *const other[] = {(char[]){"MARK=thisone"}, NULL};
static char *const none[] = {NULL};

/* Starts this program with an argument. */
static pid_t start_program(const char *what, char *const *environment)
{
    char *const argv[] = {(char[]){"mark"}, (char *)(uintptr_t)what, NULL};
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
        (void)execve("/proc/self/exe", argv, environment);
        _exit(1);
    }
    assert_true(pid > 0);
    return pid;
}

static enum wf_mark find_mark_of(pid_t pid)
{
    return wf_mark_find(pid, mark, sizeof mark);
}

static void end_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Waits until the process runs the program, and returns what it has then. */
static enum wf_mark look_at_program(char *const *environment)
{
    pid_t pid = start_program("wait", environment);
    int status;
    enum wf_mark m;

    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status)); /* it stops itself */
    m = find_mark_of(pid);
    end_process(pid);
    return m;
}

static void the_mark_is_a_whole_variable(void **state)
{
    assert_int_equal(look_at_program(marked), WF_MARK_THERE);
    assert_int_equal(look_at_program(other), WF_MARK_MISSING);
    assert_int_equal(look_at_program(none), WF_MARK_MISSING);
}

static void a_process_that_has_ended_has_none(void **state)
{
    pid_t pid = start_program("end", marked);
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(find_mark_of(pid), WF_MARK_MISSING);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(find_mark_of(pid), WF_MARK_MISSING);
}

/* It executes itself again and again, and is never taken for another job's. */
static void a_process_that_executes_a_program_is_not_missed(void **state)
{
    pid_t pid = start_program("again", marked);
    int there = 0, unknown = 0;

    while (find_mark_of(pid) == WF_MARK_MISSING)
        ; /* until it has the mark for the first time */
    for (int i = 0; i < 100000 && (there < 1000 || unknown < 20); i++) {
        enum wf_mark m = find_mark_of(pid);

        assert_int_not_equal(m, WF_MARK_MISSING);
        there += m == WF_MARK_THERE;
        unknown += m == WF_MARK_UNKNOWN;
    }
    end_process(pid);
    assert_true(there > 0 && unknown > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mark_is_a_whole_variable),
        cmocka_unit_test(a_process_that_has_ended_has_none),
        cmocka_unit_test(a_process_that_executes_a_program_is_not_missed),
    };

    if (argc == 2 && strcmp(argv[1], "again") == 0)
        return execve("/proc/self/exe", argv, marked);
    if (argc == 2 && strcmp(argv[1], "wait") == 0)
        return raise(SIGSTOP);
    if (argc == 2)
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* mpirun ends what its ranks have left, whatever the kernel tells about the
 * children of a process, and leaves its guard alone.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/prctl.h>

#include "tools/mpirun/descendants.c"
#include "tools/mpirun/proc_stat.c"

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

static bool has_lists; /* of children; not every kernel has them */

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (!has_lists && strstr(path, "/children"))
        return NULL;
    return __real_fopen(path, mode);
}

static pid_t start_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails */
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static bool is_there(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void end_what_is_left(void)
{
    pid_t guard = start_child(), first = guard;
    pid_t left = start_child(), stopped = start_child();

    assert_int_equal(kill(stopped, SIGSTOP), 0);
    wf_descendants_end(&guard);
    assert_false(is_there(left));
    assert_false(is_there(stopped));
    assert_int_equal(guard, first);

    wf_descendants_end(&guard); /* nothing is left */
    assert_int_equal(guard, first);
    assert_int_equal(waitpid(guard, NULL, WNOHANG), 0);

    assert_int_equal(kill(guard, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)guard, &(siginfo_t){0},
                            WEXITED | WNOWAIT), 0);
    wf_descendants_end(&guard);
    assert_int_equal(guard, 0);
}

static void listed_children(void **state)
{
    has_lists = true;
    end_what_is_left();
}

static void children_among_all_processes(void **state)
{
    has_lists = false;
    end_what_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_children),
        cmocka_unit_test(children_among_all_processes),
    };
    sigset_t child;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD); /* as mpirun does: signals.c */
    sigprocmask(SIG_BLOCK, &child, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

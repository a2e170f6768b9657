/* How many CPUs the processes of a node have together, when each is bound.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/node.h"

static cpu_set_t all;

/* To its first CPU. */
static void bind_self(void)
{
    cpu_set_t one;
    size_t cpu = 0;

    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        abort();
}

static void free_self(void)
{
    if (sched_setaffinity(0, sizeof all, &all) != 0)
        abort();
}

/* Returns what a process finds that is started after `parent` and calls `child`
 * first. */
static uint32_t count_found(uint32_t (*cpus)(void), void (*parent)(void),
                            void (*child)(void))
{
    uint32_t *n = mmap(NULL, sizeof *n, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint32_t count;
    pid_t id;

    assert_ptr_not_equal(n, MAP_FAILED);
    if (CPU_COUNT(&all) < 2) {
        print_message("no two processors: nothing to bind to\n");
        skip();
    }
    if (parent)
        parent();
    id = fork();
    if (id == 0) {
        if (child)
            child();
        *n = cpus();
        _exit(0);
    }
    assert_int_equal(waitpid(id, NULL, 0), id);
    free_self();
    count = *n;
    munmap(n, sizeof *n);
    return count;
}

static void a_process_bound_by_itself_has_the_cpus_of_its_parent(void **state)
{
    assert_int_equal(count_found(wf_node_cpus, NULL, bind_self),
                     CPU_COUNT(&all));
}

static void a_bound_process_has_its_own_cpus(void **state)
{
    assert_int_equal(count_found(wf_node_own_cpus, NULL, bind_self), 1);
}

static void a_bound_parent_adds_no_cpus(void **state)
{
    assert_int_equal(count_found(wf_node_cpus, bind_self, NULL), 1);
}

static void a_parent_with_fewer_cpus_is_ignored(void **state)
{
    assert_int_equal(count_found(wf_node_cpus, bind_self, free_self),
                     CPU_COUNT(&all));
}

static void a_number_in_the_environment_comes_first(void **state)
{
    setenv("WEFT_BOUND_CPUS", "77", 1);
    assert_int_equal(count_found(wf_node_cpus, NULL, bind_self), 77);
    unsetenv("WEFT_BOUND_CPUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_bound_by_itself_has_the_cpus_of_its_parent),
        cmocka_unit_test(a_bound_process_has_its_own_cpus),
        cmocka_unit_test(a_bound_parent_adds_no_cpus),
        cmocka_unit_test(a_parent_with_fewer_cpus_is_ignored),
        cmocka_unit_test(a_number_in_the_environment_comes_first),
    };

    unsetenv("WEFT_BOUND_CPUS");
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        CPU_ZERO(&all); /* more than a mask holds */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

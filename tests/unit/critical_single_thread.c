/* At MPI_THREAD_MULTIPLE a thread that has the process to itself enters no
 * section; it finds one from the moment that it starts another. The C library
 * tells, so each test runs in a process of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "lock/critical.h"

enum { CALLS = 100000, SKIPPED = 77, WRONG = 1 };

static struct wf_cs cs;
static unsigned plain; /* what the section protects */
static unsigned changes;

#define MUST(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            _exit(WRONG);                                                      \
        }                                                                      \
    } while (0)

static void has_changed(struct wf_cs *c)
{
    changes++;
}

static unsigned count_tickets(void)
{
    return wf_load_relaxed(&cs.mutex.next);
}

static void make_call(void)
{
    wf_cs_enter(&cs);
    plain++;
    wf_cs_leave(&cs);
}

static void *call_often(void *unused)
{
    for (int i = 0; i < CALLS; i++)
        make_call();
    return unused;
}

static pthread_t start_other(void)
{
    pthread_t other;

    MUST(pthread_create(&other, NULL, call_often, NULL) == 0);
    return other;
}

static void begin_case(void)
{
    if (!wf_single_thread())
        _exit(SKIPPED);
    cs.changed = has_changed;
    wf_cs_expect_threads(&cs);
    MUST(changes == 1);
}

static void one_thread_enters_nothing(void)
{
    begin_case();
    call_often(NULL);
    MUST(count_tickets() == 0 && wf_cs_is_alone(&cs));
}

static void two_threads_exclude_each_other(void)
{
    pthread_t other;

    begin_case();
    make_call();
    other = start_other();
    call_often(NULL);
    pthread_join(other, NULL);
    MUST(plain == 2 * CALLS + 1);
    MUST(!wf_cs_is_alone(&cs) && changes == 2);
}

/* As user functions are called: outside. */
static void a_callback_may_start_the_second(void)
{
    pthread_t other;

    begin_case();
    wf_cs_enter(&cs);
    wf_cs_leave(&cs);
    other = start_other();
    wf_cs_enter(&cs);
    plain++;
    MUST(wf_cs_uses_lock(&cs));
    wf_cs_leave(&cs);
    pthread_join(other, NULL);
    MUST(plain == CALLS + 1);
}

static void it_is_lent_to_the_helper_and_alone_again(void)
{
    begin_case();
    wf_cs_enter(&cs);
    wf_cs_enable_for_helper(&cs);
    cs.helper_ops = 1;
    wf_cs_leave(&cs);
    MUST(wf_cs_uses_lock(&cs)); /* on until nothing is owed */
    wf_cs_enter(&cs);
    cs.helper_ops = 0;
    wf_cs_leave(&cs);
    MUST(wf_cs_is_alone(&cs));
    make_call();
    MUST(wf_mutex_try(&cs.mutex)); /* nobody has it */
}

static void beside_the_helper_it_stays_on(void)
{
    pthread_t helper;

    begin_case();
    wf_cs_enter(&cs);
    wf_cs_enable_for_helper(&cs);
    cs.helper_ops = 1;
    helper = start_other();
    cs.helper_ops = 0;
    wf_cs_leave(&cs);
    MUST(!wf_cs_is_alone(&cs) && cs.on);
    call_often(NULL);
    pthread_join(helper, NULL);
    MUST(plain == 2 * CALLS);
}

#define PART(sentence) {#sentence, sentence}
static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    PART(one_thread_enters_nothing),
    PART(two_threads_exclude_each_other),
    PART(a_callback_may_start_the_second),
    PART(it_is_lent_to_the_helper_and_alone_again),
    PART(beside_the_helper_it_stays_on),
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static void each_case_holds_in_a_process(void **state)
{
    const struct part *part = *state;
    pid_t child = fork();
    int status;

    if (child == 0) { /* a new program: a sanitizer gives a copy a thread */
        execl("/proc/self/exe", "critical_single_thread", part->name,
              (char *)NULL);
        _exit(WRONG);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("skipped: this build, or its C library, knows no process "
                      "of one thread\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static int run_part(const char *name)
{
    for (int i = 0; i < PARTS; i++)
        if (strcmp(parts[i].name, name) == 0) {
            parts[i].run();
            return 0;
        }
    return WRONG;
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[PARTS];

    if (argc > 1)
        return run_part(argv[1]);
    for (int i = 0; i < PARTS; i++)
        tests[i] =
            (struct CMUnitTest){.name = parts[i].name,
                                .test_func = each_case_holds_in_a_process,
                                .initial_state = (void *)&parts[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* plugins/shm: the kernel is rarely asked about sockets on which nothing
 * happens.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static int looks;

/* In the place of the C library's. */
int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
    looks++;
    return (int)syscall(SYS_epoll_pwait, epfd, events, most, timeout, NULL, 0);
}

static uint64_t time_now(void)
{
    return a.ep->host->now_ns(a.ep->core);
}

/* In so many times 256 calls; the clock is moved on by `step` ns before
 * each. */
static int looks_of(int times, uint64_t step)
{
    looks = 0;
    for (int i = 0; i < times * (SHM_SOCKETS_IDLE + 1); i++) {
        fake_later += step;
        fake_progress(&a);
    }
    return looks;
}

static int start_case(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_connect(&a, &b, 8, 0);
    looks_of(20, SHM_SOCKETS_APART); /* what has happened is forgotten */
    return 0;
}

static void a_poll_that_is_due_comes_with_the_256th_call(void **state)
{
    (void)state;
    assert_int_equal(looks_of(100, SHM_SOCKETS_APART), 100);
}

static void idle_sockets_are_polled_rarely(void **state)
{
    uint64_t start = time_now();
    int made = looks_of(1000, 0);

    (void)state;
    assert_true(made <= (int)((time_now() - start) / SHM_SOCKETS_APART) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_poll_that_is_due_comes_with_the_256th_call, start_case,
            end_pair),
        cmocka_unit_test_setup_teardown(idle_sockets_are_polled_rarely,
                                        start_case, end_pair)};

    return cmocka_run_group_tests_name("shm looks", tests, NULL, NULL);
}

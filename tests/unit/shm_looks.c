/* plugins/shm: the kernel is rarely asked about sockets on which nothing happens.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_fake.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/shm/shm.h"

static struct fake_node a, b;
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

/* So many looks were made in so much time, at most. */
static void watch(uint64_t ns, int *made, int *due)
{
    uint64_t start = time_now();

    looks = 0;
    while (time_now() - start < ns)
        fake_progress(&a);
    *made = looks;
    *due = (int)((time_now() - start) / SHM_SOCKETS_APART);
}

static void where_nothing_happens_looks_are_rare(void **state)
{
    int made, due;

    (void)state;
    fake_pair(&a, &b, NULL);
    while (fake_send(&a, 1, 8, 0) < 0) {
        fake_progress(&a);
        fake_progress(&b);
    }
    watch(1000000, &made, &due); /* what has happened is forgotten */
    watch(20000000, &made, &due);
    assert_in_range(made, 1, due + 1);
    fake_close(&a, &b);
    fake_close(&b, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_happens_looks_are_rare)};

    return cmocka_run_group_tests_name("shm looks", tests, NULL, NULL);
}

/* The end of a job for ranks that are threads of one process: one of them
 * waits for the launcher's fence, and others ask the launcher meanwhile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/hosted.h"
#include "boot_launcher.h"

#include "progress/wait.h"

/* Returns at once, as it does when the descriptor is readable. */
#define wf_progress_poll_until poll_nothing
bool poll_nothing(struct wf_instance *, int fd, bool (*done)(void *),
                  void *arg, uint64_t deadline);
#include "core/instance/leave.c"

enum { ASKER, WAITER, RANKS };

static int wakes, polls;

static void count_wake(void *arg)
{
    wakes++;
}

/* Starts the launcher and both ranks, which enter the fence. */
static void enter_fence(struct launcher *l, struct wf_boot **ranks)
{
    int fd;

    assert_int_equal(wf_boot_hosted_create(open_job(l, 0, 4), RANKS, ranks), 0);
    assert_int_equal(ranks[ASKER]->ops->put(ranks[ASKER], "weft.card.0", "a",
                                            1), 0);
    assert_int_equal(ranks[WAITER]->ops->put(ranks[WAITER], "weft.card.1", "b",
                                             1), 0);
    wakes = 0;
    for (int i = 0; i < RANKS; i++) {
        ranks[i]->wake = count_wake;
        assert_int_equal(ranks[i]->ops->fence_start(ranks[i], &fd), 0);
        assert_int_equal(fd >= 0, i == WAITER);
    }
}

static void ask_launcher(struct wf_boot *b)
{
    void *out;
    size_t n;

    assert_int_equal(b->ops->get(b, "weft.card.3", &out, &n), WEFT_EUNREACH);
}

static bool is_over(struct wf_boot *b)
{
    return b->ops->fence_passed(b);
}

static void leave_fence(struct launcher *l, struct wf_boot **ranks)
{
    assert_int_equal(ranks[WAITER]->ops->fence_end(ranks[WAITER]), 0);
    assert_true(is_over(ranks[ASKER]));
    assert_int_equal(ranks[ASKER]->ops->fence_end(ranks[ASKER]), 0);
    assert_int_equal(wakes, RANKS);
    ranks[ASKER]->ops->close(ranks[ASKER]);
    stop_launcher(l, ranks[WAITER]);
}

static void an_answer_to_another_rank_is_not_the_end(void **state)
{
    struct launcher l = {.fence_kept = 1,
                         .behind_get = "cmd=weft_called\n"};
    struct wf_boot *ranks[RANKS];

    enter_fence(&l, ranks);
    ask_launcher(ranks[ASKER]);
    assert_false(is_over(ranks[WAITER]));
    assert_false(is_over(ranks[ASKER]));
    ask_launcher(ranks[ASKER]);
    dprintf(l.fd, "cmd=barrier_out\n");
    while (!is_over(ranks[WAITER]))
        ;
    leave_fence(&l, ranks);
}

static void an_end_behind_an_answer_wakes_all(void **state)
{
    struct launcher l = {.fence_behind_get = 1};
    struct wf_boot *ranks[RANKS];

    enter_fence(&l, ranks);
    assert_false(is_over(ranks[WAITER]));
    ask_launcher(ranks[ASKER]);
    assert_int_equal(wakes, RANKS);
    assert_true(is_over(ranks[WAITER]));
    leave_fence(&l, ranks);
}

static void a_launcher_that_ends_ends_the_wait(void **state)
{
    struct launcher l = {.fence_kept = 1};
    struct wf_boot *ranks[RANKS];

    enter_fence(&l, ranks);
    shutdown(l.fd, SHUT_RDWR);
    while (!is_over(ranks[WAITER]))
        ;
    assert_true(ranks[WAITER]->ops->fence_end(ranks[WAITER]) < 0);
    assert_int_equal(ranks[ASKER]->ops->fence_end(ranks[ASKER]), 0);
    ranks[ASKER]->ops->close(ranks[ASKER]);
    stop_launcher(&l, ranks[WAITER]);
}

/* ---- a rank that waits --------------------------------------------------- */

bool poll_nothing(struct wf_instance *wf, int fd, bool (*done)(void *),
                  void *arg, uint64_t deadline)
{
    polls++;
    return true;
}

static bool is_third_poll(struct wf_boot *b)
{
    return polls >= 3;
}

static void a_readable_descriptor_is_not_the_end(void **state)
{
    const struct wf_boot_ops ops = {.fence_passed = is_third_poll};
    struct wf_boot boot = {.ops = &ops};
    struct wf_rank rank = {.boot = &boot};
    struct wf_instance wf = {.rank = &rank};

    polls = 0;
    await_fence(&wf, 0);
    assert_int_equal(polls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_answer_to_another_rank_is_not_the_end,
                               clear_environment),
        cmocka_unit_test_setup(an_end_behind_an_answer_wakes_all,
                               clear_environment),
        cmocka_unit_test_setup(a_launcher_that_ends_ends_the_wait,
                               clear_environment),
        cmocka_unit_test(a_readable_descriptor_is_not_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/thread: when the answer to a message is looked for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "thread/deliver.h"
#include "thread/post.h"
#include "thread/registry.h"
#include "thread/transport.h"

enum { TYPE = 1, ENV0 = 7, ENV1 = 9, PROMPT = 32, LINES = 512 };

struct side {
    weft_ep ep;
    weft_peer other;
};

static struct side a, b;

static void send_from(struct side *x)
{
    assert_int_equal(wf_thread_send_words("x", TYPE | UINT64_C(1) << 32,
                                          &x->other, ENV0, ENV1),
                     WEFT_OK);
}

static int look_at(struct side *x)
{
    char byte;
    weft_want w = {.h0 = TYPE,
                   .h1 = ENV0,
                   .h2 = ENV1,
                   .mask = UINT64_MAX,
                   .buf = &byte,
                   .room = 1};

    return wf_thread_recv_words(&x->other, &w);
}

static void ask_peer(void)
{
    send_from(&a);
    assert_int_equal(look_at(&b), WEFT_DONE);
}

static void ask_and_be_answered_at_once(void)
{
    ask_peer();
    send_from(&b);
    assert_int_equal(look_at(&a), WEFT_DONE);
}

static void ask_and_look_too_early(void)
{
    ask_peer();
    assert_int_equal(look_at(&a), WEFT_OK);
    send_from(&b);
    assert_int_equal(look_at(&a), WEFT_DONE);
}

static void join_threads(struct side *x, struct side *y)
{
    x->other =
        (weft_peer){.box = y->ep.box, .me = x->ep.box->index, .ep = &x->ep};
}

static int start_case(void **state)
{
    int error;

    (void)state;
    a = b = (struct side){0};
    a.ep.box = wf_mail_open(0, LINES, &error);
    b.ep.box = wf_mail_open(1, LINES, &error);
    assert_true(a.ep.box && b.ep.box);
    join_threads(&a, &b);
    join_threads(&b, &a);
    return 0;
}

static int stop_case(void **state)
{
    (void)state;
    wf_mail_close(a.ep.box);
    wf_mail_close(b.ep.box);
    return 0;
}

static void a_poll_that_is_too_early_delays_the_next_one(void **state)
{
    (void)state;
    ask_and_look_too_early();
    assert_int_equal(a.other.pre_poll_pauses, 1);
    ask_and_look_too_early();
    assert_int_equal(a.other.pre_poll_pauses, 2);
    ask_and_look_too_early();
    assert_int_equal(a.other.pre_poll_pauses, 2);
}

static void messages_that_are_no_answers_change_no_delay(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(look_at(&a), WEFT_OK);
        send_from(&b);
        assert_int_equal(look_at(&a), WEFT_DONE);
    }
    assert_int_equal(a.other.pre_poll_pauses, 0);
}

static void prompt_answers_are_polled_for_sooner(void **state)
{
    (void)state;
    ask_and_look_too_early();
    ask_and_look_too_early();
    for (int i = 0; i < PROMPT - 1; i++)
        ask_and_be_answered_at_once();
    assert_int_equal(a.other.pre_poll_pauses, 2);
    ask_and_be_answered_at_once();
    assert_int_equal(a.other.pre_poll_pauses, 1);
    for (int i = 0; i < 2 * PROMPT; i++)
        ask_and_be_answered_at_once();
    assert_int_equal(a.other.pre_poll_pauses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_poll_that_is_too_early_delays_the_next_one, start_case,
            stop_case),
        cmocka_unit_test_setup_teardown(
            messages_that_are_no_answers_change_no_delay, start_case,
            stop_case),
        cmocka_unit_test_setup_teardown(prompt_answers_are_polled_for_sooner,
                                        start_case, stop_case)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

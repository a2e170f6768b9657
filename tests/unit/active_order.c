/* Active messages of one process and communicator are handed over in the order
 * of the lane, also where a transport brings the payload of one later than what
 * follows it. Those of different communicators do not wait for each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "protocol/active.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/wire.h"
#include "route/location.h"

static struct wf_instance wf;
static struct wf_engine engine;
static struct weft_loc loc;
static char seen[100];

static void note_message(struct wf_active_handler *h, struct weft_loc *from,
                         const struct wf_active_head *head, const void *data,
                         size_t n)
{
    assert_ptr_equal(from, &loc);
    strncat(seen, data, n);
    strcat(seen, ".");
}

static struct wf_active_handler handler = {.arrive = note_message};

static int set_up(void **state)
{
    memset(&wf, 0, sizeof wf);
    memset(&engine, 0, sizeof engine);
    memset(&loc, 0, sizeof loc);
    seen[0] = '\0';
    wf.engine = &engine;
    loc.wf = &wf;
    engine.active[WF_SPACE_RMA] = &handler;
    return 0;
}

/* Brings a message of a context of which `have` bytes are here. */
static int bring_of_context(uint32_t context, const char *text, size_t have,
                            weft_sink **sink)
{
    struct wf_wire w;

    wf_wire_init(&w, WF_ACTIVE, 0);
    w.a = wf_le64(wf_env0(WF_SPACE_RMA, context, 0));
    w.plen = wf_le32((uint32_t)strlen(text));
    return wf_active_arrive(&loc, &w, text, have, sink);
}

static int bring_message(const char *text, size_t have, weft_sink **sink)
{
    return bring_of_context(5, text, have, sink);
}

static void end_sink(weft_sink *sink, const char *text, size_t have, int status)
{
    struct wf_sink *s = wf_container(sink, struct wf_sink, sink);

    memcpy((char *)sink->one.iov_base + have, text + have,
           strlen(text) - have);
    s->done(s, status);
}

static void a_whole_one_waits_for_those_before_it(void **state)
{
    weft_sink *first, *third, *none = NULL;

    assert_int_equal(bring_message("zero", 4, &none), WEFT_DONE);
    assert_string_equal(seen, "zero.");
    assert_int_equal(bring_message("first", 2, &first), WEFT_OK);
    assert_int_equal(bring_message("second", 6, &none), WEFT_DONE);
    assert_int_equal(bring_message("third", 0, &third), WEFT_OK);
    assert_int_equal(bring_message("fourth", 6, &none), WEFT_DONE);
    assert_string_equal(seen, "zero.");
    end_sink(third, "third", 0, WEFT_OK);
    assert_string_equal(seen, "zero.");
    end_sink(first, "first", 2, WEFT_OK);
    assert_string_equal(seen, "zero.first.second.third.fourth.");
    assert_int_equal(bring_message("fifth", 5, &none), WEFT_DONE);
    assert_string_equal(seen, "zero.first.second.third.fourth.fifth.");
    assert_null(none);
}

static void none_is_handed_over_behind_a_lost_one(void **state)
{
    weft_sink *first, *none = NULL;

    assert_int_equal(bring_message("first", 2, &first), WEFT_OK);
    assert_int_equal(bring_message("second", 6, &none), WEFT_DONE);
    end_sink(first, "first", 2, WEFT_EPEER);
    assert_string_equal(seen, "");
    assert_null(loc.landings);
}

static void contexts_do_not_wait_for_each_other(void **state)
{
    weft_sink *first, *other, *none = NULL;

    assert_int_equal(bring_message("first", 2, &first), WEFT_OK);
    assert_int_equal(bring_of_context(6, "other", 5, &none), WEFT_DONE);
    assert_string_equal(seen, "other.");
    assert_int_equal(bring_of_context(6, "late", 0, &other), WEFT_OK);
    assert_int_equal(bring_of_context(6, "later", 5, &none), WEFT_DONE);
    end_sink(first, "first", 2, WEFT_OK);
    assert_string_equal(seen, "other.first.");
    end_sink(other, "late", 0, WEFT_OK);
    assert_string_equal(seen, "other.first.late.later.");
    assert_null(loc.landings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_whole_one_waits_for_those_before_it, set_up),
        cmocka_unit_test_setup(none_is_handed_over_behind_a_lost_one, set_up),
        cmocka_unit_test_setup(contexts_do_not_wait_for_each_other, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

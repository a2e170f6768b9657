/* The rules of coll/schedule.h, each by itself.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/resource.h>

#include "coll/run.h"
#include "coll_world.h"

static int trace[64], traced;

static int note_event(void *arg)
{
    trace[traced++] = (int)(intptr_t)arg;
    return MPI_SUCCESS;
}

static int fails_with(void *arg)
{
    return (int)(intptr_t)arg;
}

static int count_call(void *arg)
{
    ++*(int *)arg;
    return MPI_SUCCESS;
}

static int start_case(void **state)
{
    traced = 0;
    fail_after = -1;
    world_open(4, 0, 1);
    return 0;
}

static int stop_case(void **state)
{
    for (int i = 1; i < world_size; i++)
        comms[i].coll_tag = comms[0].coll_tag; /* not every rank took part */
    world_close();
    return 0;
}

static int make_call(struct wf_sched *s, int number)
{
    return wf_sched_call(s, note_event, (void *)(intptr_t)number);
}

static void independent_vertices_start_in_order_of_creation(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);

    for (int i = 0; i < 40; i++)
        assert_int_equal(make_call(s, i), i);
    assert_int_equal(wf_sched_run(s), MPI_SUCCESS);
    assert_int_equal(traced, 40);
    for (int i = 0; i < 40; i++)
        assert_int_equal(trace[i], i);
}

static void a_vertex_starts_after_all_its_dependencies(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    uint32_t word[2] = {0, 0}, got[2] = {0, 0};
    int recv = wf_sched_recv(s, got, 1, &pair_type, 0);
    int first = make_call(s, 1), second = make_call(s, 2);
    int send = wf_sched_send(s, word, 1, &pair_type, 0);

    wf_sched_after(s, first, recv);
    wf_sched_after(s, second, recv);
    wf_sched_after_all(s, make_call(s, 3));
    assert_true(send > second);
    assert_int_equal(wf_sched_run(s), MPI_SUCCESS);
    assert_int_equal(traced, 3);
    assert_int_equal(trace[0], 1);
    assert_int_equal(trace[1], 2);
    assert_int_equal(trace[2], 3);
}

static void a_fence_holds_back_everything_after_it(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    uint32_t a[2] = {1, 2}, b[2] = {0, 0}, c[2] = {0, 0};

    wf_sched_fence(s); /* of nothing */
    wf_sched_send(s, a, 1, &pair_type, 0);
    wf_sched_recv(s, b, 1, &pair_type, 0);
    wf_sched_fence(s);
    wf_sched_fence(s); /* twice is once */
    wf_sched_copy(s, b, 1, &pair_type, c, 1, &pair_type);
    assert_int_equal(wf_sched_run(s), MPI_SUCCESS);
    assert_int_equal(c[0], 1);
    assert_int_equal(c[1], 2);
}

/* Sends become ready in the order 1, 0; they must leave as 0, 1. */
static void messages_of_a_pair_match_in_order_of_creation(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    uint32_t out[2][2] = {{10, 11}, {20, 21}}, in[2][2] = {{0}};
    int gate = wf_sched_recv(s, NULL, 0, &byte_type, 1);
    int send = wf_sched_send(s, out[0], 1, &pair_type, 0);
    struct wf_sched *other = wf_sched_create(&comms[1]);
    struct wf_req *r;

    wf_sched_after(s, send, gate);
    wf_sched_send(s, out[1], 1, &pair_type, 0);
    wf_sched_recv(s, in[0], 1, &pair_type, 0);
    wf_sched_recv(s, in[1], 1, &pair_type, 0);
    wf_sched_send(other, NULL, 0, &byte_type, 0);
    assert_int_equal(wf_sched_start(s, &r), MPI_SUCCESS);
    world_drain();
    assert_false(wf_req_done(r));
    assert_int_equal(wf_sched_run(other), MPI_SUCCESS);
    world_drain();
    assert_true(wf_req_done(r));
    wf_req_release(r);
    assert_int_equal(in[0][0], 10);
    assert_int_equal(in[1][0], 20);
}

static void a_long_chain_needs_no_deep_stack(void **state)
{
    struct rlimit before, small = {256 * 1024, 256 * 1024};
    struct wf_sched *s = wf_sched_create(&comms[0]);
    int n = 0, links = 200000, v, last = -1;

    getrlimit(RLIMIT_STACK, &before);
    small.rlim_max = before.rlim_max;
    for (int i = 0; i < links; i++, last = v) {
        v = wf_sched_call(s, count_call, &n);
        if (last >= 0)
            wf_sched_after(s, v, last);
    }
    setrlimit(RLIMIT_STACK, &small);
    assert_int_equal(wf_sched_run(s), MPI_SUCCESS);
    setrlimit(RLIMIT_STACK, &before);
    assert_int_equal(n, links);
}

static void after_an_error_nothing_is_computed(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    int v;

    make_call(s, 1);
    v = wf_sched_call(s, fails_with, (void *)(intptr_t)MPI_ERR_OTHER);
    wf_sched_after(s, make_call(s, 2), v);
    assert_int_equal(wf_sched_run(s), MPI_ERR_OTHER);
    assert_int_equal(traced, 1);
}

static void after_an_error_others_get_messages_without_bytes(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_sched *t = wf_sched_create(&comms[1]);
    struct wf_req *rs, *rt;
    uint32_t out[2] = {0}, in[2];

    wf_sched_recv(s, in, 1, &pair_type, 1);
    wf_sched_call(s, fails_with, (void *)(intptr_t)MPI_ERR_OTHER);
    wf_sched_fence(s);
    wf_sched_send(s, out, 1, &pair_type, 1);
    wf_sched_send(t, out, 1, &pair_type, 0);
    wf_sched_recv(t, in, 1, &pair_type, 0);
    wf_sched_start(s, &rs);
    assert_false(wf_req_done(rs)); /* rank 1 counts on it */
    wf_sched_start(t, &rt);
    world_drain();
    assert_int_equal(wf_error_class(rs->error), MPI_ERR_OTHER);
    assert_int_equal(wf_error_class(rt->error), MPI_ERR_COUNT);
    wf_req_release(rs);
    wf_req_release(rt);
}

/* The way to a member is lost for want of memory here, and its death is not
 * announced yet. A message without its bytes would be taken for a mistake. */
static void after_a_lost_connection_no_message_begins(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    uint32_t out[2] = {0}, in[2];
    struct wf_req *r, *message;

    wf_sched_recv(s, in, 1, &pair_type, 1);
    wf_sched_fence(s);
    wf_sched_send(s, out, 1, &pair_type, 2);
    wf_sched_start(s, &r);
    message = &fifo_take(&channel_of(comms[0].context, 1, 0)->recvs)->req;
    wf_req_complete(message, wf_req_mark_link_lost(message, WEFT_ENOMEM));
    assert_true(wf_req_done(r));
    assert_int_equal(wf_error_class(r->error), MPI_ERR_NO_MEM);
    assert_int_equal(channel_of(comms[0].context, 0, 2)->sends.n, 0);
    wf_req_release(r);
}

static void a_shorter_message_than_expected_is_an_error(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_sched *t = wf_sched_create(&comms[1]);
    struct wf_req *rs, *rt;
    uint32_t out[4] = {0}, in[4];

    wf_sched_send(s, out, 1, &pair_type, 1);
    wf_sched_recv(t, in, 2, &pair_type, 0);
    wf_sched_start(s, &rs);
    wf_sched_start(t, &rt);
    world_drain();
    assert_int_equal(wf_error_class(rs->error), MPI_SUCCESS);
    assert_int_equal(wf_error_class(rt->error), MPI_ERR_COUNT);
    wf_req_release(rs);
    wf_req_release(rt);
}

static void a_send_that_fails_at_once_is_the_error_of_the_run(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_req *r;

    fail_after = 0;
    make_call(s, 1);
    wf_sched_send(s, NULL, 0, &byte_type, 1);
    assert_int_equal(wf_sched_start(s, &r), MPI_SUCCESS);
    assert_true(wf_req_done(r));
    assert_int_equal(wf_error_class(r->error), MPI_ERR_OTHER);
    wf_req_release(r);
}

static void truncation_is_the_error_of_the_receiver(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_sched *t = wf_sched_create(&comms[1]);
    struct wf_req *rs, *rt;
    uint32_t out[4] = {0}, in[2];

    wf_sched_send(s, out, 2, &pair_type, 1);
    wf_sched_recv(t, in, 1, &pair_type, 0);
    wf_sched_start(s, &rs);
    wf_sched_start(t, &rt);
    world_drain();
    assert_int_equal(wf_error_class(rs->error), MPI_SUCCESS);
    assert_int_equal(wf_error_class(rt->error), MPI_ERR_TRUNCATE);
    wf_req_release(rs);
    wf_req_release(rt);
}

/* The send below is in flight when the schedule fails. */
static void a_failed_run_completes_after_what_is_in_flight(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_sched *t = wf_sched_create(&comms[1]);
    uint32_t in[2] = {0}, *out = wf_sched_alloc_temp(s, 100000);
    struct wf_req *rs, *rt;

    out[0] = 77;
    wf_sched_send(s, out, 1, &pair_type, 1);
    wf_sched_call(s, fails_with, (void *)(intptr_t)MPI_ERR_OTHER);
    wf_sched_start(s, &rs);
    wf_sched_recv(t, in, 1, &pair_type, 0);
    wf_sched_start(t, &rt);
    world_drain();
    assert_int_equal(wf_error_class(rs->error), MPI_ERR_OTHER);
    assert_int_equal(in[0], 77);
    wf_req_release(rs);
    wf_req_release(rt);
}

static void a_request_may_be_released_before_it_completes(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_req *r;
    uint32_t out[2] = {5, 6}, in[2] = {0};

    wf_sched_recv(s, in, 1, &pair_type, 0);
    wf_sched_send(s, out, 1, &pair_type, 0);
    wf_sched_start(s, &r);
    wf_req_release(r);
    world_drain();
    assert_int_equal(in[1], 6);
}

/* Stands for a user operation, which runs outside of the section: another
 * thread makes progress meanwhile. */
static int let_others_progress(void *arg)
{
    instances[0].api.on = true;
    world_drain();
    instances[0].api.on = false;
    return MPI_SUCCESS;
}

/* Messages of two schedules arrive, in a random order, while the second one
 * computes. It ends; the first one is still to be run. */
static void a_schedule_that_has_ended_is_deferred_no_more(void **state)
{
    struct wf_progress *p = instances[0].progress;

    for (int i = 0; i < 50; i++) {
        struct wf_sched *s[2];
        struct wf_req *r[2];
        uint32_t out[2] = {7, 8}, in[2][2] = {{0}};

        for (int k = 0; k < 2; k++) {
            s[k] = wf_sched_create(&comms[0]);
            s[k]->user_op = true;
            wf_sched_recv(s[k], in[k], 1, &pair_type, 0);
            wf_sched_send(s[k], out, 1, &pair_type, 0);
        }
        wf_sched_call(s[1], let_others_progress, NULL);
        for (int k = 0; k < 2; k++)
            assert_int_equal(wf_sched_start(s[k], &r[k]), MPI_SUCCESS);
        assert_true(wf_req_done(r[1]));
        assert_int_equal(in[1][1], 8);
        wf_req_release(r[1]);
        assert_false(wf_list_empty(&p->deferred));
        assert_int_equal(p->run_deferred(&instances[0]), 1);
        assert_true(wf_list_empty(&p->deferred));
        assert_null(p->run_deferred);
        assert_true(wf_req_done(r[0]));
        wf_req_release(r[0]);
    }
}

static void a_persistent_schedule_runs_again(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    uint32_t out[2] = {0, 0}, in[2] = {0, 0};
    struct wf_req *r;
    int recv = wf_sched_recv(s, in, 1, &pair_type, 0);

    wf_sched_after(s, make_call(s, 1), recv);
    wf_sched_send(s, out, 1, &pair_type, 0);
    assert_int_equal(wf_sched_make_persistent(s, &r), MPI_SUCCESS);
    for (uint32_t i = 1; i <= 3; i++) {
        out[0] = i;
        assert_int_equal(r->start(r), MPI_SUCCESS);
        world_drain();
        assert_true(wf_req_done(r));
        assert_int_equal(in[0], i);
        assert_int_equal(traced, (int)i);
    }
    wf_req_release(r);
}

static void builders_remember_that_memory_ran_out(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    struct wf_req *r;

    assert_null(wf_sched_alloc_temp(s, SIZE_MAX - 7));
    make_call(s, 1);
    wf_sched_after_all(s, make_call(s, 2));
    assert_int_equal(wf_sched_run(s), MPI_ERR_NO_MEM);
    assert_int_equal(wf_sched_run(NULL), MPI_ERR_NO_MEM);
    s = wf_sched_create(&comms[0]);
    assert_null(wf_sched_alloc_temp(s, SIZE_MAX - 20));
    assert_int_equal(wf_sched_start(s, &r), MPI_ERR_NO_MEM);
    assert_int_equal(traced, 0);
}

static void finished_schedules_are_used_again(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]), *first = s;

    for (int i = 0; i < 5; i++) {
        make_call(s, i);
        wf_sched_run(s);
        s = wf_sched_create(&comms[0]);
        assert_ptr_equal(s, first);
    }
    wf_sched_destroy(s);
}

static void derived_types_live_as_long_as_the_schedule(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    char buf[96] = {0};

    wf_sched_copy(s, buf + 8, 1, &gap_type, buf + 48, 1, &gap_type);
    assert_int_equal(gap_type.object.refs, 3);
    wf_sched_reduce(s, &compose_op, buf + 8, buf + 48, 1, &gap_type);
    assert_int_equal(compose_op.object.refs, 2);
    wf_sched_destroy(s);
    assert_int_equal(gap_type.object.refs, 1);
}

/* ---- parts of an operation ----------------------------------------------- */

enum { PARTS = 300 };

struct parts {
    int rank, tag, n, error;
    uint32_t out[2], in[2];
};

/* Passes words around, one part after the other. */
static void start_next_part(void *arg, int error)
{
    struct parts *p = arg;
    struct wf_comm *comm = &comms[p->rank];
    struct wf_sched *s;

    if (p->n > 0 && !error)
        assert_int_equal(p->in[0], 100 * p->n + (p->rank + 3) % 4);
    p->error = error;
    if (error || p->n == PARTS)
        return;
    s = p->n ? wf_sched_create_part(comm, p->tag) : wf_sched_create(comm);
    p->tag = wf_sched_tag(s);
    p->n++;
    p->out[0] = (uint32_t)(100 * p->n + p->rank);
    if (p->n % 5 == 0) /* one without messages */
        p->in[0] = (uint32_t)(100 * p->n + (p->rank + 3) % 4);
    else {
        wf_sched_send(s, p->out, 1, &pair_type, (p->rank + 1) % 4);
        wf_sched_recv(s, p->in, 1, &pair_type, (p->rank + 3) % 4);
    }
    wf_sched_start_part(s, start_next_part, p);
}

static void parts_follow_each_other_with_one_tag(void **state)
{
    struct parts p[4];
    uint32_t tag = comms[0].coll_tag;

    for (int i = 0; i < 4; i++) {
        p[i] = (struct parts){.rank = i};
        start_next_part(&p[i], MPI_SUCCESS);
    }
    world_drain();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(p[i].error, MPI_SUCCESS);
        assert_int_equal(p[i].n, PARTS);
        assert_int_equal(comms[i].coll_tag, tag + 1);
    }
}

static void note_error(void *arg, int error)
{
    *(int *)arg = error;
}

static void a_part_tells_its_error(void **state)
{
    struct wf_sched *s = wf_sched_create(&comms[0]);
    int error = -1;

    wf_sched_call(s, fails_with, (void *)(intptr_t)MPI_ERR_IO);
    wf_sched_start_part(s, note_error, &error);
    assert_int_equal(error, MPI_ERR_IO);
    wf_sched_start_part(NULL, note_error, &error);
    assert_int_equal(error, MPI_ERR_NO_MEM);
}

#define RULE(f) cmocka_unit_test_setup_teardown(f, start_case, stop_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(independent_vertices_start_in_order_of_creation),
        RULE(a_vertex_starts_after_all_its_dependencies),
        RULE(a_fence_holds_back_everything_after_it),
        RULE(messages_of_a_pair_match_in_order_of_creation),
        RULE(a_long_chain_needs_no_deep_stack),
        RULE(after_an_error_nothing_is_computed),
        RULE(after_an_error_others_get_messages_without_bytes),
        RULE(after_a_lost_connection_no_message_begins),
        RULE(a_shorter_message_than_expected_is_an_error),
        RULE(a_send_that_fails_at_once_is_the_error_of_the_run),
        RULE(truncation_is_the_error_of_the_receiver),
        RULE(a_failed_run_completes_after_what_is_in_flight),
        RULE(a_request_may_be_released_before_it_completes),
        RULE(a_schedule_that_has_ended_is_deferred_no_more),
        RULE(a_persistent_schedule_runs_again),
        RULE(builders_remember_that_memory_ran_out),
        RULE(finished_schedules_are_used_again),
        RULE(derived_types_live_as_long_as_the_schedule),
        RULE(parts_follow_each_other_with_one_tag),
        RULE(a_part_tells_its_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

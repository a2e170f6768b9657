/* These tests check who may talk to a tcp endpoint: wrong keys, wrong
 * processes, scanners, slow callers, and what a dialler is told.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static const weft_ops *ops;
static struct rig_side all[RIG_SIDES];

static int open_sides(void **state)
{
    ops = weft_plugin_2_tcp.ops;
    rig_open_sides(all, 2, "key");
    return 0;
}

static int close_sides(void **state)
{
    rig_close_sides(all);
    return 0;
}

/* One try of a send that is expected to lead nowhere. */
static void try_to_send(uint32_t from, uint32_t to)
{
    struct rig_peer *p;
    struct rig_tx *t = rig_make(0, 10, false);
    rig_know(&all[from], to);
    p = &all[from].peer[to];
    assert_int_equal(ops->send(p->peer, &t->tx), WEFT_EAGAIN);
    RIG_UNTIL(all, RIG_SIDES, p->downs || p->readies);
    rig_free(t);
}

/* Side 0 may dial side 1, and no time passes for them by itself. */
static void begin_on_stopped_clocks(void)
{
    rig_stop_clock(&all[0]);
    rig_stop_clock(&all[1]);
    rig_know(&all[0], 1);
}

static int make_call(int listener)
{
    struct sockaddr_storage sa;
    socklen_t n = wf_ip_to_sockaddr(&all[1].ep->ip.use[listener].addr, &sa);
    int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&sa, n) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void the_job_goes_on(void)
{
    uint64_t before = all[1].peer[0].got;
    rig_send(all, 2, 0, 1, 5000);
    rig_send(all, 2, 1, 0, 5000);
    RIG_UNTIL(all, 2, all[1].peer[0].got == before + 1 && !all[1].sinks_open);
    assert_int_equal(all[0].peer[1].downs, 0);
    assert_true(all[1].ep->pending <= IP_PENDING_MAX);
}

static void a_wrong_key_ends_with_a_reason_and_harms_no_link(void **state)
{
    struct rig_peer *p;
    rig_open(all, 2, "another key");
    try_to_send(2, 1);
    p = &all[2].peer[1];
    assert_int_equal(p->downs, 1);
    assert_int_equal(p->down_status, WEFT_EAUTH);
    assert_non_null(strstr(p->why, "wrong job key"));
    assert_non_null(strstr(p->why, "127.0.0.1"));
    assert_int_equal(all[1].warnings, 1);
    assert_non_null(strstr(all[1].warning, "call from 127.0.0.1:"));
    try_to_send(1, 2); /* the other way round */
    assert_int_equal(all[1].peer[2].down_status, WEFT_EAUTH);
    assert_int_equal(all[1].warnings, 1); /* said once */
    the_job_goes_on();
}

/* An address that now belongs to another process of the same job. */
static void the_wrong_process_is_recognised(void **state)
{
    uint8_t blob[IP_BLOB_MAX];
    size_t n = sizeof blob;
    struct rig_peer *p = &all[0].peer[3];
    p->me = &all[0];
    ops->address(all[1].ep, blob, &n);
    assert_int_equal(
        ops->peer_add(all[0].ep, (weft_loc *)p, 3, blob, n, &p->peer), WEFT_OK);
    assert_int_equal(ops->connect(p->peer), WEFT_OK);
    RIG_UNTIL(all, 2, p->downs == 1);
    assert_non_null(strstr(p->why, "another process of this job"));
    the_job_goes_on();
}

static void a_failed_connection_lists_every_address_tried(void **state)
{
    struct rig_peer *p;
    rig_open(all, 2, "key");
    rig_know(&all[0], 2);
    ops->close(all[2].ep);
    all[2].ep = NULL;
    try_to_send(0, 2);
    p = &all[0].peer[2];
    assert_int_equal(p->downs, 1);
    assert_int_equal(p->down_status, WEFT_EPEER);
    assert_non_null(strstr(p->why, "lo 127.0.0.1 -> 127.0.0.1:"));
    assert_non_null(strstr(p->why, "Connection refused"));
}

static void a_stranger_that_dials_us_is_not_mistaken_for_a_peer(void **state)
{
    /* a listener that is no Weft process answers our hello with HTTP */
    struct sockaddr_in sa = {.sin_family = AF_INET};
    socklen_t n = sizeof sa;
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int fd = -1;
    char text[32], answer[100] = "HTTP/1.1 400 Bad Request\r\n";
    uint8_t blob[IP_BLOB_MAX];
    size_t len = sizeof blob;
    struct rig_peer *p = &all[0].peer[2];

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(l, (struct sockaddr *)&sa, n), 0);
    assert_int_equal(listen(l, 5), 0);
    getsockname(l, (struct sockaddr *)&sa, &n);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(sa.sin_port));
    assert_int_equal(ops->addr_parse(all[0].ep, text, blob, &len), WEFT_OK);
    p->me = &all[0];
    assert_int_equal(
        ops->peer_add(all[0].ep, (weft_loc *)p, 2, blob, len, &p->peer),
        WEFT_OK);
    ops->connect(p->peer);
    RIG_UNTIL(all, 1, (fd = accept(l, NULL, NULL)) >= 0);
    assert_int_equal(write(fd, answer, sizeof answer), sizeof answer);
    RIG_UNTIL(all, 1, p->downs == 1);
    assert_non_null(strstr(p->why, "not a Weft process"));
    close(fd);
    close(l);
}

/* ---- what a listener or a caller lacks ----------------------------------- */

/* Side 0 calls side 1 until the link is given up; how long that took, in skewed
 * time. */
static struct rig_peer *call_in_vain(void)
{
    struct rig_peer *p = &all[0].peer[1];

    for (uint64_t end = rig_seconds() + 100; !p->downs;) {
        rig_turn(all, 2);
        all[0].skew += 10000000;
        all[1].skew += 10000000;
        if (rig_seconds() > end)
            fail_msg("still calling");
    }
    return p;
}

/* No descriptor beyond those that are open. */
static void forbid_descriptors(struct rlimit *before)
{
    struct rlimit none;
    int next = dup(0);

    close(next);
    getrlimit(RLIMIT_NOFILE, before);
    none = *before;
    none.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &none);
}

/* Callers of a process without descriptors hear so, however long that lasts,
 * and the next one as well. */
static void a_listener_without_descriptors_tells_its_callers(void **state)
{
    struct rlimit before;
    struct rig_peer *p;
    uint64_t since;

    begin_on_stopped_clocks();
    ops->connect(all[0].peer[1].peer); /* it has its socket */
    forbid_descriptors(&before);
    since = all[1].skew;
    p = call_in_vain();
    setrlimit(RLIMIT_NOFILE, &before);
    assert_in_range(all[1].skew - since, 9000000000u, 20000000000u);
    assert_int_equal(p->down_status, WEFT_ESYS);
    assert_non_null(strstr(p->why, "has no descriptor for the call"));
    assert_true(all[1].ep->reserve >= 0);
}

/* Callers are hung up on when even the reserve is of no use, and the
 * process can be called again when there are some. */
static void without_a_spare_descriptor_callers_are_closed(void **state)
{
    struct rlimit before;
    struct rig_peer *p;
    int place;

    rig_open(all, 2, "key");
    close(all[1].ep->reserve);
    all[1].ep->reserve = -1;
    begin_on_stopped_clocks();
    rig_know(&all[2], 1);
    ops->connect(all[0].peer[1].peer);
    place = dup(0); /* where the reserve was */
    forbid_descriptors(&before);
    p = call_in_vain();
    setrlimit(RLIMIT_NOFILE, &before);
    close(place);
    assert_int_equal(p->down_status, WEFT_ELINK);
    ops->connect(all[2].peer[1].peer);
    RIG_UNTIL(all + 1, 2, all[2].peer[1].ups == 1);
}

static void a_caller_without_descriptors_reports_it(void **state)
{
    struct rlimit before;
    struct rig_peer *p;

    begin_on_stopped_clocks();
    forbid_descriptors(&before);
    ops->connect(all[0].peer[1].peer);
    p = call_in_vain();
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(p->down_status, WEFT_ESYS);
    assert_non_null(strstr(p->why, strerror(EMFILE)));
}

static void a_listener_without_memory_tells_its_callers(void **state)
{
    struct rig_peer *p;
    uint64_t since;

    begin_on_stopped_clocks();
    all[1].no_memory = true;
    ops->connect(all[0].peer[1].peer);
    since = all[0].skew;
    p = call_in_vain();
    assert_in_range(all[0].skew - since, 9000000000u, 20000000000u);
    assert_int_equal(p->down_status, WEFT_ENOMEM);
    assert_non_null(strstr(p->why, "has no memory for the call"));
}

static void a_listener_that_has_memory_again_is_reached(void **state)
{
    rig_know(&all[0], 1);
    all[1].no_memory = true;
    ops->connect(all[0].peer[1].peer);
    RIG_UNTIL(all, 2, all[1].ep->count.refused > 2);
    all[1].no_memory = false;
    RIG_UNTIL(all, 2, all[0].peer[1].ups == 1);
    assert_int_equal(all[0].peer[1].downs, 0);
}

/* Accepts, and hangs up every time: bounded retries, then an error. */
static void a_listener_that_hangs_up_is_called_a_few_times_only(void **state)
{
    struct sockaddr_in sa = {.sin_family = AF_INET};
    socklen_t n = sizeof sa;
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int calls = 0;
    char text[32];
    uint8_t blob[IP_BLOB_MAX];
    size_t len = sizeof blob;
    struct rig_peer *p = &all[0].peer[2];

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(l, (struct sockaddr *)&sa, n);
    listen(l, 5);
    getsockname(l, (struct sockaddr *)&sa, &n);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(sa.sin_port));
    ops->addr_parse(all[0].ep, text, blob, &len);
    p->me = &all[0];
    ops->peer_add(all[0].ep, (weft_loc *)p, 2, blob, len, &p->peer);
    ops->connect(p->peer);
    for (uint64_t end = rig_seconds() + 60; !p->downs;) {
        int fd = accept(l, NULL, NULL);
        if (fd >= 0) {
            calls++;
            close(fd);
        }
        rig_progress(&all[0]);
        all[0].skew += 1000000; /* the pauses between calls */
        if (rig_seconds() > end)
            fail_msg("still calling");
    }
    assert_int_equal(calls, TCP_RETRIES);
    assert_non_null(strstr(p->why, "closed during the handshake"));
    close(l);
}

static void noise_on_the_port_does_not_disturb_the_job(void **state)
{
    unsigned seed = 7;
    for (int i = 0; i < 300; i++) {
        uint8_t junk[3000];
        int fd = make_call(i % all[1].ep->ip.n);
        if (fd < 0)
            continue;
        for (size_t k = 0; k < sizeof junk; k++)
            junk[k] = (uint8_t)rand_r(&seed);
        if (i % 3 == 0)
            memcpy(junk, "WFTA\1\1", 6);
        (void)!send(fd, junk, (size_t)(rand_r(&seed) % (int)sizeof junk),
                    MSG_NOSIGNAL);
        if (i % 50 == 0)
            the_job_goes_on();
        rig_turn(all, 2);
        close(fd);
    }
    the_job_goes_on();
    assert_int_equal(all[1].located, 1); /* by the real peer */
}

/* More silent callers than there are places, and a real one among them. */
static void silent_callers_hold_neither_places_nor_the_job(void **state)
{
    enum { CALLERS = 300 };
    static int fds[CALLERS];
    int open_calls = 0, closed = 0;

    for (int i = 0; i < CALLERS; i++) {
        fds[i] = make_call(0);
        open_calls += fds[i] >= 0;
        rig_progress(&all[1]);
        assert_true(all[1].ep->pending <= IP_PENDING_MAX);
    }
    the_job_goes_on(); /* the first connection is made among strangers */
    all[1].skew += 5000000000u;
    RIG_UNTIL(all, 2,
              all[1].ep->pending <= 0 || (all[1].skew += 3000000000u, false));
    for (int i = 0; i < CALLERS; i++) {
        char c;
        if (fds[i] < 0)
            continue;
        closed += recv(fds[i], &c, 1, MSG_DONTWAIT) == 0;
        close(fds[i]);
    }
    assert_true(closed >= open_calls - IP_PENDING_MAX);
    the_job_goes_on();
}

static void call_with_junk(int times)
{
    static const char junk[WEFT_AUTH_MSG] = "no key, but sixty-four bytes";

    for (int i = 0; i < times; i++) {
        int fd = make_call(0);
        assert_true(fd >= 0);
        assert_int_equal(send(fd, junk, sizeof junk, MSG_NOSIGNAL),
                         sizeof junk);
        close(fd);
    }
}

static void many_turns(int n)
{
    for (int i = 0; i < n; i++)
        rig_progress(&all[1]);
}

/* Work for strangers is done as often as the clock allows, not as often as they
 * ask, and then for many at a time. */
static void handshakes_of_strangers_time_out(void **state)
{
    enum { CALLS = 2 * IP_UNKNOWN_CALLERS };
    uint64_t before, heard;

    the_job_goes_on();
    rig_stop_clock(&all[1]);
    all[1].skew += IP_UNKNOWN_CALLERS_NS;
    before = all[1].ep->count.refused;
    call_with_junk(CALLS);
    many_turns(100 * CALLS);
    heard = all[1].ep->count.refused;
    assert_int_equal(heard, before + IP_UNKNOWN_CALLERS);
    for (int i = 0; i < IP_UNKNOWN_CALLERS / IP_BUNDLE; i++) {
        the_job_goes_on();
        all[1].skew += IP_PAUSE_NS;
        many_turns(100);
        heard += IP_BUNDLE;
        assert_int_equal(all[1].ep->count.refused, heard);
    }
    all[1].skew += 2 * IP_UNKNOWN_CALLERS_NS;
    the_job_goes_on();
}

static void a_hello_in_single_bytes_is_cut_off_in_time(void **state)
{
    int fd = make_call(0);
    uint64_t deadline = 0;
    char c;
    assert_true(fd >= 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send(fd, "W", 1, MSG_NOSIGNAL), 1);
        rig_turn(all, 2);
    }
    RIG_UNTIL(all, 2, all[1].ep->pending == 1);
    assert_int_equal(ops->arm(all[1].ep, &deadline), WEFT_OK);
    assert_true(deadline > 0); /* it will be woken for that */
    all[1].skew += 2100000000u;
    rig_turn(all, 2);
    assert_int_equal(all[1].ep->pending, 0);
    assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), 0);
    close(fd);
    the_job_goes_on();
}

/* Its end comes with its first word: the answer finds nobody, and is no signal
 * either. */
static void a_caller_that_has_gone_ends_no_other_link(void **state)
{
    struct linger abrupt = {.l_onoff = 1};
    struct rig_side caller = {.rank = 2, .key = all[0].key};

    for (int i = 0; i < 20; i++) {
        unsigned char hello[WEFT_AUTH_MSG];
        size_t n = sizeof hello;
        uint32_t whom = 1;
        weft_auth *auth = NULL;
        int fd = make_call(0);
        assert_true(fd >= 0);
        assert_int_equal(rig_auth((weft_core *)&caller, &auth, NULL, 0, hello,
                                  &n, &whom),
                         WEFT_EAGAIN);
        assert_int_equal(send(fd, hello, n, 0), n);
        shutdown(fd, SHUT_WR);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
        close(fd);
        rig_auth((weft_core *)&caller, &auth, NULL, 0, NULL, NULL, NULL);
        RIG_UNTIL(all, 2, all[1].ep->pending <= 0);
        rig_turn(all, 2);
    }
    the_job_goes_on();
}

/* A caller whose connect was accepted by the kernel waits as long as the
 * process computes. */
static void a_peer_that_computes_for_long_is_waited_for(void **state)
{
    struct rig_tx *t = rig_make(0, 10, false);
    struct rig_peer *p;
    rig_know(&all[0], 1);
    p = &all[0].peer[1];
    assert_int_equal(ops->send(p->peer, &t->tx), WEFT_EAGAIN);
    for (int i = 0; i < 100; i++) {
        rig_progress(&all[0]);
        all[0].skew += 1000000000u;
    }
    assert_int_equal(p->downs, 0);
    RIG_UNTIL(all, 2, p->readies == 1);
    rig_free(t);
}

static void a_frame_of_unknown_type_breaks_the_link_only(void **state)
{
    struct rig_tx *t;
    rig_send(all, 2, 0, 1, 10);
    t = rig_make(1, 0, false);
    t->hdr.w[0] = 0xfe;
    assert_int_equal(ops->send(all[0].peer[1].peer, &t->tx), WEFT_DONE);
    RIG_UNTIL(all, 2, all[1].peer[0].downs == 1);
    assert_int_equal(all[1].peer[0].down_status, WEFT_EPROTO);
    rig_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_sides, close_sides)
        T(a_wrong_key_ends_with_a_reason_and_harms_no_link),
        T(the_wrong_process_is_recognised),
        T(a_failed_connection_lists_every_address_tried),
        T(a_stranger_that_dials_us_is_not_mistaken_for_a_peer),
        T(a_listener_without_descriptors_tells_its_callers),
        T(without_a_spare_descriptor_callers_are_closed),
        T(a_caller_without_descriptors_reports_it),
        T(a_listener_without_memory_tells_its_callers),
        T(a_listener_that_has_memory_again_is_reached),
        T(a_listener_that_hangs_up_is_called_a_few_times_only),
        T(noise_on_the_port_does_not_disturb_the_job),
        T(silent_callers_hold_neither_places_nor_the_job),
        T(handshakes_of_strangers_time_out),
        T(a_hello_in_single_bytes_is_cut_off_in_time),
        T(a_caller_that_has_gone_ends_no_other_link),
        T(a_peer_that_computes_for_long_is_waited_for),
        T(a_frame_of_unknown_type_breaks_the_link_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

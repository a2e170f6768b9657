/* A peer of udp-reliable that says nothing: one that has ended is found out
 * though nobody sends to it, one that computes is left alone, and one whose
 * host does not answer any more either is given up.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <unistd.h>

#include "udp_rig.h"

#define SECOND UINT64_C(1000000000)

static struct rig_side all[RIG_SIDES];

static void make_pair(uint64_t keepalive)
{
    struct wf_udp_cfg cfg = rig_defaults();

    cfg.keepalive = keepalive;
    cfg.vanished = 5 * keepalive;
    rig_open_with(all, 0, "secret", &cfg);
    rig_open_with(all, 1, "secret", &cfg);
    rig_send(all, 2, 0, 1, 10);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
}

static void end_case(void)
{
    rig_close_sides(all);
}

static void the_end_of_a_peer_is_noticed(void **state)
{
    make_pair(SECOND);
    rig_close(&all[1]);
    for (int i = 0; i < 3; i++) {
        all[0].skew += 2 * SECOND;
        rig_turn(all, 1);
        rig_turn(all, 1);
    }
    RIG_UNTIL(all, 1, all[0].peer[1].downs == 1);
    assert_int_equal(all[0].peer[1].down_status, WEFT_EPEER);
    end_case();
}

static void idle_peers_stay(void **state)
{
    uint64_t asked;

    make_pair(SECOND);
    asked = all[1].ep->count.packets_in;
    for (int i = 0; i < 30; i++) {
        all[0].skew += 2 * SECOND;
        all[1].skew += 2 * SECOND;
        rig_turn(all, 2);
    }
    assert_true(all[1].ep->count.packets_in >= asked + 10);
    rig_send(all, 2, 0, 1, 10);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 2);
    assert_int_equal(all[0].peer[1].downs, 0);
    end_case();
}

/* Its kernel answers for it, also to us. */
static void a_peer_that_computes_is_kept(void **state)
{
    weft_peer *p;

    make_pair(SECOND);
    p = all[0].peer[1].peer;
    all[0].ep->watch.local = false;
    for (int i = 0; i < 30; i++) {
        uint64_t before = p->alive.host;
        all[0].skew += 2 * SECOND;
        RIG_UNTIL(all, 1, p->alive.host > before);
    }
    assert_int_equal(all[0].peer[1].downs, 0);
    rig_send(all, 2, 0, 1, 10);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 2);
    end_case();
}

/* Nothing comes in any more, after the host had answered once: as long as it
 * says it takes, whether there was traffic before or not. */
static void a_host_that_is_silent_is_given_up(void **state)
{
    for (int known = 0; known < 2; known++) {
        weft_peer *p;
        uint64_t begun, now;
        make_pair(SECOND);
        p = all[0].peer[1].peer;
        p->alive.known = known;
        now = begun = rig_now((weft_core *)&all[0]);
        wf_ip_alive_note_answer(&p->alive, now);
        while (p->ip.state == PEER_OPEN && now < begun + 60 * SECOND) {
            now += SECOND / 100;
            wf_udp_alive_check(p, now);
        }
        if (!known) {
            assert_int_equal(p->ip.state, PEER_OPEN);
            end_case();
            continue;
        }
        assert_in_range(now - begun, 5 * SECOND, 5 * SECOND + SECOND / 2);
        rig_turn(all, 1);
        assert_int_equal(all[0].peer[1].downs, 1);
        assert_int_equal(all[0].peer[1].down_status, WEFT_ELINK);
        assert_non_null(strstr(all[0].peer[1].why, "vanished"));
        end_case();
    }
}

/* A datagram that the peer sends by itself is no answer: only this direction
 * works. */
static void packets_that_acknowledge_nothing_are_no_sign(void **state)
{
    weft_peer *p;
    uint64_t before;

    make_pair(SECOND);
    p = all[0].peer[1].peer;
    RIG_UNTIL(all, 2, wf_udp_flow_is_idle(&p->flow));
    before = p->alive.sign;
    wf_udp_alive_note_packet(p, false, before + SECOND);
    assert_int_equal(p->alive.sign, before);
    p->flow.peer_seen++;
    wf_udp_alive_note_packet(p, false, before + SECOND);
    assert_int_equal(p->alive.sign, before + SECOND);
    end_case();
}

/* ---- a peer that runs, and confirms nothing ------------------------------ */

enum { STEP_MS = 10 };
static const uint64_t step = SECOND / 1000 * STEP_MS;
static struct wf_ip_watch watch;
static struct wf_ip_alive alive;

static void ask_nobody(void *ctx, uint64_t now)
{
    struct wf_ip_addr none = {.family = 4};

    wf_ip_alive_ask_host(&watch, &alive, now, &none, &none);
}

/* One that answers a call of its host, or not; of everything else it says when
 * it runs and when it answers, in ms of each period. Seconds until it is given
 * up, 0: it is not. */
static double given_up(bool host, int period, int runs, int answers)
{
    char why[IP_REASON_BYTES] = "";
    uint64_t now = SECOND, begun = now;

    watch = (struct wf_ip_watch){
        .every = SECOND, .vanished = 2 * SECOND, .local = true};
    wf_ip_alive_begin(&alive, now);
    alive.known = host;
    for (int ms = 0; ms < 60000; ms += STEP_MS, now += step) {
        if (host && alive.unanswered) {
            alive.unanswered = 0;
            alive.sign = now;
        }
        if (!wf_ip_alive_check(&watch, &alive, now, ask_nobody, NULL, why)) {
            assert_non_null(strstr(why, "confirmed none of ours"));
            return (double)(now - begun) / (double)SECOND;
        }
        if (runs >= 0 && ms % period == runs)
            wf_ip_alive_note_running(&watch, &alive, now);
        if (answers >= 0 && ms % period == answers)
            wf_ip_alive_note_answer(&alive, now);
    }
    return 0;
}

static void a_peer_that_confirms_nothing_is_given_up(void **state)
{
    for (int host = 0; host < 2; host++) {
        double after = given_up(host, 500, 490, -1);
        assert_true(after >= 2.0 && after < 3.0);
        assert_true(given_up(host, 50, 0, -1) >= 2.0);
    }
}

/* It runs for a moment now and then, and its answer is a little late. */
static void a_peer_that_computes_between_two_messages_is_kept(void **state)
{
    for (int host = 0; host < 2; host++) {
        assert_true(given_up(host, 6000, 5000, 5010) == 0);
        assert_true(given_up(host, 1990, 1000, 1010) == 0);
        assert_true(given_up(host, 60000, 5000, -1) == 0);
        assert_true(given_up(host, 30000, 5000, -1) == 0);
        assert_true(given_up(host, 500, -1, -1) == 0);
    }
}

/* Packets of a peer that has confirmed nothing since: only those sent after it
 * had emptied its socket show that ours are lost. */
static void packets_behind_a_backlog_are_no_evidence(void **state)
{
    weft_peer *p;
    uint64_t now;

    make_pair(SECOND);
    p = all[0].peer[1].peer;
    RIG_UNTIL(all, 2, wf_udp_flow_is_idle(&p->flow));
    now = rig_now((weft_core *)&all[0]);
    for (int drained = 0; drained < 2; drained++) {
        wf_ip_alive_note_answer(&p->alive, now);
        for (int i = 0; i < 60 && p->ip.state == PEER_OPEN; i++) {
            now += SECOND / 10;
            wf_udp_alive_check(p, now);
            wf_udp_alive_note_packet(p, drained, now);
        }
        assert_int_equal(p->ip.state, drained ? PEER_BROKEN : PEER_OPEN);
    }
    rig_turn(all, 1);
    assert_int_equal(all[0].peer[1].downs, 1);
    end_case();
}

/* The datagram that side 1 sends by its timer says whether it had read
 * everything. */
static void the_sender_says_whether_its_socket_was_empty(void **state)
{
    struct sockaddr_storage to;

    for (int backlog = 1; backlog >= 0; backlog--) {
        weft_peer *p;
        socklen_t n;
        int fd;
        make_pair(SECOND);
        p = all[0].peer[1].peer;
        RIG_UNTIL(all, 2, wf_udp_flow_is_idle(&p->flow));
        n = wf_ip_to_sockaddr(&all[1].ep->ip.use[0].addr, &to);
        fd = socket(to.ss_family, SOCK_DGRAM, 0);
        for (int i = 0; i < 5 * backlog; i++)
            assert_int_equal(
                sendto(fd, "noise", 5, 0, (struct sockaddr *)&to, n), 5);
        close(fd);
        p->alive.ignored = 1;
        p->alive.seen = 0;
        all[1].skew += 2 * SECOND; /* time for a question */
        RIG_PLUGIN.ops->progress(all[1].ep, 1);
        rig_turn(all, 1);
        assert_int_equal(p->alive.seen != 0, !backlog);
        end_case();
    }
}

/* Data is owed: an answer to a packet that has none is no sign. */
static void only_data_confirms_data(void **state)
{
    weft_peer *p;
    uint64_t before, una;

    make_pair(SECOND);
    p = all[0].peer[1].peer;
    RIG_UNTIL(all, 2, wf_udp_flow_is_idle(&p->flow));
    before = p->alive.sign;
    una = p->flow.una--;
    p->acked = p->flow.una;
    p->flow.peer_seen++;
    wf_udp_alive_note_packet(p, false, before + SECOND);
    assert_int_equal(p->alive.sign, before);
    p->flow.una = una;
    wf_udp_alive_note_packet(p, false, before + SECOND);
    assert_int_equal(p->alive.sign, before + SECOND);
    end_case();
}

/* The core knows a shorter limit: silence is told, and the link stays. */
static void the_core_is_told_of_silence(void **state)
{
    weft_peer *p;
    uint64_t now;

    make_pair(SECOND);
    p = all[0].peer[1].peer;
    assert_int_equal(wf_udp_alive_silent_ns(p, SECOND), UINT64_MAX);
    p->alive.known = true;
    now = rig_now((weft_core *)&all[0]);
    wf_ip_alive_note_answer(&p->alive, now);
    for (int i = 0; i < 100; i++)
        wf_udp_alive_check(p, now += SECOND / 100);
    assert_int_equal(p->ip.state, PEER_OPEN);
    all[0].skew += SECOND;
    assert_in_range(wf_udp_alive_silent_ns(p, SECOND), SECOND, 3 * SECOND);
    end_case();
}

/* We were away, for longer than all limits together. */
static void a_process_that_was_away_gives_no_peer_up(void **state)
{
    make_pair(SECOND);
    all[0].peer[1].peer->alive.known = true;
    all[0].skew += 100 * SECOND;
    rig_turn(all, 2);
    rig_turn(all, 2);
    assert_int_equal(all[0].peer[1].downs, 0);
    assert_int_equal(all[0].peer[1].peer->alive.unanswered, 0);
    end_case();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_peer_is_noticed),
        cmocka_unit_test(idle_peers_stay),
        cmocka_unit_test(a_peer_that_computes_is_kept),
        cmocka_unit_test(a_host_that_is_silent_is_given_up),
        cmocka_unit_test(packets_that_acknowledge_nothing_are_no_sign),
        cmocka_unit_test(a_peer_that_confirms_nothing_is_given_up),
        cmocka_unit_test(a_peer_that_computes_between_two_messages_is_kept),
        cmocka_unit_test(packets_behind_a_backlog_are_no_evidence),
        cmocka_unit_test(the_sender_says_whether_its_socket_was_empty),
        cmocka_unit_test(only_data_confirms_data),
        cmocka_unit_test(the_core_is_told_of_silence),
        cmocka_unit_test(a_process_that_was_away_gives_no_peer_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

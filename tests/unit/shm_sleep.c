/* plugins/shm: an endpoint that sleeps misses nothing, one that does not sleep
 * costs its peers no bell.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* A lost wake-up is a state and no time: both sleep, nothing is on its way to
 * either, and so nothing ever will be. However long a machine stands still, a
 * process that does not get a CPU is not asleep, or its bell has rung. */
struct rest {
    atomic_uint turns; /* odd: asleep, or gone for good */
    atomic_int fd;     /* that wakes it; -1: nothing does */
};
static struct rest rest_of_a, rest_of_b;
enum { LOOK_MS = 500 };

static struct rest *rest_of(const struct fake_node *n)
{
    return n == &a ? &rest_of_a : &rest_of_b;
}

static struct rest *find_other_rest(const struct fake_node *n)
{
    return n == &a ? &rest_of_b : &rest_of_a;
}

static bool does_ring(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) > 0;
}

static void lie_down(struct fake_node *n, int fd)
{
    atomic_store(&rest_of(n)->fd, fd);
    atomic_fetch_add(&rest_of(n)->turns, 1);
}

/* It takes part no more. */
static void leave_all(struct fake_node *n)
{
    atomic_store(&rest_of(n)->fd, -1);
    atomic_fetch_or(&rest_of(n)->turns, 1);
}

static bool nobody_will_wake(struct fake_node *n)
{
    struct rest *other = find_other_rest(n);
    unsigned turns = atomic_load(&other->turns);
    return turns % 2 != 0 && !does_ring(other->fd, 0) &&
           !does_ring(rest_of(n)->fd, 0) && atomic_load(&other->turns) == turns;
}

/* The descriptor that becomes readable. */
static int news_of(const struct fake_node *n)
{
    int fd = -1;

    assert_int_equal(OPS->event(n->ep, &fd), WEFT_OK);
    return fd;
}

/* Sleep until the endpoint has something to do. */
static bool doze_once(struct fake_node *n)
{
    uint64_t deadline = UINT64_MAX;
    bool lost = false;
    int rc = OPS->arm(n->ep, &deadline);
    if (rc == WEFT_EAGAIN)
        return true;
    if (deadline != UINT64_MAX) {
        does_ring(news_of(n), 2);
        return true;
    }
    lie_down(n, news_of(n));
    while (!lost && !does_ring(news_of(n), LOOK_MS))
        lost = nobody_will_wake(n);
    if (!lost)
        atomic_fetch_add(&rest_of(n)->turns, 1);
    return !lost;
}

static void make_pair(void)
{
    fake_pair(&a, &b, NULL);
    atomic_store(&rest_of_a.turns, 0);
    atomic_store(&rest_of_b.turns, 0);
}

/* Send; when refused, sleep until tx_ready. false: a lost wake-up. */
static bool send_dozing(struct fake_node *n, uint32_t to, uint32_t len)
{
    struct weft_loc *l = &n->loc[to];
    for (;;) {
        int ready = l->ready;
        if (fake_send(n, to, len, 6) >= 0)
            return true;
        for (;;) {
            fake_progress(n);
            if (l->ready != ready)
                break;
            if (!doze_once(n))
                return false;
        }
    }
}

/* Sleep until everything lent has come back. */
static bool flush_dozing(struct fake_node *n, uint32_t to)
{
    struct weft_loc *l = &n->loc[to];
    while (l->tx_back < l->lent) {
        fake_progress(n);
        if (l->tx_back < l->lent && !doze_once(n))
            return false;
    }
    return true;
}

struct talk {
    struct fake_node *me;
    uint32_t other;
    int rounds;
    bool first;
    uint32_t most;
    unsigned seed;
    bool lost;
};

static void wait_for(struct talk *t, uint64_t got)
{
    struct weft_loc *l = &t->me->loc[t->other];
    while (!t->lost && (l->got < got || l->sinking)) {
        fake_progress(t->me);
        if ((l->got < got || l->sinking) && rand_r(&t->seed) % 4 != 0 &&
            !doze_once(t->me))
            t->lost = true;
    }
}

static void *talk_to_peers(void *arg)
{
    struct talk *t = arg;
    for (int i = 1; i <= t->rounds && !t->lost; i++) {
        if (!t->first)
            wait_for(t, (uint64_t)i);
        uint32_t len = (uint32_t)rand_r(&t->seed) % t->most;
        if (!send_dozing(t->me, t->other, len) ||
            !flush_dozing(t->me, t->other))
            t->lost = true;
        if (t->first)
            wait_for(t, (uint64_t)i);
    }
    leave_all(t->me);
    return NULL;
}

static void hold_talk(int rounds, uint32_t most)
{
    pthread_t other;
    make_pair();
    struct talk ta = {&a, 1, rounds, true, most, 5, false};
    struct talk tb = {&b, 0, rounds, false, most, 6, false};
    pthread_create(&other, NULL, talk_to_peers, &tb);
    talk_to_peers(&ta);
    pthread_join(other, NULL);
    assert_false(ta.lost);
    assert_false(tb.lost);
    close_both();
}

static void no_wake_up_is_lost_in_ping_pong(void **state)
{
    (void)state;
    hold_talk(5000, 64);
}

static void no_wake_up_is_lost_with_large_messages(void **state)
{
    (void)state;
    hold_talk(150, 500000);
}

struct flood {
    int messages;
    uint32_t len;
    bool lost;
};

static void *flood_peer(void *arg)
{
    struct flood *f = arg;
    for (int i = 0; i < f->messages && !f->lost; i++)
        f->lost = !send_dozing(&a, 1, f->len);
    f->lost = f->lost || !flush_dozing(&a, 1);
    leave_all(&a);
    return NULL;
}

/* The sender sleeps for room, the receiver for messages. */
static void run_flood(int messages, uint32_t len)
{
    pthread_t thread;
    struct flood f = {messages, len, false};
    bool lost = false;
    make_pair();
    pthread_create(&thread, NULL, flood_peer, &f);
    while (!lost && b.loc[0].got < (uint64_t)f.messages) {
        fake_progress(&b);
        if (b.loc[0].got < (uint64_t)f.messages && !doze_once(&b))
            lost = true;
    }
    leave_all(&b);
    pthread_join(thread, NULL);
    assert_false(lost || f.lost);
    close_both();
}

static void a_blocked_sender_is_woken_by_room(void **state)
{
    (void)state;
    run_flood(5000, 8);
    run_flood(1000, 3000);
    run_flood(200, 20000);
}

static void connect_both(void)
{
    fake_send(&a, 1, 8, 6);
    for (int i = 0; i < 600; i++)
        progress_both();
    while (fake_send(&a, 1, 8, 6) < 0)
        fake_progress(&a);
    fake_progress(&b);
}

static void a_bell_is_rung_once_per_sleep(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    connect_both();
    uint64_t before = read_count(&a, "bells_rung");
    for (int i = 0; i < 10; i++)
        fake_send(&a, 1, 8, 6);
    assert_true(read_count(&a, "bells_rung") == before); /* nobody sleeps */
    fake_progress(&b);
    uint64_t deadline = UINT64_MAX;
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_OK);
    assert_true(deadline == UINT64_MAX);
    struct pollfd p = {.fd = news_of(&b), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    for (int i = 0; i < 10; i++)
        fake_send(&a, 1, 8, 6);
    assert_true(read_count(&a, "bells_rung") == before + 1);
    assert_int_equal(poll(&p, 1, 0), 1);
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_EAGAIN);
    fake_progress(&b);
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_OK);
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_OK);
    fake_close(&a, &b);
    assert_int_equal(poll(&p, 1, 0), 1); /* the goodbye */
    fake_progress(&b);
    fake_close(&b, NULL);
}

static void arm_refuses_while_something_waits(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    connect_both();
    fake_send(&a, 1, 8, 6);
    uint64_t deadline = UINT64_MAX;
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_EAGAIN);
    fake_progress(&b);
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_OK);
    fake_progress(&b);
    close_both();
}

/* The core has no memory for it: to look again would not help. */
static void a_refused_message_keeps_no_process_awake(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    connect_both();
    b.answer = PAUSE;
    fake_send(&a, 1, 8, 6);
    OPS->progress(b.ep, 16);
    assert_true(b.loc[0].paused);
    uint64_t deadline = UINT64_MAX;
    assert_int_equal(OPS->arm(b.ep, &deadline), WEFT_OK);
    b.answer = 0;
    fake_receive_all(&b, &a); /* takes it again */
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost_in_ping_pong),
        cmocka_unit_test(no_wake_up_is_lost_with_large_messages),
        cmocka_unit_test(a_blocked_sender_is_woken_by_room),
        cmocka_unit_test(a_bell_is_rung_once_per_sleep),
        cmocka_unit_test(arm_refuses_while_something_waits),
        cmocka_unit_test(a_refused_message_keeps_no_process_awake)};
    return cmocka_run_group_tests_name("shm sleep", tests, NULL, NULL);
}

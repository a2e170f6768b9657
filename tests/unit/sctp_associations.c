/* sctp: several associations with a peer. Sides that have different numbers of
 * them meet; containers keep their order; what comes before its header waits
 * with us up to a limit, and then with the sender.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sctp_clock.h"
#include "sctp_fake.h"

enum { WIRE = 4096, LONG = 20000, MTU = 1400, STEPS = 20000, MB = 1 << 20 };

struct packet {
    uint32_t assoc;
    uint64_t due;
    size_t n;
    uint8_t *bytes;
};

struct side {
    struct fake f; /* first: the core */
    struct side *other;
    struct packet wire[WIRE]; /* on the way to this side */
    int packets;
    bool deaf; /* nothing arrives of the first association */
    unsigned lost;         /* one packet of so many */
    unsigned delay, queue; /* ms on the way, ms in a queue */
    uint32_t random;
    bool watched; /* the number of associations may change */
    uint64_t sent;
    int lent, room;
};

/* A container on its way. */
struct parcel {
    weft_tx tx;
    struct side *of;
    struct iovec v;
    uint8_t head[64] __attribute__((aligned(64)));
};

static uint8_t zeros[LONG];

/* ---- the core ------------------------------------------------------------ */

static void tx_done(weft_core *core, weft_tx *tx, int status)
{
    struct parcel *p = (struct parcel *)tx;

    p->of->lent--;
    free(p);
}

static void tx_ready(weft_core *core, weft_loc *loc)
{
    ((struct side *)core)->room = 1;
}

static uint64_t time_now(weft_core *core)
{
    return atomic_load(&clock_ns);
}

static weft_host host;

static int prepare_case(void **state)
{
    host = fake_host;
    host.tx_done = tx_done;
    host.tx_ready = tx_ready;
    host.now_ns = time_now;
    return 0;
}

/* ---- the network --------------------------------------------------------- */

static bool is_lost(struct side *to)
{
    to->random = to->random * 1664525u + 1013904223u;
    return to->lost && (to->random >> 8) % to->lost == 0;
}

static void read_output(void *ctx, const void *bytes, size_t n)
{
    const struct wf_sctp_assoc *s = ctx;
    struct side *to = ((struct side *)s->peer->ep->ip.core)->other;
    struct packet *p = &to->wire[to->packets];

    if (to->packets == WIRE || (to->deaf && s->number == 0) || is_lost(to))
        return;
    p->due = atomic_load(&clock_ns) + (to->delay + to->queue) * 1000000u;
    p->assoc = s->number;
    p->n = n;
    p->bytes = malloc(n);
    memcpy(p->bytes, bytes, n);
    to->packets++;
}

/* Its packets go our way. */
static struct wf_sctp_assoc *tap_association(struct side *s, uint32_t number)
{
    struct wf_sctp_assoc *assoc = wf_sctp_assoc_get(s->f.peer, number);

    assert_non_null(assoc);
    assoc->user.output = read_output;
    return assoc;
}

static void let_arrive(struct side *s)
{
    struct packet here[WIRE];
    int n = s->packets;
    weft_peer *p = s->f.peer;

    memcpy(here, s->wire, (size_t)n * sizeof *here);
    s->packets = 0;
    for (int i = 0; i < n; i++) {
        if (here[i].due > atomic_load(&clock_ns)) {
            s->wire[s->packets++] = here[i];
            continue;
        }
        wf_sctp_user_input(&tap_association(s, here[i].assoc)->user,
                           here[i].bytes, here[i].n);
        p->unread |= 1u << here[i].assoc;
        wf_sctp_take_arrived(p);
        free(here[i].bytes);
    }
    wf_sctp_finish_sends(p);
    wf_sctp_assocs_make_room(p);
    if (s->watched)
        wf_sctp_spread_watch(p, atomic_load(&clock_ns));
    for (uint32_t i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i])
            tap_association(s, i);
}

static void take_step(struct side *a, struct side *b)
{
    let_arrive(a);
    let_arrive(b);
    wf_sctp_stack_tick(clock_forward_ms());
}

static struct side *open_side(int associations)
{
    struct side *s = calloc(1, sizeof *s);
    weft_peer *p;

    fake_open(&s->f);
    s->f.rx_answer = WEFT_OK;
    s->f.ep.ip.host = &host;
    s->f.ep.ip.core = (weft_core *)s;
    s->f.ep.cfg.associations = associations;
    s->f.ep.calls.room = 2 * MB;
    p = s->f.peer;
    p->up = false;
    p->packet = MTU;
    p->fragment = MTU - 64;
    p->exit.fd = -1; /* the first packets are lost, and come again */
    p->ep->scratch = malloc(SCTP_RBUF);
    p->ep->message = malloc(SCTP_RBUF);
    assert_int_equal(wf_sctp_assocs_open(p), WEFT_OK);
    for (int i = 0; i < associations; i++)
        tap_association(s, (uint32_t)i);
    return s;
}

static void close_side(struct side *s)
{
    wf_sctp_assocs_close(s->f.peer);
    wf_sctp_tx_cancel(s->f.peer, WEFT_ECANCEL);
    assert_int_equal(s->lent, 0);
    while (s->packets)
        free(s->wire[--s->packets].bytes);
    free(s->f.ep.scratch);
    free(s->f.ep.message);
    fake_close(&s->f);
    free(s);
}

static void connect_both(struct side **a, int m, struct side **b, int n)
{
    char why[300];

    if (wf_sctp_stack_enter(why, sizeof why) < 0) {
        print_message("left out: %s\n", why);
        skip();
    }
    *a = open_side(m);
    *b = open_side(n);
    (*a)->other = *b;
    (*b)->other = *a;
    for (int i = 0; i < STEPS && !((*a)->f.peer->up && (*b)->f.peer->up); i++)
        take_step(*a, *b);
    assert_true((*a)->f.peer->up && (*b)->f.peer->up);
}

static void part_of(struct side *a, struct side *b)
{
    assert_int_equal(a->f.peer->ip.state, PEER_OPEN);
    assert_int_equal(b->f.peer->ip.state, PEER_OPEN);
    close_side(a);
    close_side(b);
    wf_sctp_stack_leave();
}

/* ---- containers ---------------------------------------------------------- */

/* One more, if there is room. */
static bool send_one(struct side *s)
{
    struct parcel *p = aligned_alloc(64, sizeof *p);
    int rc;

    memset(p, 0, sizeof *p);
    fake_header(p->head, LONG, s->sent);
    p->of = s;
    p->v = (struct iovec){.iov_base = zeros, .iov_len = LONG};
    p->tx = (weft_tx){
        .hdr = (weft_hdr *)p->head, .one = p->v, .len = LONG};
    rc = wf_sctp_tx(s->f.peer, &p->tx);
    assert_true(rc == WEFT_OK || rc == WEFT_DONE || rc == WEFT_EAGAIN);
    s->lent += rc == WEFT_OK;
    s->sent += rc != WEFT_EAGAIN;
    if (rc != WEFT_OK)
        free(p);
    return rc != WEFT_EAGAIN;
}

static void exchange_messages(struct side *a, struct side *b, int count)
{
    for (int i = 0;
         i < STEPS && (a->f.finished < count || b->f.finished < count); i++) {
        while (a->sent < (uint64_t)count && send_one(a))
            ;
        while (b->sent < (uint64_t)count && send_one(b))
            ;
        take_step(a, b);
    }
    assert_int_equal(a->f.finished, count);
    assert_int_equal(b->f.finished, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(a->f.first[i], i);
        assert_int_equal(b->f.first[i], i);
    }
}

static void sides_with_different_numbers_keep_the_order(void **state)
{
    static const int numbers[][2] = {{1, 1}, {4, 1}, {3, 16}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct side *a, *b;
        connect_both(&a, numbers[i][0], &b, numbers[i][1]);
        exchange_messages(a, b, FAKE_SINKS);
        assert_int_equal(a->f.failed + b->f.failed, 0);
        assert_non_null(b->f.peer->assoc[numbers[i][0] - 1]);
        assert_non_null(a->f.peer->assoc[numbers[i][1] - 1]);
        part_of(a, b);
    }
}

static void unannounced_payload_waits_at_the_sender(void **state)
{
    struct side *a, *b;
    int steps = 0;

    connect_both(&a, 4, &b, 4);
    b->deaf = true;
    for (; steps < STEPS / 4; steps++) {
        for (int i = 0; i < 10 && send_one(a); i++)
            ;
        take_step(a, b);
        assert_true(b->f.peer->early_bytes <= SCTP_EARLY_MAX / 2 + MTU);
    }
    assert_true(b->f.peer->early_bytes >= SCTP_EARLY_MAX / 2);
    assert_int_equal(b->f.shown, 0);
    b->deaf = false;
    for (; steps < STEPS && (uint64_t)b->f.shown < a->sent; steps++)
        take_step(a, b);
    assert_int_equal(b->f.shown, a->sent);
    assert_int_equal(b->f.peer->early_bytes, 0);
    part_of(a, b);
}

static void there_are_no_more_than_sixteen(void **state)
{
    struct side *a, *b;

    connect_both(&a, 1, &b, 1);
    assert_null(wf_sctp_assoc_get(a->f.peer, ASSOCS_MAX));
    assert_null(wf_sctp_assoc_get(a->f.peer, UINT32_MAX));
    part_of(a, b);
}

/* ---- their number follows what is lost (spread.c) ------------------------ */

enum { CALM = 15, STANDING = 20 }; /* ms, after 10; answers come 5 late */

static int judge_loss(struct wf_sctp_spread *s, uint32_t repeated,
                      uint32_t rtt_ms)
{
    const struct wf_sctp_loss_sample seen = {repeated, rtt_ms, true};

    wf_sctp_spread_judge(s, &seen, 1, 16);
    return s->now;
}

static void losses_without_a_queue_double_their_number(void **state)
{
    struct wf_sctp_spread s = {.now = 1};

    assert_int_equal(judge_loss(&s, 0, 10), 1);
    assert_int_equal(judge_loss(&s, 7, CALM), 1);
    assert_int_equal(judge_loss(&s, 1, CALM), 2);
    assert_int_equal(judge_loss(&s, 3, CALM), 2);
    assert_int_equal(judge_loss(&s, 1, CALM), 4);
    for (int i = 0; i < 10; i++)
        judge_loss(&s, 8, CALM);
    assert_int_equal(s.now, 16);
}

static void losses_in_a_queue_halve_it(void **state)
{
    struct wf_sctp_spread s = {.now = 16};

    judge_loss(&s, 0, 10);
    assert_int_equal(judge_loss(&s, 8, STANDING), 8);
    assert_int_equal(judge_loss(&s, 1, CALM), 8);
    assert_int_equal(judge_loss(&s, 3, STANDING), 4);
    for (int i = 0; i < 10; i++)
        judge_loss(&s, 8, STANDING);
    assert_int_equal(s.now, 1);
}

static void a_short_path_and_a_silent_peer_change_nothing(void **state)
{
    struct wf_sctp_spread s = {.now = 1}, t = {.now = 1};
    const struct wf_sctp_loss_sample silent = {100, 10, false};

    for (int i = 0; i < 10; i++) {
        assert_int_equal(judge_loss(&s, 100, 2), 1);
        wf_sctp_spread_judge(&t, &silent, 1, 16);
        assert_int_equal(t.now, 1);
    }
}

/* Associations of b's after a has sent so much over such a way. */
static int spread_after(unsigned lost, unsigned delay, unsigned queue)
{
    struct side *a, *b;
    int n;

    connect_both(&a, 1, &b, 1);
    a->f.ep.cfg.associations_max = b->f.ep.cfg.associations_max = 8;
    a->delay = b->delay = delay;
    for (int i = 0; i < 4; i++)
        exchange_messages(a, b, 1 + i); /* the shortest round trip is known */
    a->lost = b->lost = lost;
    a->queue = b->queue = queue;
    a->watched = b->watched = true;
    exchange_messages(a, b, FAKE_SINKS);
    assert_int_equal(a->f.failed + b->f.failed, 0);
    n = a->f.peer->spread.now;
    for (int i = 0; i < n; i++)
        assert_true(a->f.peer->assoc[i]->up);
    part_of(a, b);
    return n;
}

static void a_long_lossy_path_gets_more_and_keeps_the_order(void **state)
{
    assert_in_range(spread_after(20, 5, 0), 2, 8);
    assert_int_equal(spread_after(0, 5, 0), 1);
    assert_int_equal(spread_after(50, 0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_with_different_numbers_keep_the_order),
        cmocka_unit_test(unannounced_payload_waits_at_the_sender),
        cmocka_unit_test(there_are_no_more_than_sixteen),
        cmocka_unit_test(losses_without_a_queue_double_their_number),
        cmocka_unit_test(losses_in_a_queue_halve_it),
        cmocka_unit_test(a_short_path_and_a_silent_peer_change_nothing),
        cmocka_unit_test(a_long_lossy_path_gets_more_and_keeps_the_order)};
    return cmocka_run_group_tests(tests, prepare_case, NULL);
}

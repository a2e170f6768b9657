/* Ordered pairs with several carriers: what limits a container, and which
 * carrier takes the pieces of large messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/route.h"
#include "datatype/predefined.h"
#include "order_rig.h"
#include "os/tuning.h"
#include "protocol/carrier.h"
#include "protocol/order_deliver.h"
#include "protocol/stripe.h"

/* Of several carriers the smallest says how much payload a container takes;
 * those that are sealed have a header less. */
static void the_smallest_carrier_limits_all(void **state)
{
    const struct wf_route_failover sealed = {.encrypt = true},
                                   plain = {.several = true},
                                   striped = {.several = true, .stripe = true};

    assert_int_equal(open_order(&sealed, 3000, 1 << 20), 0);
    assert_int_equal(loc->lane[0].max_payload, 3000 - WEFT_HDR);
    close_order();
    assert_int_equal(open_order(&sealed, 1 << 20, 3000), 0);
    assert_int_equal(loc->lane[0].max_payload, 3000 - WEFT_HDR);
    close_order();
    assert_int_equal(open_order(&plain, 1 << 20, 1 << 20), 0);
    assert_int_equal(loc->lane[0].max_payload, WF_ORDER_CHUNK);
    close_order();
    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    assert_int_equal(loc->lane[0].max_payload, WF_STRIPE_PIECE);
    close_order();
}

/* ---- pieces -------------------------------------------------------------- */

static const struct wf_route_failover striped = {
    .several = true, .stripe = true, .timeout = 60000 * MS};

/* One message of many pieces, which are handed over as they are taken. */
static struct wf_p2p *make_message(uint64_t pieces)
{
    struct wf_p2p *p = calloc(1, (sizeof *p + 127) / 128 * 128);

    assert_non_null(p);
    p->loc = loc;
    p->type = wf_type_of(MPI_BYTE);
    p->expected = p->bytes = p->count = pieces * WF_STRIPE_PIECE;
    return p;
}

static bool next_piece(struct wf_p2p *p)
{
    if (p->moved >= p->expected)
        return false;
    memset(&p->tx, 0, sizeof p->tx);
    p->tx.hdr.type = WF_TRANSFER;
    p->tx.hdr.ver = WF_WIRE_VERSION;
    p->tx.tx.hdr = (weft_hdr *)&p->tx.hdr;
    p->tx.tx.len = WF_STRIPE_PIECE;
    p->offset = p->moved;
    if (wf_order_send((weft_peer *)order, &p->tx.tx) != WEFT_DONE)
        return false;
    p->moved += WF_STRIPE_PIECE;
    return true;
}

static uint32_t find_oldest(void)
{
    uint32_t least = order->next;

    for (int k = 0; k < CARRIERS; k++)
        if (fakes[k].n && fakes[k].seq[0] < least)
            least = fakes[k].seq[0];
    return least;
}

/* The first carrier overtakes the second with the news of where none is
 * missing. */
static bool told_by_first;

/* The oldest piece of a carrier arrives, and its sender is told by one message:
 * which piece, and up to where there is none missing. */
static void land_piece(int k)
{
    struct wf_wire w = {.type = WF_ACK | WF_SEQUENCED};
    struct fake *f = &fakes[k];

    assert_in_range(f->n, 1, MOST);
    w.a = wf_le64(UINT64_C(1) << 32 | f->seq[0]);
    memmove(f->seq, f->seq + 1, (size_t)--f->n * sizeof *f->seq);
    w.ack = wf_le32(find_oldest());
    if (told_by_first) {
        struct wf_wire all = {.type = WF_ACK | WF_SEQUENCED, .ack = w.ack};
        wf_order_deliver(order, &links.eps[0], 0, &all, NULL);
    }
    wf_order_deliver(order, &links.eps[k], k, &w, NULL);
}

/* One millisecond; a carrier lands a piece each `takes` of them that it has
 * any, for `age` of which it has had it. */
static void advance_clock(struct wf_p2p *p, const int *takes, int *age)
{
    for (int k = 0; k < CARRIERS; k++) {
        age[k] = fakes[k].n ? age[k] + 1 : 0;
        if (!takes[k] || age[k] < takes[k])
            continue;
        age[k] = 0;
        land_piece(k);
    }
    while (next_piece(p))
        ;
    wf_orders_maintain(&wf);
    now += MS;
}

static void run_case(struct wf_p2p *p, int ms, const int *takes)
{
    int age[CARRIERS] = {0};

    for (int t = 0; t < ms; t++)
        advance_clock(p, takes, age);
}

/* Messages of 32 pieces, each after the other; how many ms they take. */
static int deliver_message(int messages, const int *takes)
{
    int age[CARRIERS] = {0}, ms = 0;

    for (int i = 0; i < messages; i++) {
        struct wf_p2p *p = make_message(32);
        do {
            advance_clock(p, takes, age);
            assert_in_range(++ms, 1, 1000000); /* else it never ends */
            for (int k = 0; k < CARRIERS; k++)
                if (fakes[k].pings)
                    take_pong(k);
        } while (p->moved < p->expected || fakes[0].n || fakes[1].n);
        free(p);
    }
    return ms;
}

static void carriers_share_by_what_they_move(void **state)
{
    static const int takes[CARRIERS] = {1, 4};
    struct wf_p2p *p;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    p = make_message(1000);
    run_case(p, 400, takes);
    assert_in_range(fakes[0].taken, 380, 430);
    assert_in_range(fakes[1].taken, 80, 110);
    assert_int_equal(order->counts[WF_ORDER_STRIPED], fakes[1].taken);
    assert_in_range(fakes[0].n, 1, 25); /* 20 ms, not all there is */
    assert_in_range(fakes[1].n, 1, 8);
    close_order();
    free(p);
}

/* Between its pieces the second carrier has none in flight, so that it seems to
 * deliver any number of them in the time of one. */
static void a_carrier_is_measured_when_another_one_tells_first(void **state)
{
    static const int takes[CARRIERS] = {8, 6}, only_second[CARRIERS] = {0, 6};
    struct wf_p2p *p;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    order->carrier[1].flight =
        (struct wf_flight){.base = 6 * MS, .most = 1, .known = true};
    order->carrier[0].flight = (struct wf_flight){
        .base = 8 * MS, .slope = 30, .most = 1, .known = true};
    told_by_first = true;
    p = make_message(400);
    run_case(p, 100, only_second);
    run_case(p, 900, takes);
    assert_in_range(fakes[0].taken, 50, 150);
    told_by_first = false;
    close_order();
    free(p);
}

static void a_carrier_without_a_sign_takes_no_piece(void **state)
{
    static const int takes[CARRIERS] = {1, 1};
    struct wf_p2p *p;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    p = make_message(50);
    run_case(p, 100, takes);
    assert_int_equal(fakes[0].taken, 50);
    assert_int_equal(fakes[1].taken, 0);
    assert_int_equal(fakes[1].pings, 1); /* it was asked */
    close_order();
    free(p);
}

static void small_messages_stay_on_the_first(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION};

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    for (int i = 0; i < 20; i++)
        assert_int_equal(wf_order_send_short((weft_peer *)order,
                                        (const weft_hdr *)&w, "x", 1, 0),
                         WEFT_DONE);
    assert_int_equal(fakes[0].taken, 20);
    assert_int_equal(fakes[1].taken, 0);
    close_order();
}

/* The tail of a message does not go by one that the other overtakes. */
static void the_last_pieces_take_the_faster_carrier(void **state)
{
    static const int takes[CARRIERS] = {1, 40};
    struct wf_p2p *p;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    p = make_message(1000);
    run_case(p, 300, takes);
    free(p);
    while (fakes[0].n)
        land_piece(0);
    while (fakes[1].n)
        land_piece(1);
    fakes[1].taken = 0;
    p = make_message(10);
    run_case(p, 30, takes);
    assert_int_equal(p->moved, p->expected);
    assert_int_equal(fakes[1].taken, 0);
    close_order();
    free(p);
}

/* A lost packet, or a machine that stands still, makes the first pieces take
 * longer than the whole message by the other. */
static void a_carrier_slow_at_first_gets_its_share_later(void **state)
{
    static const int slow[CARRIERS] = {400, 10}, even[CARRIERS] = {10, 10};

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    deliver_message(1, slow);
    deliver_message(20, even);
    fakes[0].taken = fakes[1].taken = 0;
    deliver_message(10, even);
    assert_in_range(fakes[0].taken, 100, 220);
    close_order();
}

static void a_carrier_that_stays_slow_is_rarely_tried_again(void **state)
{
    static const int takes[CARRIERS] = {10, 1000};

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    deliver_message(10, takes);
    assert_in_range(deliver_message(100, takes), 100 * 300,
                    100 * 320 * 115 / 100);
    close_order();
}

/* The time of a piece that has the carrier to itself: a shorter one counts at
 * once, a longer one step by step. */
static void a_path_that_gets_longer_is_learned(void **state)
{
    static const int takes[] = {10, 20, 5};

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 60; n++) {
            uint64_t before = order->carrier[0].flight.base;
            struct wf_p2p *p = make_message(1);
            assert_true(next_piece(p));
            now += takes[i] * MS;
            land_piece(0);
            free(p);
            if (before && before < takes[i] * MS)
                assert_in_range(order->carrier[0].flight.base, before,
                                takes[i] * MS);
        }
        assert_in_range(order->carrier[0].flight.base,
                        takes[i] * MS * 95 / 100, takes[i] * MS);
    }
    close_order();
}

/* The peer answers on the first carrier only. */
static void pieces_of_a_silent_carrier_go_by_the_other(void **state)
{
    static const int takes[CARRIERS] = {1, 1}, alone[CARRIERS] = {1, 0};
    struct wf_p2p *p;
    int had;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    order->carrier[1].up = true;
    p = make_message(400);
    run_case(p, 50, takes);
    had = fakes[1].n;
    assert_in_range(had, 1, MOST);
    for (int ms = 0; ms < 120; ms += 2) {
        run_case(p, 2, alone);
        if (fakes[0].pings)
            take_pong(0);
    }
    assert_int_equal(order->carrier[1].state, WF_CARRIER_BROKEN);
    assert_int_equal(order->carrier[1].flight.bytes, 0);
    assert_in_range(order->counts[WF_ORDER_RESENT], had, MOST);
    assert_int_equal(order->at, 0);
    run_case(p, 500, alone);
    assert_null(order->first); /* all arrived, by the first */
    assert_int_equal(p->moved, p->expected);
    close_order();
    free(p);
}

/* Pieces that end without having arrived no longer count as under way on their
 * carrier, and on no other. */
static void finished_pieces_leave_their_carrier(void **state)
{
    static const uint64_t piece = WF_STRIPE_PIECE;

    assert_int_equal(open_order(&striped, 1 << 20, 1 << 20), 0);
    for (int k = 0; k < CARRIERS; k++) {
        struct wf_retained r = {.via = (int8_t)k};
        r.tx.tx.len = WF_STRIPE_PIECE;
        wf_stripe_note_sent(order, 0,
                            &(struct wf_retained){.tx.tx.len = piece});
        wf_stripe_note_sent(order, k, &r);
        wf_stripe_end_flight(order, &r);
        assert_false(r.flying);
        assert_int_equal(order->carrier[0].flight.bytes, (k + 1) * piece);
        assert_int_equal(order->carrier[1].flight.bytes, 0);
        wf_stripe_end_flight(order, &r); /* again: nothing more is taken off */
        assert_int_equal(order->carrier[0].flight.bytes, (k + 1) * piece);
    }
    close_order();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_carrier_limits_all),
        cmocka_unit_test(carriers_share_by_what_they_move),
        cmocka_unit_test(a_carrier_is_measured_when_another_one_tells_first),
        cmocka_unit_test(a_carrier_without_a_sign_takes_no_piece),
        cmocka_unit_test(small_messages_stay_on_the_first),
        cmocka_unit_test(the_last_pieces_take_the_faster_carrier),
        cmocka_unit_test(a_carrier_slow_at_first_gets_its_share_later),
        cmocka_unit_test(a_carrier_that_stays_slow_is_rarely_tried_again),
        cmocka_unit_test(a_path_that_gets_longer_is_learned),
        cmocka_unit_test(pieces_of_a_silent_carrier_go_by_the_other),
        cmocka_unit_test(finished_pieces_leave_their_carrier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

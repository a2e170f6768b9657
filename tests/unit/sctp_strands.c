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
    uint32_t strand;
    size_t n;
    uint8_t *bytes;
};

struct side {
    struct fake f; /* first: the core */
    struct side *other;
    struct packet wire[WIRE]; /* on the way to this side */
    int packets;
    bool deaf; /* nothing arrives of the first association */
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

static weft_host host;

static int prepare(void **state)
{
    host = fake_host;
    host.tx_done = tx_done;
    host.tx_ready = tx_ready;
    return 0;
}

/* ---- the network --------------------------------------------------------- */

static void output(void *ctx, const void *bytes, size_t n)
{
    const struct wf_sctp_strand *s = ctx;
    struct side *to = ((struct side *)s->peer->ep->core)->other;
    struct packet *p = &to->wire[to->packets];

    if (to->packets == WIRE || (to->deaf && s->number == 0))
        return;
    p->strand = s->number;
    p->n = n;
    p->bytes = malloc(n);
    memcpy(p->bytes, bytes, n);
    to->packets++;
}

/* Its packets go our way. */
static struct wf_sctp_strand *tapped(struct side *s, uint32_t number)
{
    struct wf_sctp_strand *strand = wf_sctp_strand_at(s->f.peer, number);

    assert_non_null(strand);
    strand->assoc.output = output;
    return strand;
}

static void arrive(struct side *s)
{
    struct packet here[WIRE];
    int n = s->packets;
    weft_peer *p = s->f.peer;

    memcpy(here, s->wire, (size_t)n * sizeof *here);
    s->packets = 0;
    for (int i = 0; i < n; i++) {
        wf_sctp_input(&tapped(s, here[i].strand)->assoc, here[i].bytes,
                      here[i].n);
        p->unread |= 1u << here[i].strand;
        wf_sctp_take(p);
        free(here[i].bytes);
    }
    wf_sctp_flush(p);
    wf_sctp_strands_tend(p);
}

static void step(struct side *a, struct side *b)
{
    arrive(a);
    arrive(b);
    wf_sctp_tick(clock_forward_ms());
}

static struct side *open_side(int associations)
{
    struct side *s = calloc(1, sizeof *s);
    weft_peer *p;

    fake_open(&s->f);
    s->f.rx_answer = WEFT_OK;
    s->f.ep.host = &host;
    s->f.ep.core = (weft_core *)s;
    s->f.ep.cfg.associations = associations;
    s->f.ep.calls.room = 2 * MB;
    p = s->f.peer;
    p->up = false;
    p->packet = MTU;
    p->fragment = MTU - 64;
    p->exit.fd = -1; /* the first packets are lost, and come again */
    p->ep->scratch = malloc(SCTP_RBUF);
    p->ep->message = malloc(SCTP_RBUF);
    assert_int_equal(wf_sctp_strands_open(p), WEFT_OK);
    for (int i = 0; i < associations; i++)
        tapped(s, (uint32_t)i);
    return s;
}

static void close_side(struct side *s)
{
    wf_sctp_strands_close(s->f.peer);
    wf_sctp_tx_cancel(s->f.peer, WEFT_ECANCEL);
    assert_int_equal(s->lent, 0);
    while (s->packets)
        free(s->wire[--s->packets].bytes);
    free(s->f.ep.scratch);
    free(s->f.ep.message);
    fake_close(&s->f);
    free(s);
}

static void meet(struct side **a, int m, struct side **b, int n)
{
    char why[300];

    if (wf_sctp_enter(why, sizeof why) < 0) {
        print_message("left out: %s\n", why);
        skip();
    }
    *a = open_side(m);
    *b = open_side(n);
    (*a)->other = *b;
    (*b)->other = *a;
    for (int i = 0; i < STEPS && !((*a)->f.peer->up && (*b)->f.peer->up); i++)
        step(*a, *b);
    assert_true((*a)->f.peer->up && (*b)->f.peer->up);
}

static void part(struct side *a, struct side *b)
{
    assert_int_equal(a->f.peer->party.state, PARTY_OPEN);
    assert_int_equal(b->f.peer->party.state, PARTY_OPEN);
    close_side(a);
    close_side(b);
    wf_sctp_leave();
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
    p->tx = (weft_tx){.hdr = (weft_hdr *)p->head,
                      .iov = &p->v,
                      .iov_n = 1,
                      .len = LONG};
    rc = wf_sctp_tx(s->f.peer, &p->tx);
    assert_true(rc == WEFT_OK || rc == WEFT_DONE || rc == WEFT_EAGAIN);
    s->lent += rc == WEFT_OK;
    s->sent += rc != WEFT_EAGAIN;
    if (rc != WEFT_OK)
        free(p);
    return rc != WEFT_EAGAIN;
}

static void exchange(struct side *a, struct side *b, int count)
{
    for (int i = 0; i < STEPS && (a->f.finished < count ||
                                  b->f.finished < count); i++) {
        while (a->sent < (uint64_t)count && send_one(a))
            ;
        while (b->sent < (uint64_t)count && send_one(b))
            ;
        step(a, b);
    }
    assert_int_equal(a->f.finished, count);
    assert_int_equal(b->f.finished, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(a->f.first[i], i);
        assert_int_equal(b->f.first[i], i);
    }
}

static void different_numbers_meet_and_keep_the_order(void **state)
{
    static const int numbers[][2] = {{1, 1}, {4, 1}, {3, 16}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct side *a, *b;
        meet(&a, numbers[i][0], &b, numbers[i][1]);
        exchange(a, b, FAKE_SINKS);
        assert_int_equal(a->f.failed + b->f.failed, 0);
        assert_non_null(b->f.peer->strand[numbers[i][0] - 1]);
        assert_non_null(a->f.peer->strand[numbers[i][1] - 1]);
        part(a, b);
    }
}

static void what_is_not_announced_waits_with_the_sender(void **state)
{
    struct side *a, *b;
    int steps = 0;

    meet(&a, 4, &b, 4);
    b->deaf = true;
    for (; steps < STEPS / 4; steps++) {
        for (int i = 0; i < 10 && send_one(a); i++)
            ;
        step(a, b);
        assert_true(b->f.peer->early_bytes <= SCTP_EARLY_MAX / 2 + MTU);
    }
    assert_true(b->f.peer->early_bytes >= SCTP_EARLY_MAX / 2);
    assert_int_equal(b->f.shown, 0);
    b->deaf = false;
    for (; steps < STEPS && (uint64_t)b->f.shown < a->sent; steps++)
        step(a, b);
    assert_int_equal(b->f.shown, a->sent);
    assert_int_equal(b->f.peer->early_bytes, 0);
    part(a, b);
}

static void there_are_no_more_than_sixteen(void **state)
{
    struct side *a, *b;

    meet(&a, 1, &b, 1);
    assert_null(wf_sctp_strand_at(a->f.peer, STRANDS));
    assert_null(wf_sctp_strand_at(a->f.peer, UINT32_MAX));
    part(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(different_numbers_meet_and_keep_the_order),
        cmocka_unit_test(what_is_not_announced_waits_with_the_sender),
        cmocka_unit_test(there_are_no_more_than_sixteen)};
    return cmocka_run_group_tests(tests, prepare, NULL);
}

/* Containers with checksums (protocol/checked.h): whatever one byte of one
 * becomes on the way, it is found before anything is delivered.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/checked.h"
#include "protocol/message.h"
#include "route/links.h"

enum { LENGTH = 100, ROOM = WEFT_HDR + LENGTH };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_links links;
static struct wf_progress progress;
static struct wf_transport_config name = {.name = "net"};
static struct weft_loc loc;
static uint8_t data[LENGTH];

/* The container that the plugin was given, as it travels. */
static _Alignas(WEFT_HDR) uint8_t wire[ROOM];
static size_t length;

static int take_short(weft_peer *p, const weft_hdr *hdr, const void *payload,
                      size_t n, unsigned flags)
{
    memcpy(wire, hdr, WEFT_HDR);
    memcpy(wire + WEFT_HDR, payload, n);
    length = WEFT_HDR + n;
    return WEFT_DONE;
}

static int take_long(weft_peer *p, weft_tx *tx)
{
    struct iovec v;

    memcpy(wire, tx->hdr, WEFT_HDR);
    assert_int_equal(tx->seg(tx, 0, &v, 1), 1);
    memcpy(wire + WEFT_HDR, v.iov_base, v.iov_len);
    length = WEFT_HDR + v.iov_len;
    return WEFT_DONE;
}

static const weft_ops ops = {
    .size = sizeof ops, .send = take_long, .send_short = take_short};

static int start_case(void **state)
{
    memset(&wf_rank, 0, sizeof wf_rank);
    wf = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .progress = &progress};
    memset(&loc, 0, sizeof loc);
    wf.rank->id = 1;
    links = (struct wf_links){.ep_count = 1};
    links.eps[0] = (struct weft_core){.wf = &wf, .ops = &ops, .config = &name};
    loc.wf = &wf;
    loc.id = loc.index = 2;
    loc.lanes = 1;
    loc.lane[0] = (struct wf_lane){.core = &links.eps[0],
                                   .send = take_long,
                                   .send_short = take_short,
                                   .max_payload = 1 << 20};
    for (int i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    assert_int_equal(wf_checks_require(&loc, 1), 0);
    wf_checks_wrap(&loc, &loc.lane[0]);
    return 0;
}

static int stop_case(void **state)
{
    wf_checks_free(&loc);
    free(loc.down_reason);
    return 0;
}

/* Returns how much of a container of `left` bytes a plugin shows at first. */
static enum wf_check_fault fault_of(const uint8_t *container, size_t left)
{
    const weft_hdr *hdr = (const weft_hdr *)container;
    size_t head = weft_hdr_len(hdr), have = left - head;
    weft_sink *sink = NULL;
    enum wf_check_fault found;
    int r;

    if (have > weft_hdr_plen(hdr))
        have = weft_hdr_plen(hdr);
    r = wf_checked_arrive(&links.eps[0], &loc, hdr, container + head, have,
                          &sink);
    found = loc.checks->fault;
    assert_int_equal(r, have == weft_hdr_plen(hdr) ? WEFT_DONE : WEFT_SKIP);
    assert_null(sink);
    loc.checks->fault = WF_CHECK_FINE;
    return found;
}

static void every_byte_counts(void)
{
    _Alignas(WEFT_HDR) uint8_t was[ROOM], now[ROOM];

    memcpy(was, wire, length);
    for (size_t i = 0; i < length; i++)
        for (int bits = 1; bits < 256; bits++) {
            memcpy(now, was, length);
            now[i] ^= (uint8_t)bits;
            assert_int_not_equal(fault_of(now, length), WF_CHECK_FINE);
        }
}

static void a_short_message_with_any_byte_changed_is_found(void **state)
{
    struct wf_wire w = {.type = WF_EAGER, .ver = WF_WIRE_VERSION,
                        .flags = wf_le16(WEFT_HDR_SHORT),
                        .plen = wf_le32(LENGTH), .a = 4711, .b = 815};
    const struct wf_wire *sent = (const struct wf_wire *)wire;

    assert_int_equal(loc.lane[0].send_short(loc.lane[0].peer,
                                            (const weft_hdr *)&w, data, LENGTH,
                                            0),
                     WEFT_DONE);
    assert_int_equal(weft_hdr_len(wire), WEFT_HDR);
    assert_int_equal(sent->type, WF_EAGER | WF_CHECKED);
    every_byte_counts();
}

static int one_segment(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    if (off >= tx->len)
        return 0;
    *v = (struct iovec){data + off, tx->len - off};
    return 1;
}

static void a_large_message_with_any_byte_changed_is_found(void **state)
{
    struct wf_tx *t = aligned_alloc(
        WF_CACHE_LINE, (sizeof *t + WF_CACHE_LINE - 1) & ~(size_t)63);

    memset(t, 0, sizeof *t);
    wf_wire_init(&t->hdr, WF_TRANSFER, WF_FLAG_LAST);
    t->hdr.plen = wf_le32(LENGTH);
    t->tx.hdr = (weft_hdr *)&t->hdr;
    t->tx.len = LENGTH;
    t->tx.seg = one_segment;
    assert_int_equal(loc.lane[0].send(loc.lane[0].peer, &t->tx), WEFT_DONE);
    every_byte_counts();
    /* one that was not taken, and comes again, is the same */
    memset(wire, 0, sizeof wire);
    assert_int_equal(loc.lane[0].send(loc.lane[0].peer, &t->tx), WEFT_DONE);
    assert_int_equal(((struct wf_wire *)wire)->type, WF_TRANSFER | WF_CHECKED);
    every_byte_counts();
    free(t);
}

static void a_peer_that_makes_no_sums_is_told_from_damage(void **state)
{
    _Alignas(WEFT_HDR) struct wf_wire w = {.type = WF_EAGER,
                                           .ver = WF_WIRE_VERSION};

    assert_int_equal(fault_of((const uint8_t *)&w, sizeof w), WF_CHECK_ABSENT);
    assert_int_equal(links.damaged, 0);
    w.type = WF_EAGER | WF_CHECKED;
    assert_int_equal(fault_of((const uint8_t *)&w, sizeof w), WF_CHECK_DAMAGED);
    assert_int_equal(links.damaged, 1);
}

/* The operation that the fault ends fails before the link is ended. */
static void the_reason_is_reported_with_the_fault(void **state)
{
    _Alignas(WEFT_HDR) struct wf_wire w = {.type = WF_EAGER | WF_CHECKED,
                                           .ver = WF_WIRE_VERSION};

    assert_int_equal(fault_of((const uint8_t *)&w, sizeof w), WF_CHECK_DAMAGED);
    assert_false(loc.failed);
    assert_non_null(strstr(wf_location_down_text(&loc),
                           "arrived damaged by transport 'net'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_short_message_with_any_byte_changed_is_found, start_case,
            stop_case),
        cmocka_unit_test_setup_teardown(
            a_large_message_with_any_byte_changed_is_found, start_case,
            stop_case),
        cmocka_unit_test_setup_teardown(
            a_peer_that_makes_no_sums_is_told_from_damage, start_case,
            stop_case),
        cmocka_unit_test_setup_teardown(the_reason_is_reported_with_the_fault,
                                        start_case, stop_case)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

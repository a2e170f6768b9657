/* Sealed containers: what one side seals the other opens, once; nothing else
 * opens, and a container is sealed only for who can open it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "protocol/order.h"

enum { LONG = 5000, ROOM = LONG + 2 * WEFT_HDR };

/* The network: the last container that a plugin took. */
static struct {
    struct wf_wire outer;
    uint8_t text[ROOM], out[ROOM];
    size_t n;
    int answer;
    int connects;
} net;

static int take_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    memcpy(&net.outer, hdr, WEFT_HDR);
    memcpy(net.text, data, len);
    net.n = len;
    return net.answer;
}

static int take_long(weft_peer *p, weft_tx *tx)
{
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);
    struct iovec v;

    assert_int_equal(tx->seg(tx, 0, &v, 1), 1);
    take_short(p, tx->hdr, v.iov_base, v.iov_len, 0);
    if (net.answer == WEFT_OK)
        t->done(t, WEFT_OK);
    return net.answer;
}

static int make_call(weft_peer *p)
{
    net.connects++;
    return WEFT_OK;
}

static const weft_ops ops = {.size = sizeof ops,
                             .send = take_long,
                             .send_short = take_short,
                             .connect = make_call};
static const struct weft_core core = {.ops = &ops,
                                      .attr = {.max_short = 1 << 20}};

/* Both ends of a handshake; the first dialled. */
struct ends {
    struct wf_seal *a, *b;
    struct wf_auth_session made;
};

static void run_handshake(struct ends *e, unsigned char seed)
{
    memset(e->made.key[0], seed, sizeof e->made.key[0]);
    memset(e->made.key[1], ~seed, sizeof e->made.key[1]);
    e->made.id = seed * 0x0101010101010101u;
    e->made.dialled = true;
    assert_int_equal(wf_seal_add_session(e->a, &e->made), WEFT_OK);
}

/* Its proof has arrived. */
static void add_listened(struct ends *e)
{
    e->made.dialled = false;
    assert_int_equal(wf_seal_add_session(e->b, &e->made), WEFT_OK);
}

static void open_ends(struct ends *e)
{
    memset(&net, 0, sizeof net);
    net.answer = WEFT_DONE;
    e->made.aes = weft_cipher.has_aes();
    e->a = wf_seal_new();
    e->b = wf_seal_new();
    assert_non_null(e->a);
    assert_non_null(e->b);
    run_handshake(e, 1);
    add_listened(e);
}

static void close_ends(struct ends *e)
{
    wf_seal_free(e->a);
    wf_seal_free(e->b);
}

static struct wf_wire make_inner(uint32_t plen)
{
    struct wf_wire w;

    memset(&w, 0, sizeof w);
    w.type = WF_EAGER | WF_SEQUENCED;
    w.ver = WF_WIRE_VERSION;
    w.plen = wf_le32(plen);
    w.seq = wf_le32(5);
    return w;
}

static const char text[] = "what nobody else may read";

static int bytes_seg(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    *v = (struct iovec){(char *)(uintptr_t)tx->priv[0] + off, tx->len - off};
    return off < tx->len;
}

static int send_sealed(struct wf_seal *s, const void *data, uint32_t n)
{
    struct wf_wire w = make_inner(n);
    weft_tx tx = {.len = n, .seg = bytes_seg, .priv = {(uintptr_t)data}};

    return wf_seal_send(s, &core, NULL, &w, n ? &tx : NULL);
}

static enum wf_opened open_sealed(struct wf_seal *s)
{
    struct wf_session *by;
    enum wf_opened r;

    if (!wf_seal_is_header(s, &net.outer))
        return WF_FORGED;
    assert_int_equal(wf_le32(net.outer.plen), net.n);
    r = wf_seal_open(s, &net.outer, net.text, net.out, &by);
    if (r == WF_OPENED)
        wf_seal_accept(by, &net.outer);
    return r;
}

static bool has_bytes(const void *bytes, size_t n, const void *what, size_t m)
{
    return memmem(bytes, n, what, m) != NULL;
}

static void sealed_containers_open_and_cannot_be_read(void **state)
{
    struct ends e;

    open_ends(&e);
    assert_int_equal(send_sealed(e.a, text, sizeof text), WEFT_DONE);
    assert_false(has_bytes(net.text, net.n, text, 4));
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    assert_memory_equal(net.out + WEFT_HDR, text, sizeof text);
    assert_int_equal(((struct wf_wire *)net.out)->seq, wf_le32(5));
    assert_int_equal(send_sealed(e.b, NULL, 0), WEFT_DONE);
    assert_int_equal(net.n, WEFT_HDR);
    assert_int_equal(open_sealed(e.a), WF_OPENED);
    close_ends(&e);
}

static void long_containers_are_sealed_and_may_be_kept(void **state)
{
    uint8_t *data = malloc(LONG);
    struct ends e;

    open_ends(&e);
    assert_non_null(data);
    memset(data, 'x', LONG);
    for (net.answer = WEFT_OK; net.answer <= WEFT_DONE; net.answer++) {
        assert_int_equal(send_sealed(e.a, data, LONG), WEFT_DONE);
        assert_int_equal(open_sealed(e.b), WF_OPENED);
        assert_memory_equal(net.out + WEFT_HDR, data, LONG);
    }
    net.answer = WEFT_EAGAIN;
    assert_int_equal(send_sealed(e.a, data, LONG), WEFT_EAGAIN);
    free(data);
    close_ends(&e);
}

static void equal_containers_are_sealed_differently(void **state)
{
    uint8_t first[ROOM];
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    memcpy(first, net.text, net.n);
    send_sealed(e.a, text, sizeof text);
    assert_memory_not_equal(first, net.text, net.n);
    send_sealed(e.b, text, sizeof text); /* its first, with another key */
    assert_memory_not_equal(first, net.text, net.n);
    close_ends(&e);
}

static void a_change_of_any_bit_is_refused(void **state)
{
    struct wf_wire outer;
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    outer = net.outer;
    for (size_t i = 0; i < 8 * net.n; i++) {
        net.text[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_int_equal(open_sealed(e.b), WF_FORGED);
        net.text[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (size_t i = 0; i < 8 * WEFT_HDR; i++) {
        ((uint8_t *)&net.outer)[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(wf_seal_is_header(e.b, &net.outer));
        net.outer = outer;
    }
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    close_ends(&e);
}

/* An attacker that can make the plain checksum still cannot change anything
 * that matters. */
static void a_correct_checksum_is_not_enough(void **state)
{
    struct wf_wire *w = &net.outer;
    struct ends e;
    uint32_t sum;

    open_ends(&e);
    for (size_t at = 8; at < 48; at++) { /* counter, session, tag */
        if (at >= 24 && at < 32)
            continue; /* zero */
        send_sealed(e.a, text, sizeof text);
        ((uint8_t *)w)[at] ^= 1;
        w->check = 0;
        w->crc = 0;
        sum = wf_crc32c_choose()(0, w, sizeof *w);
        w->check = wf_le16((uint16_t)(sum ^ sum >> 16));
        w->crc = wf_le32(sum);
        assert_true(wf_seal_is_header(e.b, w));
        assert_int_not_equal(open_sealed(e.b), WF_OPENED);
    }
    close_ends(&e);
}

static void a_replayed_container_is_dropped(void **state)
{
    struct wf_wire first;
    uint8_t kept[ROOM];
    size_t n;
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    first = net.outer;
    memcpy(kept, net.text, n = net.n);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    assert_int_equal(open_sealed(e.b), WF_STALE);
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    net.outer = first;
    memcpy(net.text, kept, net.n = n);
    assert_int_equal(open_sealed(e.b), WF_STALE);
    close_ends(&e);
}

/* The core had no memory for it; the plugin brings it again. */
static void a_container_that_was_not_taken_may_come_again(void **state)
{
    struct wf_session *by;
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(wf_seal_open(e.b, &net.outer, net.text, net.out, &by),
                     WF_OPENED);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    close_ends(&e);
}

static void a_process_cannot_open_its_own_containers(void **state)
{
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(open_sealed(e.a), WF_FORGED);
    close_ends(&e);
}

static void without_a_session_the_plugin_is_asked_to_connect(void **state)
{
    struct wf_seal *s = wf_seal_new();

    memset(&net, 0, sizeof net);
    assert_non_null(s);
    assert_int_equal(send_sealed(s, text, sizeof text), WEFT_EAGAIN);
    assert_int_equal(net.connects, 1);
    assert_int_equal(net.n, 0);
    wf_seal_free(s);
}

static void a_session_that_the_peer_may_not_have_waits_for_a_sign(void **state)
{
    struct ends e;

    open_ends(&e);
    run_handshake(&e, 2); /* b has not heard the proof */
    send_sealed(e.b, text, sizeof text);
    assert_int_equal(open_sealed(e.a),
                     WF_OPENED); /* so a knows: b has the first */
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    add_listened(&e);
    send_sealed(e.b, text,
                sizeof text); /* with the second, which the dialler has */
    assert_int_equal(open_sealed(e.a), WF_OPENED);
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(wf_le64(net.outer.b), e.made.id);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    close_ends(&e);
}

static void old_sessions_are_forgotten(void **state)
{
    struct ends e;

    open_ends(&e);
    send_sealed(e.a, text, sizeof text);
    for (unsigned char i = 2; i < 2 + WF_SESSIONS; i++) {
        run_handshake(&e, i);
        add_listened(&e);
    }
    assert_int_equal(open_sealed(e.b), WF_FORGED);
    send_sealed(e.a, text, sizeof text);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    close_ends(&e);
}

static void keys_that_are_used_up_are_used_no_more(void **state)
{
    struct ends e;

    open_ends(&e);
    e.a->session[0].sent = WF_SEAL_LIMIT - 1;
    assert_int_equal(send_sealed(e.a, text, sizeof text), WEFT_DONE);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    assert_int_equal(send_sealed(e.a, text, sizeof text), WEFT_ELINK);
    run_handshake(&e, 2); /* of the next connection */
    add_listened(&e);
    assert_int_equal(send_sealed(e.a, text, sizeof text), WEFT_DONE);
    assert_int_equal(open_sealed(e.b), WF_OPENED);
    close_ends(&e);
}

static void noise_is_not_opened(void **state)
{
    struct ends e;

    open_ends(&e);
    srand(1);
    for (int round = 0; round < 10000; round++) {
        for (size_t i = 0; i < WEFT_HDR; i++)
            ((uint8_t *)&net.outer)[i] = (uint8_t)rand();
        assert_false(wf_seal_is_header(e.b, &net.outer));
    }
    close_ends(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_containers_open_and_cannot_be_read),
        cmocka_unit_test(long_containers_are_sealed_and_may_be_kept),
        cmocka_unit_test(equal_containers_are_sealed_differently),
        cmocka_unit_test(a_change_of_any_bit_is_refused),
        cmocka_unit_test(a_correct_checksum_is_not_enough),
        cmocka_unit_test(a_replayed_container_is_dropped),
        cmocka_unit_test(a_container_that_was_not_taken_may_come_again),
        cmocka_unit_test(a_process_cannot_open_its_own_containers),
        cmocka_unit_test(without_a_session_the_plugin_is_asked_to_connect),
        cmocka_unit_test(a_session_that_the_peer_may_not_have_waits_for_a_sign),
        cmocka_unit_test(old_sessions_are_forgotten),
        cmocka_unit_test(keys_that_are_used_up_are_used_no_more),
        cmocka_unit_test(noise_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

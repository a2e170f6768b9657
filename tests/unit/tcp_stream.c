/* Containers as bytes of a stream (plugins/ip/stream.c): the pieces of memory
 * from any byte on, for one that is sent and for one that arrives.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../plugins/ip/ip.h"

enum { SEGMENT = 10, LENGTH = 35, SEGMENTS = 4 };

static uint8_t memory[SEGMENTS * SEGMENT];
static weft_hdr hdr;

static void number_bytes(void)
{
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (uint8_t)i;
}

/* Pieces v, of which the first begins at byte `at`, and the last may be empty;
 * returns where they end. */
static size_t follow_pieces(const struct iovec *v, int n, size_t at)
{
    for (int i = 0; i < n; i++) {
        if (v[i].iov_len)
            assert_ptr_equal(v[i].iov_base, memory + at);
        at += v[i].iov_len;
    }
    return at;
}

static int find_segments(uint64_t off, struct iovec *v, int max)
{
    int n = 0;

    for (; n < max && off < sizeof memory; n++) {
        v[n].iov_base = memory + off;
        v[n].iov_len = SEGMENT - off % SEGMENT;
        off += v[n].iov_len;
    }
    return n;
}

static int tx_segments(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    return find_segments(off, v, max);
}

static void what_is_sent_begins_at_any_byte(void **state)
{
    struct iovec v[1 + SEGMENTS];
    weft_tx tx = {.hdr = &hdr, .seg = tx_segments, .len = sizeof memory};

    for (size_t at = 0; at < sizeof memory; at++) {
        int n = wf_ip_tx_pieces(&tx, WEFT_HDR + at, v, 1 + SEGMENTS);
        assert_int_equal(n, SEGMENTS - at / SEGMENT);
        assert_int_equal(follow_pieces(v, n, at), sizeof memory);
    }
    for (size_t at = 0; at < WEFT_HDR; at++) {
        int n = wf_ip_tx_pieces(&tx, at, v, 1 + SEGMENTS);
        assert_int_equal(n, 1 + SEGMENTS);
        assert_ptr_equal(v[0].iov_base, (char *)&hdr + at);
        assert_int_equal(v[0].iov_len, WEFT_HDR - at);
        assert_int_equal(follow_pieces(v + 1, n - 1, 0), sizeof memory);
    }
    assert_int_equal(wf_ip_tx_pieces(&tx, WEFT_HDR, v, 2), 2);
    assert_int_equal(follow_pieces(v, 2, 0), 2 * SEGMENT);
}

/* Its memory is larger than what is wanted of the message. */
static int find_sink_segments(weft_sink *s, uint64_t off, struct iovec *v,
                              int max)
{
    return find_segments(off, v, max);
}

static void what_arrives_goes_no_further_than_it_is_wanted(void **state)
{
    struct iovec v[SEGMENTS];

    for (size_t len = 1; len <= sizeof memory; len++)
        for (size_t at = 0; at < len; at++) {
            weft_sink s = {.len = len, .seg = find_sink_segments};
            int n = wf_ip_sink_pieces(&s, at, v, SEGMENTS);
            assert_int_equal(follow_pieces(v, n, at), len);
        }
}

static void it_is_put_there(void **state)
{
    uint8_t data[sizeof memory];

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i + 100);
    for (size_t at = 0; at < LENGTH; at++) {
        weft_sink s = {.len = LENGTH, .seg = find_sink_segments};
        number_bytes();
        assert_int_equal(wf_ip_sink_write(&s, at, data, sizeof data),
                         LENGTH - at);
        for (size_t i = 0; i < sizeof memory; i++)
            assert_int_equal(memory[i], i >= at && i < LENGTH ? data[i - at]
                                                              : i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent_begins_at_any_byte),
        cmocka_unit_test(what_arrives_goes_no_further_than_it_is_wanted),
        cmocka_unit_test(it_is_put_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

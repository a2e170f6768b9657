/* Packets of sctp that travel in parts, because large datagrams do not arrive.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* */
#include <cmocka.h>

#include "../../plugins/sctp/sctp.h"

enum { MOST = 16, ROOM = 1300, LONG = 8000 };

/* The datagrams of one packet, as they were sent. */
struct train {
    struct wf_sctp_datagram d[MOST];
    uint8_t bytes[MOST][ROOM];
    int n;
};

static struct wf_sctp_exit out;
static struct wf_sctp_joints joints;
static struct train first, second;
static uint8_t packet[LONG];
static int in;

static int begin_transfer(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;

    in = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    memset(&out, 0, sizeof out);
    out.fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(in >= 0 && out.fd >= 0);
    assert_int_equal(bind(in, (struct sockaddr *)&at, n), 0);
    assert_int_equal(getsockname(in, (struct sockaddr *)&at, &n), 0);
    memcpy(&out.to.to, &at, n);
    out.to.to_len = n;
    out.to_link = 7;
    out.from_link = 8;
    out.in_parts = true;
    for (int i = 0; i < LONG; i++)
        packet[i] = (uint8_t)(i * 7 + i / 256);
    return 0;
}

static int end_transfer(void **state)
{
    wf_sctp_joints_free(&joints);
    close(in);
    close(out.fd);
    return 0;
}

/* Sends the first n bytes of the packet; false: not in parts. */
static bool send_packet(struct train *t, size_t n)
{
    ssize_t got;

    t->n = 0;
    if (!wf_sctp_send_parts(&out, 3, packet, n))
        return false;
    while ((got = recv(in, t->bytes[t->n], ROOM, 0)) > 0) {
        struct wf_sctp_datagram *d = &t->d[t->n];
        assert_true(wf_sctp_datagram_read(d, t->bytes[t->n], (size_t)got));
        assert_int_equal(d->type, TYPE_PART);
        assert_int_equal(d->to, 7);
        assert_int_equal(d->from, 8);
        assert_int_equal(d->check, 3);
        t->n++;
    }
    return true;
}

static const uint8_t *join_part(const struct train *t, int i)
{
    const uint8_t *whole = wf_sctp_join_part(&joints, &t->d[i]);

    if (whole)
        assert_memory_equal(whole, packet, t->d[i].offer);
    return whole;
}

static void parts_become_the_packet_in_any_order(void **state)
{
    static const size_t sizes[] = {1153, 1436, 2304, 2305, LONG};

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        assert_true(send_packet(&first, sizes[k]));
        assert_int_equal(first.n, (sizes[k] + 1151) / 1152);
        for (int i = first.n - 1; i > 0; i--)
            assert_null(join_part(&first, i));
        assert_null(join_part(&first, 1)); /* twice */
        assert_non_null(join_part(&first, 0));
        assert_null(join_part(&first, 0)); /* too late */
    }
}

static void small_packets_stay_whole(void **state)
{
    assert_false(send_packet(&first, 1152));
    out.in_parts = false;
    assert_false(send_packet(&first, LONG));
}

static void packets_do_not_mix(void **state)
{
    assert_true(send_packet(&first, 2000));
    packet[0]++;
    assert_true(send_packet(&second, 2000));
    assert_null(join_part(&second, 0));
    packet[0]--;
    assert_null(join_part(&first, 1));
    assert_non_null(join_part(&first, 0));
    packet[0]++;
    assert_non_null(join_part(&second, 1));
}

/* An incomplete one makes place for a later one. */
static void lost_parts_are_forgotten(void **state)
{
    assert_true(send_packet(&first, 2000));
    assert_null(join_part(&first, 0));
    for (int i = 1; i < JOINTS; i++)
        assert_true(send_packet(&second, 2000));
    assert_true(send_packet(&second, 2000));
    assert_null(join_part(&second, 0));
    assert_null(join_part(&first, 1));
    assert_null(join_part(&second, 1)); /* it was pushed out in turn */
}

static void nonsense_is_dropped(void **state)
{
    static const struct {
        uint32_t value, offer;
        size_t n;
    } bad[] = {{1, 1152, 1152},
               {0, 1152, 1152},
               {2, 1152, 1152},
               {2, 2304, 1151},
               {2 << 8 | 2, 2304, 1152},
               {1 << 8 | 2, 2000, 1152},
               {2, UINT32_MAX, 1152},
               {255, 255 * 1152, 1152},
               {2, 0, 1152},
               {1 << 8 | 2, 2000, 0}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wf_sctp_datagram d = {.type = TYPE_PART,
                                     .value = bad[i].value,
                                     .offer = bad[i].offer,
                                     .body = packet,
                                     .n = bad[i].n};
        assert_null(wf_sctp_join_part(&joints, &d));
    }
    for (int i = 0; i < JOINTS; i++)
        assert_null(joints.joint[i].bytes);
}

int main(void)
{
#define T(test)                                                                \
    cmocka_unit_test_setup_teardown(test, begin_transfer, end_transfer)
    static const struct CMUnitTest tests[] = {
        T(parts_become_the_packet_in_any_order),
        T(small_packets_stay_whole),
        T(packets_do_not_mix),
        T(lost_parts_are_forgotten),
        T(nonsense_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

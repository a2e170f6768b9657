/* How many packets udp-reliable hands to the kernel at a time: as many as fit a
 * batch, and never more. sendmsg is wrapped. And that a receiver takes apart
 * what its kernel has merged.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <netinet/udp.h>
#include <sys/socket.h>

#include "udp_rig.h"

ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);

static struct rig_side all[RIG_SIDES];
static size_t size, most_bytes, most_packets;
static size_t largest; /* packet that went by itself */
static bool merged;   /* by the kernel of the side that received */

/* Remember the largest batch whose packets have the size that is asked
 * about. */
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
    struct msghdr copy = *m;
    struct cmsghdr *c = m->msg_controllen ? CMSG_FIRSTHDR(&copy) : NULL;
    ssize_t rc = __real_sendmsg(fd, m, flags);
    uint16_t each;

    if (!c && rc > (ssize_t)largest)
        largest = (size_t)rc;
    if (rc < 0 || !c || c->cmsg_level != IPPROTO_UDP ||
        c->cmsg_type != UDP_SEGMENT)
        return rc;
    memcpy(&each, CMSG_DATA(c), sizeof each);
    assert_int_equal(m->msg_iovlen, 1);
    assert_in_range(rc, each + 1, BATCH_BYTES);
    if (each == size && (size_t)rc > most_bytes) {
        most_bytes = (size_t)rc;
        most_packets = (most_bytes + each - 1) / each;
    }
    return rc;
}

/* Send messages in packets of n bytes until batches have become as large as
 * they get. */
static void send_packets_of(size_t n, size_t expected)
{
    struct wf_udp_cfg cfg = rig_defaults();

    size = n;
    most_bytes = most_packets = 0;
    cfg.interface = "lo";
    cfg.packet = n - PACKET_HEAD;
    cfg.window = 4 << 20;
    cfg.checksum = CHECKSUM_OFF;
    cfg.mac = CHECKSUM_OFF;
    for (uint32_t i = 0; i < 2; i++)
        rig_open_with(all, i, "secret", &cfg);
    for (int i = 0; i < 100 && most_packets < expected; i++) {
        rig_send(all, 2, 0, 1, 1000000);
        RIG_UNTIL(all, 2, all[1].peer[0].got == all[0].peer[1].sent);
        if (all[0].ep->whole_only) {
            print_message("skipped: the kernel does not cut batches\n");
            skip();
        }
    }
    merged = all[1].ep->merged;
    rig_close_sides(all);
}

static void a_batch_is_filled_to_its_last_byte(void **state)
{
    assert_int_equal(BATCH_BYTES % 2000, 0);
    send_packets_of(2000, BATCH_BYTES / 2000);
    assert_int_equal(most_bytes, BATCH_BYTES);
}

static void a_packet_that_does_not_fit_begins_the_next(void **state)
{
    send_packets_of(1999, BATCH_BYTES / 1999);
    assert_int_equal(most_bytes, BATCH_BYTES / 1999 * 1999);
}

static void a_batch_has_no_more_packets_than_kernels_cut(void **state)
{
    send_packets_of(500, BATCH_PACKETS);
    assert_int_equal(most_packets, BATCH_PACKETS);
}

/* The kernel hands out what went in one call in one piece. */
/* They are not copied. */
static void large_packets_go_one_by_one(void **state)
{
    struct wf_udp_cfg cfg = rig_defaults();

    cfg.interface = "lo";
    cfg.packet = 8000 - PACKET_HEAD;
    for (int mac = CHECKSUM_ON; mac <= CHECKSUM_OFF; mac++) {
        cfg.mac = mac;
        largest = 0;
        for (uint32_t i = 0; i < 2; i++)
            rig_open_with(all, i, "secret", &cfg);
        rig_send(all, 2, 0, 1, 1000000);
        RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
        assert_int_equal(largest,
                         8000 + (mac == CHECKSUM_ON ? PACKET_MAC : 0));
        rig_close_sides(all);
    }
}

static void merged_packets_are_taken_apart(void **state)
{
    rig_flags = 0; /* else the receiver does not ask for it */
    send_packets_of(1500, BATCH_BYTES / 1500);
    rig_flags = WEFT_OPEN_ONE_HOST;
    if (!merged) {
        print_message("skipped: the kernel does not merge packets\n");
        skip();
    }
    assert_int_equal(most_packets, BATCH_BYTES / 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_filled_to_its_last_byte),
        cmocka_unit_test(a_packet_that_does_not_fit_begins_the_next),
        cmocka_unit_test(a_batch_has_no_more_packets_than_kernels_cut),
        cmocka_unit_test(large_packets_go_one_by_one),
        cmocka_unit_test(merged_packets_are_taken_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

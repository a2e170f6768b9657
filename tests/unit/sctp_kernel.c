/* sctp: what a kernel shows becomes messages and events, on a fake kernel
 * (tests/fake/fake_sctp.c).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sctp.h>

#include <cmocka.h>

#include "sctp_fake.h"

#include "../fake/fake_sctp.c"

static struct wf_sctp_sock *here;
static int there;

static int open_pair(void **state)
{
    int fd[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd), 0);
    adopt(fd[0], 0);
    there = fd[1];
    here = wf_sctp_sock_new(fd[0]);
    assert_non_null(here);
    return 0;
}

static int close_pair(void **state)
{
    close(here->fd);
    wf_sctp_sock_free(here);
    if (there >= 0)
        close(there);
    unsetenv("FAKE_SCTP_PIECES");
    return 0;
}

static void show_frame(uint32_t type, uint16_t stream, const void *data,
                       size_t n)
{
    uint8_t bytes[FRAME_MAX];
    struct frame head = {.type = type, .stream = stream, .ppid = htonl(9)};

    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, data, n);
    assert_int_equal(send(there, bytes, sizeof head + n, 0), sizeof head + n);
}

static enum wf_sctp_event next(struct wf_sctp_message *m, void *buf)
{
    return wf_sctp_kernel_receive(here, buf, SCTP_MESSAGE_MAX, m);
}

static void pieces_become_messages(void **state)
{
    static uint8_t sent[1000], got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (uint8_t)(i * 3);
    setenv("FAKE_SCTP_PIECES", "400", 1);
    show_frame(FRAME_MESSAGE, 5, sent, sizeof sent);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next(&m, got), SCTP_MESSAGE);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, sizeof sent);
    assert_int_equal(m.stream, 5);
    assert_int_equal(m.kind, 9);
    assert_memory_equal(got, sent, sizeof sent);
    assert_int_equal(next(&m, got), SCTP_NOTHING);
    show_frame(FRAME_MESSAGE, 5, sent, 10);
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 10);
}

static void an_endless_message_is_the_end(void **state)
{
    static uint8_t sent[SCTP_MESSAGE_MAX + 1], got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;
    enum wf_sctp_event event = SCTP_MESSAGE;
    int big = 1 << 20;

    setsockopt(there, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
    setenv("FAKE_SCTP_PIECES", "4000", 1);
    show_frame(FRAME_MESSAGE, 3, sent, sizeof sent);
    while (event == SCTP_MESSAGE) {
        event = next(&m, got);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(event, SCTP_DOWN);
}

static void no_stream_of_ours_is_the_end(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_MESSAGE, SCTP_STREAMS, "x", 1);
    assert_int_equal(next(&m, got), SCTP_DOWN);
}

static void show_change(uint16_t what)
{
    struct sctp_assoc_change c = {.sac_type = SCTP_ASSOC_CHANGE,
                                  .sac_length = sizeof c,
                                  .sac_state = what};

    show_frame(FRAME_NOTE, 0, &c, sizeof c);
}

static void show_path(int what, const char *at)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sctp_paddr_change c = {.spc_type = SCTP_PEER_ADDR_CHANGE,
                                  .spc_length = sizeof c,
                                  .spc_state = what};

    inet_pton(AF_INET, at, &in.sin_addr);
    memcpy(&c.spc_aaddr, &in, sizeof in);
    show_frame(FRAME_NOTE, 0, &c, sizeof c);
}

static void news_become_events(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_change(SCTP_COMM_UP);
    show_path(SCTP_ADDR_UNREACHABLE, "10.1.2.3");
    show_path(SCTP_ADDR_AVAILABLE, "10.1.2.4");
    show_path(SCTP_ADDR_CONFIRMED, "10.1.2.4");
    show_change(SCTP_COMM_LOST);
    assert_int_equal(next(&m, got), SCTP_UP);
    assert_int_equal(next(&m, got), SCTP_PATH);
    assert_false(here->works);
    assert_int_equal(here->about.ip[3], 3);
    assert_int_equal(next(&m, got), SCTP_PATH);
    assert_true(here->works);
    assert_int_equal(here->about.ip[3], 4);
    assert_int_equal(next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    assert_int_equal(next(&m, got), SCTP_DOWN);
    close(there);
    there = -1;
    assert_int_equal(next(&m, got), SCTP_DOWN);
}

static void a_full_buffer_says_so_and_bulk_leaves_some(void **state)
{
    static uint8_t bytes[8 << 10];
    struct wf_sctp_message m = {.stream = 4, .kind = 2, .n = sizeof bytes};
    int rc;

    while ((rc = wf_sctp_kernel_send(here, &m, bytes, true)) == WEFT_OK)
        assert_false(here->blocked);
    assert_int_equal(rc, WEFT_EAGAIN);
    assert_true(here->blocked);
    assert_true(wf_sctp_kernel_unacked(here) > 0);
    m.n = 100;
    assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false), WEFT_OK);
    close(there);
    there = -1;
    assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false), WEFT_ELINK);
}

int main(void)
{
#define PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)
    const struct CMUnitTest tests[] = {
        PAIR(pieces_become_messages),
        PAIR(an_endless_message_is_the_end),
        PAIR(no_stream_of_ours_is_the_end),
        PAIR(news_become_events),
        PAIR(a_full_buffer_says_so_and_bulk_leaves_some)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
    adopt_item(fd[0], 0);
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

static enum wf_sctp_event receive_next(struct wf_sctp_message *m, void *buf)
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
        assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, sizeof sent);
    assert_int_equal(m.stream, 5);
    assert_int_equal(m.kind, 9);
    assert_memory_equal(got, sent, sizeof sent);
    assert_int_equal(receive_next(&m, got), SCTP_NOTHING);
    show_frame(FRAME_MESSAGE, 5, sent, 10);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
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
        event = receive_next(&m, got);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(event, SCTP_DOWN);
}

static void no_stream_of_ours_is_the_end(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_MESSAGE, SCTP_STREAMS, "x", 1);
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
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

static void notifications_become_events(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_change(SCTP_COMM_UP);
    show_path(SCTP_ADDR_UNREACHABLE, "10.1.2.3");
    show_path(SCTP_ADDR_AVAILABLE, "10.1.2.4");
    show_path(SCTP_ADDR_CONFIRMED, "10.1.2.4");
    show_change(SCTP_COMM_LOST);
    assert_int_equal(receive_next(&m, got), SCTP_UP);
    assert_int_equal(receive_next(&m, got), SCTP_PATH);
    assert_false(here->works);
    assert_int_equal(here->about.ip[3], 3);
    assert_int_equal(receive_next(&m, got), SCTP_PATH);
    assert_true(here->works);
    assert_int_equal(here->about.ip[3], 4);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
    close(there);
    there = -1;
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
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

/* ---- what goes wrong ----------------------------------------------------- */

static void a_lack_of_memory_loses_nothing(void **state)
{
    static const int poor[] = {ENOBUFS, ENOMEM, EINTR, EAGAIN};
    static uint8_t bytes[3000], got[sizeof bytes + sizeof(struct frame)];
    struct wf_sctp_message m = {.stream = 4, .kind = 2, .n = sizeof bytes};

    memset(bytes, 'm', sizeof bytes);
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++) {
        here->blocked = false;
        fake_next.send_error = poor[i];
        assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, true),
                         WEFT_EAGAIN);
        assert_true(here->blocked);
        assert_int_equal(recv(there, got, sizeof got, MSG_DONTWAIT), -1);
        assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, true), WEFT_OK);
        assert_int_equal(recv(there, got, sizeof got, 0), sizeof got);
        assert_memory_equal(got + sizeof(struct frame), bytes, sizeof bytes);
    }
}

static void a_failed_send_is_the_end(void **state)
{
    static const int dead[] = {EPIPE, ECONNRESET, ETIMEDOUT, EMSGSIZE};
    struct wf_sctp_message m = {.stream = 4, .kind = 2, .n = 100};
    uint8_t bytes[100] = {0};

    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++) {
        fake_next.send_error = dead[i];
        assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false),
                         WEFT_ELINK);
        assert_false(here->blocked);
    }
}

/* A message has no second half: whoever gets the first is told nothing. */
static void a_message_taken_in_part_is_the_end(void **state)
{
    struct wf_sctp_message m = {.stream = 4, .kind = 2, .n = 100};
    uint8_t bytes[100] = {0};

    fake_next.send_short = 1;
    assert_int_equal(wf_sctp_kernel_send(here, &m, bytes, false), WEFT_ELINK);
}

static void errors_of_receiving_say_who_ended_it(void **state)
{
    static const struct {
        int error;
        enum wf_sctp_event event;
    } all[] = {{EAGAIN, SCTP_NOTHING},    {EINTR, SCTP_NOTHING},
               {ENOMEM, SCTP_NOTHING},    {ENOBUFS, SCTP_NOTHING},
               {ENOTCONN, SCTP_NOTHING},  {ETIMEDOUT, SCTP_LOST},
               {EHOSTUNREACH, SCTP_LOST}, {ENETUNREACH, SCTP_LOST},
               {ECONNRESET, SCTP_DOWN},   {EPIPE, SCTP_DOWN}};
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_MESSAGE, 5, "kept", 4);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fake_next.receive_error = all[i].error;
        assert_int_equal(receive_next(&m, got), all[i].event);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_memory_equal(got, "kept", 4);
}

static void the_association_s_error_tells_lost_from_ended(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    static const uint16_t ends[] = {SCTP_RESTART, SCTP_SHUTDOWN_COMP};
    struct wf_sctp_message m;

    show_change(SCTP_COMM_LOST);
    fake_next.so_error = ETIMEDOUT;
    assert_int_equal(receive_next(&m, got), SCTP_LOST);
    show_change(SCTP_CANT_STR_ASSOC);
    fake_next.so_error = EHOSTUNREACH;
    assert_int_equal(receive_next(&m, got), SCTP_LOST);
    show_change(SCTP_CANT_STR_ASSOC);
    fake_next.so_error = ECONNREFUSED;
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        show_change(ends[i]);
        assert_int_equal(receive_next(&m, got), SCTP_DOWN);
    }
}

/* A kernel whose structures are shorter than ours is not read past its end. */
static void a_note_that_is_too_short_is_the_end(void **state)
{
    struct sctp_assoc_change change = {.sac_type = SCTP_ASSOC_CHANGE,
                                       .sac_state = SCTP_COMM_UP};
    struct sctp_paddr_change path = {.spc_type = SCTP_PEER_ADDR_CHANGE,
                                     .spc_state = SCTP_ADDR_AVAILABLE};
    struct wf_sctp_message m;

    for (size_t n = 1; n < sizeof change; n++) {
        uint8_t *got = malloc(n); /* a sanitizer knows its end */
        show_frame(FRAME_NOTE, 0, &change, n);
        assert_int_equal(wf_sctp_kernel_receive(here, got, n, &m), SCTP_DOWN);
        free(got);
    }
    for (size_t n = 8; n < sizeof path; n++) {
        uint8_t *got = malloc(n);
        show_frame(FRAME_NOTE, 0, &path, n);
        assert_int_equal(wf_sctp_kernel_receive(here, got, n, &m), SCTP_DOWN);
        free(got);
    }
}

static void notes_of_no_interest_are_passed_over(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct sctp_pdapi_event torn = {.pdapi_type = SCTP_PARTIAL_DELIVERY_EVENT};
    struct sctp_paddr_change odd = {.spc_type = SCTP_PEER_ADDR_CHANGE,
                                    .spc_state = SCTP_ADDR_UNREACHABLE};
    uint16_t other[8] = {SCTP_SENDER_DRY_EVENT};
    struct wf_sctp_message m;

    show_frame(FRAME_NOTE, 0, other, sizeof other);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    show_frame(FRAME_NOTE, 0, &odd, sizeof odd); /* an address of no family */
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    show_frame(FRAME_NOTE, 0, &torn, sizeof torn); /* its rest will not come */
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
}

static void a_message_without_information_is_the_end(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_BARE, 5, "x", 1);
    assert_int_equal(receive_next(&m, got), SCTP_DOWN);
}

static void pieces_of_several_streams_do_not_mix(void **state)
{
    static uint8_t got[SCTP_MESSAGE_MAX];
    struct wf_sctp_message m;

    show_frame(FRAME_PIECE, 5, "five-", 5);
    show_frame(FRAME_PIECE, 6, "six-", 4);
    show_frame(FRAME_MESSAGE, 7, "seven", 5);
    show_frame(FRAME_PIECE, 5, "fi", 2);
    show_frame(FRAME_MESSAGE, 6, "end", 3);
    show_frame(FRAME_MESSAGE, 5, "ve", 2);
    show_frame(FRAME_PIECE, 8, "never", 5); /* freed with the socket */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
        assert_int_equal(m.n, 0);
    }
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.stream, 7);
    assert_memory_equal(got, "seven", m.n);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.stream, 6);
    assert_int_equal(m.n, 7);
    assert_memory_equal(got, "six-end", 7);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.stream, 5);
    assert_int_equal(m.n, 9);
    assert_memory_equal(got, "five-five", 9);
    assert_int_equal(receive_next(&m, got), SCTP_MESSAGE);
    assert_int_equal(m.n, 0);
}

/* Also over TCP: nothing that is under way is waited for, the other side hears
 * it at once, and not as an end that was meant. */
static void an_interrupted_message_is_reset(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int caller = socket(AF_INET, SOCK_STREAM, 0), called;
    socklen_t n = sizeof at;
    char byte;

    assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&at, &n);
    assert_int_equal(connect(caller, (struct sockaddr *)&at, n), 0);
    called = accept(listener, NULL, NULL);
    assert_true(called >= 0);
    wf_sctp_kernel_abort(called);
    assert_int_equal(recv(caller, &byte, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    close(caller);
    close(listener);
}

int main(void)
{
#define PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)
    const struct CMUnitTest tests[] = {
        PAIR(pieces_become_messages),
        PAIR(an_endless_message_is_the_end),
        PAIR(no_stream_of_ours_is_the_end),
        PAIR(notifications_become_events),
        PAIR(a_full_buffer_says_so_and_bulk_leaves_some),
        PAIR(a_lack_of_memory_loses_nothing),
        PAIR(a_failed_send_is_the_end),
        PAIR(a_message_taken_in_part_is_the_end),
        PAIR(errors_of_receiving_say_who_ended_it),
        PAIR(the_association_s_error_tells_lost_from_ended),
        PAIR(a_note_that_is_too_short_is_the_end),
        PAIR(notes_of_no_interest_are_passed_over),
        PAIR(a_message_without_information_is_the_end),
        PAIR(pieces_of_several_streams_do_not_mix),
        cmocka_unit_test(an_interrupted_message_is_reset)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

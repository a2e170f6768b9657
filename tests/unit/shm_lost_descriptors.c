/* plugins/shm: descriptors that come with a message find no place in this
 * process. The kernel hands over the bytes, drops the descriptors and says so
 * (MSG_CTRUNC); the pair meets all the same.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NONE = -1, TURNS = 20000, LATER_NS = 1000000 };

/* which of those with descriptors; how many */
static int lose = NONE, messages;

/* In the place of libc's. */
__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *m,
                                                       int flags)
{
    ssize_t n = syscall(SYS_recvmsg, fd, m, flags);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(m) : NULL;
    size_t count;
    int got;

    if (!c || c->cmsg_type != SCM_RIGHTS || messages++ != lose)
        return n;
    count = (c->cmsg_len - CMSG_LEN(0)) / sizeof got;
    for (size_t i = 0; i < count; i++) {
        memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
        close(got);
    }
    m->msg_controllen = 0;
    m->msg_flags |= MSG_CTRUNC;
    return n;
}

/* They meet, however often they call. */
static void connect_both(void)
{
    fake_pair(&a, &b, NULL);
    fake_send(&a, 1, 8, 6);
    for (int i = 0; i < TURNS && !(a.loc[1].up && b.loc[0].up); i++) {
        progress_both();
        fake_later += LATER_NS;
    }
}

static void part_of(void)
{
    fake_close(&a, &b);
    for (int i = 0; i < 600; i++)
        fake_progress(&b);
    fake_close(&b, NULL);
}

static void a_message_that_lost_its_descriptors_is_asked_for_again(void **state)
{
    int before = fake_open_fds(), usual;

    lose = NONE;
    connect_both();
    usual = messages;
    assert_true(usual > 0);
    part_of();
    for (int i = 0; i < usual; i++) {
        messages = 0;
        lose = i;
        connect_both();
        assert_true(messages > i);
        assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
        assert_int_equal(a.loc[1].up, 1);
        assert_int_equal(b.loc[0].up, 1);
        assert_true(fake_send(&a, 1, 100, 6) >= 0);
        for (int k = 0; k < 10; k++)
            fake_progress(&b);
        assert_true(b.loc[0].got == a.loc[1].sent);
        part_of();
    }
    assert_int_equal(fake_open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_message_that_lost_its_descriptors_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The names of ports, and the link by which two roots meet: who has the token
 * gets through, and bytes that were changed, repeated or made up do not.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "meet/link.h"
#include "process/rank.h"

static uint64_t now = 1;

static uint64_t read_now(void *clock)
{
    return now;
}

/* Two processes, and a socket between them. */
struct both {
    struct wf_rank rank[2];
    struct wf_instance wf[2];
    struct wf_meet_link *link[2]; /* dialler, listener */
};

static void open_both(struct both *b, const char *token, const char *other)
{
    unsigned char tokens[2][WF_TOKEN] = {{0}};
    int fd[2];

    memset(b, 0, sizeof *b);
    strcpy((char *)tokens[0], token);
    strcpy((char *)tokens[1], other);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    for (int i = 0; i < 2; i++) {
        b->rank[i].job.tag = 100u + (unsigned)i;
        b->wf[i].rank = &b->rank[i];
        b->wf[i].now_ns = read_now;
        b->link[i] = wf_link_create(fd[i], tokens[i],
                                    i ? WF_LINK_CALLED : WF_LINK_CALLING);
        assert_non_null(b->link[i]);
        b->link[i]->dialled = i == 0;
    }
}

static void close_both(struct both *b)
{
    wf_link_free(b->link[0]);
    wf_link_free(b->link[1]);
}

static void serve_both(struct both *b)
{
    for (int i = 0; i < 12; i++)
        wf_link_serve(&b->wf[i % 2], b->link[i % 2]);
}

static void those_with_the_token_meet(void **state)
{
    static const char text[] = "a description";
    struct both b;
    size_t n;

    open_both(&b, "token", "token");
    serve_both(&b);
    assert_int_equal(b.link[0]->state, WF_LINK_OPEN);
    assert_int_equal(b.link[1]->state, WF_LINK_OPEN);
    assert_memory_equal(b.link[0]->key, b.link[1]->key, WF_TOKEN);
    for (int from = 0; from < 2; from++) {
        assert_true(wf_link_send(b.link[from], text, sizeof text));
        serve_both(&b);
        assert_true(b.link[!from]->framed);
        assert_memory_equal(wf_link_frame(b.link[!from], &n), text,
                            sizeof text);
        assert_int_equal(n, sizeof text);
        wf_link_drop_frame(b.link[!from]);
    }
    close_both(&b);
}

static void each_meeting_has_its_own_key(void **state)
{
    struct both a, b;

    open_both(&a, "token", "token");
    open_both(&b, "token", "token");
    serve_both(&a);
    serve_both(&b);
    assert_memory_not_equal(a.link[0]->key, b.link[0]->key, WF_TOKEN);
    close_both(&a);
    close_both(&b);
}

static void a_wrong_token_is_refused(void **state)
{
    struct both b;

    open_both(&b, "token", "Token");
    serve_both(&b);
    assert_int_equal(b.link[1]->state, WF_LINK_OVER);
    assert_int_not_equal(b.link[0]->state, WF_LINK_OPEN);
    assert_true(wf_link_is_flushed(b.link[1])); /* it gets no answer */
    close_both(&b);
}

/* Let the bytes from the dialler pass, one of them changed. */
static bool opens_with_change(unsigned at)
{
    struct both b;
    unsigned char hello[WF_LINK_HELLO];
    bool open;
    int fd[2];

    open_both(&b, "token", "token");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    wf_link_serve(&b.wf[0], b.link[0]);
    assert_int_equal(read(b.link[1]->fd, hello, sizeof hello), sizeof hello);
    hello[at] ^= 1;
    close(b.link[1]->fd);
    b.link[1]->fd = fd[1];
    assert_int_equal(write(fd[0], hello, sizeof hello), sizeof hello);
    wf_link_serve(&b.wf[1], b.link[1]);
    open = b.link[1]->state != WF_LINK_OVER;
    close(fd[0]);
    close_both(&b);
    return open;
}

static void a_changed_byte_is_noticed(void **state)
{
    for (unsigned at = 0; at < WF_LINK_HELLO; at++)
        assert_false(opens_with_change(at));
}

/* All that a dialler has said does not open a second link. */
static void a_repeated_conversation_is_refused(void **state)
{
    struct both b, again;
    unsigned char said[WF_LINK_HELLO + WF_LINK_PROOF];

    open_both(&b, "token", "token");
    wf_link_serve(&b.wf[0], b.link[0]);
    assert_int_equal(recv(b.link[1]->fd, said, WF_LINK_HELLO, MSG_PEEK),
                     WF_LINK_HELLO);
    wf_link_serve(&b.wf[1], b.link[1]);
    wf_link_serve(&b.wf[0], b.link[0]);
    assert_int_equal(recv(b.link[1]->fd, said + WF_LINK_HELLO, WF_LINK_PROOF,
                          MSG_PEEK),
                     WF_LINK_PROOF);
    wf_link_serve(&b.wf[1], b.link[1]);
    assert_int_equal(b.link[1]->state, WF_LINK_OPEN);

    open_both(&again, "token", "token");
    assert_int_equal(write(again.link[0]->fd, said, sizeof said),
                     sizeof said);
    wf_link_serve(&again.wf[1], again.link[1]);
    assert_int_equal(again.link[1]->state, WF_LINK_OVER);
    close_both(&again);
    close_both(&b);
}

static void a_changed_frame_is_noticed(void **state)
{
    struct both b;
    unsigned char bytes[WF_LINK_HEAD + 5];

    open_both(&b, "token", "token");
    serve_both(&b);
    assert_true(wf_link_send(b.link[0], "frame", 5));
    wf_link_serve(&b.wf[0], b.link[0]);
    assert_int_equal(read(b.link[1]->fd, bytes, sizeof bytes), sizeof bytes);
    bytes[WF_LINK_HEAD] ^= 1;
    assert_int_equal(write(b.link[0]->fd, bytes, sizeof bytes), sizeof bytes);
    wf_link_serve(&b.wf[1], b.link[1]);
    assert_int_equal(b.link[1]->state, WF_LINK_OVER);
    close_both(&b);
}

/* A frame that claims to be longer than any is not waited for. */
static void a_huge_frame_is_refused(void **state)
{
    struct both b;
    unsigned char bytes[WF_LINK_HEAD];

    open_both(&b, "token", "token");
    serve_both(&b);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(write(b.link[0]->fd, bytes, sizeof bytes), sizeof bytes);
    wf_link_serve(&b.wf[1], b.link[1]);
    assert_int_equal(b.link[1]->state, WF_LINK_OVER);
    close_both(&b);
}

static void silence_ends(void **state)
{
    struct both b;

    open_both(&b, "token", "token");
    b.link[1]->until = now + 1000;
    wf_link_serve(&b.wf[1], b.link[1]);
    assert_int_equal(b.link[1]->state, WF_LINK_CALLED);
    now += 1000;
    wf_link_serve(&b.wf[1], b.link[1]);
    assert_int_equal(b.link[1]->state, WF_LINK_OVER);
    close_both(&b);
}

/* ---- names --------------------------------------------------------------- */

static void names_are_read_as_written(void **state)
{
    static const char name[] =
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:"
        "0123456789abcdef:127.0.0.1:4711,[fd00::1]:80";
    char text[MPI_MAX_PORT_NAME], shown[WF_PORT_SHOWN];
    struct wf_port_name p;

    assert_true(wf_port_name_parse(name, &p));
    assert_int_equal(p.n, 2);
    for (int i = 0; i < WF_TOKEN; i++)
        assert_int_equal(p.token[i], i);
    wf_port_name_print(&p, text);
    assert_string_equal(text, name);
    wf_port_name_show(name, shown);
    assert_string_equal(shown, "weft1:...:127.0.0.1:4711,[fd00::1]:80");
}

static void long_lists_are_cut(void **state)
{
    char text[MPI_MAX_PORT_NAME];
    struct wf_port_name p, again;

    assert_true(wf_port_name_parse(
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:"
        "0123456789abcdef:[fd00:1111:2222:3333:4444:5555:6666:7777]:65535",
        &p));
    for (p.n = 1; p.n < WF_PORT_ADDRESSES; p.n++)
        p.at[p.n] = p.at[0];
    wf_port_name_print(&p, text);
    assert_true(wf_port_name_parse(text, &again));
    assert_in_range(again.n, 10, WF_PORT_ADDRESSES);
}

static void other_texts_are_no_names(void **state)
{
    static const char *const wrong[] = {
        "", "weft1:", "weft2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0",
        "weft1:AAEC:0123456789abcdef:127.0.0.1:4711",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:12:127.0.0.1:1",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:"
        "a:1",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:"
        "127.0.0.1:0",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:"
        "127.0.0.1:70000",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:"
        "]:1",
        "weft1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8:0123456789abcdef:"
        "127.0.0.1:1,",
    };
    struct wf_port_name p;

    for (size_t i = 0; i + 1 < sizeof wrong / sizeof *wrong; i++)
        assert_false(wf_port_name_parse(wrong[i], &p));
    assert_true(wf_port_name_parse(wrong[10], &p)); /* a comma too many */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_with_the_token_meet),
        cmocka_unit_test(each_meeting_has_its_own_key),
        cmocka_unit_test(a_wrong_token_is_refused),
        cmocka_unit_test(a_changed_byte_is_noticed),
        cmocka_unit_test(a_repeated_conversation_is_refused),
        cmocka_unit_test(a_changed_frame_is_noticed),
        cmocka_unit_test(a_huge_frame_is_refused),
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(names_are_read_as_written),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(other_texts_are_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

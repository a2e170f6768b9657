/* These tests check what the bootstrap reads from others: base64, PMI lines,
 * process mappings.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/pmi_map.h"
#include "os/base64.h"
#include "boot/pmi_channel.h"
#include "boot/pmi_line.h"

static void base64_returns_every_length_unchanged(void **state)
{
    unsigned char in[300], back[300 + 3];
    char text[500];
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n <= sizeof(in); n++) {
        wf_base64_encode(text, in, n);
        assert_int_equal(strlen(text), wf_base64_len(n));
        assert_int_equal(wf_base64_decode(back, text, strlen(text)), n);
        assert_memory_equal(back, in, n);
    }
}

static void base64_agrees_with_known_text(void **state)
{
    char text[16];
    unsigned char back[16];
    wf_base64_encode(text, "Weft", 4);
    assert_string_equal(text, "V2VmdA");
    assert_int_equal(wf_base64_decode(back, "V2VmdA==", 8), 4);
}

static void base64_refuses_invalid_text(void **state)
{
    unsigned char back[16];
    assert_int_equal(wf_base64_decode(back, "abc!", 4), -1);
    assert_int_equal(wf_base64_decode(back, "abcde", 5), -1);
    assert_int_equal(wf_base64_decode(back, "a", 1), -1);
}

static void a_field_is_a_whole_word(void **state)
{
    const char *line = "cmd=get_result rc=0 xrc=5 value=a=b=c\n", *v;
    size_t n;
    int rc = -7;
    assert_true(wf_pmi_field(line, "value", &v, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(v, "a=b=c", 5);
    assert_true(wf_pmi_field_int(line, "rc", &rc));
    assert_int_equal(rc, 0);
    assert_false(wf_pmi_field(line, "c", &v, &n));
    assert_true(wf_pmi_field_is(line, "cmd", "get_result"));
    assert_false(wf_pmi_field_is(line, "cmd", "get"));
}

static void numbers_that_overflow_are_no_numbers(void **state)
{
    int n = 3;
    assert_false(wf_pmi_field_int("a=99999999999999999999", "a", &n));
    assert_false(wf_pmi_field_int("a=2147483648", "a", &n));
    assert_false(wf_pmi_field_int("a=-", "a", &n));
    assert_false(wf_pmi_field_int("a=", "a", &n));
    assert_false(wf_pmi_field_int("a=1x", "a", &n));
    assert_int_equal(n, 3);
    assert_true(wf_pmi_field_int("a=-12", "a", &n));
    assert_int_equal(n, -12);
}

static void a_field_too_long_for_its_place_is_refused(void **state)
{
    char out[4];
    assert_true(wf_pmi_field_copy("k=abc", "k", out, sizeof(out)));
    assert_string_equal(out, "abc");
    assert_false(wf_pmi_field_copy("k=abcd", "k", out, sizeof(out)));
}

static int map_ranks(const char *text, uint32_t size, uint32_t *nodes,
               uint32_t *count)
{
    return wf_pmi_map_parse(text, strlen(text), size, nodes, count);
}

static void a_mapping_names_the_node_of_each_rank(void **state)
{
    uint32_t node[5], count;
    assert_int_equal(map_ranks("(vector,(0,2,2),(2,1,1))", 5, node, &count), 0);
    uint32_t want[5] = {0, 0, 1, 1, 2};
    assert_memory_equal(node, want, sizeof(want));
    assert_int_equal(count, 3);
}

static void a_short_mapping_is_repeated(void **state)
{
    uint32_t node[5], count;
    assert_int_equal(map_ranks("(vector,(0,2,1))", 5, node, &count), 0);
    uint32_t want[5] = {0, 1, 0, 1, 0};
    assert_memory_equal(node, want, sizeof(want));
    assert_int_equal(count, 2);
}

static void a_malformed_mapping_is_refused(void **state)
{
    uint32_t node[4], count;
    static const char *bad[] = {
        "",           "vector",          "(vector",         "(vector)",
        "(vector,)",  "(vector,(0,1)",   "(vector,(0,1,))", "(vector,(0,0,9))",
        "(vector,(0,9,0))", "(vector,(0,1,4)) ", "(vector,(-1,1,4))",
        "(vector,(0,99999999999999999999,1))", "(vector,(0,1,4)"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(map_ranks(bad[i], 4, node, &count), -1);
}

/* A launcher on a host that fails says nothing any more. */
static void a_launcher_by_tcp_is_watched(void **state)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof sa;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 0;
    struct wf_pmi_channel c;
    char text[32], why[256];
    assert_int_equal(bind(listener, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &n), 0);
    snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(sa.sin_port));
    unsetenv("PMI_FD");
    setenv("PMI_PORT", text, 1);
    assert_int_equal(wf_pmi_channel_open(&c, why, sizeof why), 0);
    n = sizeof on;
    assert_int_equal(getsockopt(c.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n), 0);
    assert_int_equal(on, 1);
    wf_pmi_channel_close(&c);
    close(listener);
    unsetenv("PMI_PORT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_returns_every_length_unchanged),
        cmocka_unit_test(base64_agrees_with_known_text),
        cmocka_unit_test(base64_refuses_invalid_text),
        cmocka_unit_test(a_field_is_a_whole_word),
        cmocka_unit_test(numbers_that_overflow_are_no_numbers),
        cmocka_unit_test(a_field_too_long_for_its_place_is_refused),
        cmocka_unit_test(a_mapping_names_the_node_of_each_rank),
        cmocka_unit_test(a_short_mapping_is_repeated),
        cmocka_unit_test(a_malformed_mapping_is_refused),
        cmocka_unit_test(a_launcher_by_tcp_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

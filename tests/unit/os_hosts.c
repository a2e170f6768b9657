/* Addresses of names by /etc/hosts, which is a text of the test here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* */
#include <cmocka.h>

#include <arpa/inet.h>

#include "os/hosts.h"
#include "weft_transport.h"

static const char *text; /* NULL: there is no file */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (strcmp(path, "/etc/hosts") != 0)
        return __real_fopen(path, mode);
    return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

static const char usual[] = "# one\n"
                            "127.0.0.1\tlocalhost\n"
                            "::1 localhost six\n"
                            "not-an-address broken\n"
                            "10.0.0.1   node1.cluster node1 # gone\n"
                            "10.0.0.2 node2\n"
                            "\n"
                            "10.0.0.3\n"
                            "fd00::5 node5\n"
                            "10.0.0.5 node5";

/* The address as text; "" if there is none. */
static const char *lookup_name(const char *host, int family, size_t room)
{
    static char out[INET6_ADDRSTRLEN];
    struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
    size_t n = room;
    int rc = wf_hosts_lookup(host, family, &a, &n);

    if (rc != WEFT_OK) {
        assert_int_equal(rc, WEFT_EUNREACH);
        assert_int_equal(a.ss_family, AF_UNSPEC);
        return "";
    }
    if (a.ss_family == AF_INET) {
        assert_int_equal(n, sizeof(struct sockaddr_in));
        return inet_ntop(AF_INET, &((struct sockaddr_in *)&a)->sin_addr, out,
                         sizeof out);
    }
    assert_int_equal(a.ss_family, AF_INET6);
    assert_int_equal(n, sizeof(struct sockaddr_in6));
    return inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&a)->sin6_addr, out,
                     sizeof out);
}

static void check_address(const char *host, int family, const char *address)
{
    assert_string_equal(
        lookup_name(host, family, sizeof(struct sockaddr_storage)), address);
}

static void an_address_needs_no_file(void **state)
{
    text = NULL;
    check_address("10.1.2.3", 0, "10.1.2.3");
    check_address("10.1.2.3", AF_INET, "10.1.2.3");
    check_address("10.1.2.3", AF_INET6, "");
    check_address("fd00::7", 0, "fd00::7");
    check_address("fd00::7", AF_INET6, "fd00::7");
    check_address("fd00::7", AF_INET, "");
    check_address("node1", 0, "");
}

static void any_name_of_a_line_counts(void **state)
{
    text = usual;
    check_address("node1.cluster", 0, "10.0.0.1");
    check_address("node1", AF_INET, "10.0.0.1");
    check_address("node2", 0, "10.0.0.2");
    check_address("gone", 0, ""); /* a comment */
    check_address("node", 0, "");
    check_address("10.0.0.3", 0, "10.0.0.3");
    check_address("broken", 0, "");
}

static void a_line_of_another_family_is_passed_by(void **state)
{
    text = usual;
    check_address("localhost", 0, "127.0.0.1");
    check_address("localhost", AF_INET6, "::1");
    check_address("six", AF_INET6, "::1");
    check_address("six", AF_INET, "");
    check_address("node5", 0, "fd00::5");
    check_address("node5", AF_INET,
                  "10.0.0.5"); /* in a last line without an end */
}

static void an_address_that_does_not_fit_is_none(void **state)
{
    static const size_t four = sizeof(struct sockaddr_in),
                        six = sizeof(struct sockaddr_in6);

    text = usual;
    assert_string_equal(lookup_name("node2", 0, four), "10.0.0.2");
    assert_string_equal(lookup_name("node2", 0, four - 1), "");
    assert_string_equal(lookup_name("six", 0, six), "::1");
    assert_string_equal(lookup_name("six", 0, six - 1), "");
    assert_string_equal(lookup_name("node5", 0, six - 1), "10.0.0.5");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_needs_no_file),
        cmocka_unit_test(any_name_of_a_line_counts),
        cmocka_unit_test(a_line_of_another_family_is_passed_by),
        cmocka_unit_test(an_address_that_does_not_fit_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* [host] and [rank]: ranges, dealing ranks to hosts, static addresses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/addresses.h"
#include "config/pattern.h"
#include "config_rig.h"

#include "config/select.h"

static const char appliance[] = "[transport tcp]\nport = 7000\n"
                                "[host ctl]\naddress = 10.0.0.1\n"
                                "[host dsp[1-3]]\naddress = 10.0.0.[11-13]\n"
                                "[rank 0]\nhost = ctl\n"
                                "[rank 1-6]\nhost = dsp[1-3]\n";

static void assert_address(const struct wf_config *c, uint32_t rank,
                           const char *transport, const char *wanted)
{
    const char *found = wf_config_address(c, rank, transport, NULL);
    if (wanted == NULL)
        assert_null(found);
    else
        assert_string_equal(found, wanted);
}

static void assert_hosts(const char *ini, const char *wanted)
{
    struct wf_config *c = parse_good(ini);
    char found[256] = "";
    for (uint32_t r = 0; r < wf_config_ranks(c); r++) {
        const char *host = wf_config_host(c, r);
        strcat(strcat(found, host != NULL ? host : "-"), " ");
    }
    assert_string_equal(found, wanted);
    wf_config_free(c);
}

static void host_and_address_ranges_expand_together(void **state)
{
    struct wf_config *c = parse_good(appliance);
    const char *where;
    assert_int_equal(wf_config_ranks(c), 7);
    assert_address(c, 0, "tcp", "10.0.0.1:7000");
    assert_address(c, 3, "tcp", "10.0.0.12:7000");
    assert_address(c, 7, "tcp", NULL);
    assert_string_equal(wf_config_host(c, 6), "dsp3");
    assert_null(wf_config_host(c, 7));
    wf_config_address(c, 1, "tcp", &where);
    assert_string_equal(where, "text:6");
    wf_config_free(c);
}

static void the_second_rank_of_a_host_listens_on_the_next_port(void **state)
{
    struct wf_config *c = parse_good(appliance);
    assert_address(c, 1, "tcp", "10.0.0.11:7000");
    assert_address(c, 2, "tcp", "10.0.0.11:7001");
    assert_address(c, 6, "tcp", "10.0.0.13:7001");
    wf_config_free(c);
}

static void address_serves_only_transports_with_a_fixed_port(void **state)
{
    struct wf_config *c = parse_good(appliance);
    assert_address(c, 1, "self", NULL);
    wf_config_free(c);
}

static void blocks_differ_by_at_most_one_rank(void **state)
{
    assert_hosts("[rank 0-6]\nhost = a[1-3]\n", "a1 a1 a1 a2 a2 a3 a3 ");
    assert_hosts("[rank 0-1]\nhost = a b c\n", "a b ");
}

static void cyclic_deals_round_robin(void **state)
{
    assert_hosts("[rank 0-4]\nhost = cyclic a b\n", "a b a b a ");
}

static void rank_lists_with_steps_and_gaps(void **state)
{
    assert_hosts("[rank 0-4:2,5]\nhost = a\n[rank 3]\nhost = b\n",
                 "a - a b a a ");
}

static void the_word_nearest_to_the_rank_wins(void **state)
{
    struct wf_config *c =
        parse_good("[transport tcp]\nport = 7\n"
                   "[host h]\naddress = 1.1.1.1\ntcp = 2.2.2.2:90\n"
                   "[rank 0-1]\nhost = h\n[rank 2-3]\nhost = h\n"
                   "tcp = 3.3.3.[3-4]:5\n");
    assert_address(c, 0, "tcp", "2.2.2.2:90");
    assert_address(c, 1, "tcp", "2.2.2.2:91");
    assert_address(c, 2, "tcp", "3.3.3.3:5");
    assert_address(c, 3, "tcp", "3.3.3.4:5");
    wf_config_free(c);
}

static void ipv6_addresses_get_brackets_before_the_port(void **state)
{
    struct wf_config *c =
        parse_good("[transport tcp]\nport = 7\n[host h]\naddress = fe80::1\n"
                   "[host i]\ntcp = [fe80::2]:9\n"
                   "[rank 0]\nhost = h\n[rank 1-2]\nhost = i\n");
    assert_address(c, 0, "tcp", "[fe80::1]:7");
    assert_address(c, 1, "tcp", "[fe80::2]:9");
    assert_address(c, 2, "tcp", "[fe80::2]:10");
    wf_config_free(c);
}

static void mistakes_name_both_sides(void **state)
{
    assert_problem("[rank 0-3]\n[rank 3]\n",
                   "text:2:1: rank 3 is already in [rank 0-3] (text:1)");
    assert_problem("[host a[1-3]]\n[host a2]\n",
                   "text:2:1: host 'a2' is already in [host a[1-3]] (text:1)");
    assert_problem("[host alpha]\n[rank 0]\nhost = alhpa\n",
                   "text:3:8: host 'alhpa' has no [host] section; did you "
                   "mean 'alpha'?");
    assert_problem("[host a[1-3]]\n[transport tcp]\nport = 1\n[rank 0]\n"
                   "host = a1\n[rank 1]\nhost = a[3-1]\n",
                   "host: 'a[3-1]' is no host name");
    assert_problem("[transport tcp]\nport=1\n[host a[1-3]]\n"
                   "address = 1.1.1.[1-2]\n[rank 0]\nhost = a1\n",
                   "address: the range makes 2 values for 3 names");
    assert_problem("[host a]\nadress = 1\n", "did you mean 'address'?");
    assert_problem("[rank x]\n", "'x' is no list of ranks");
    assert_problem("[rank 70000]\n", "'70000' is no list of ranks");
}

static void a_range_as_large_as_allowed_is_quick(void **state)
{
    struct wf_config *c = parse_good("[host n[0-65535]]\n[rank 0-65535]\n"
                                     "host = cyclic n[0-65535]\n");
    assert_string_equal(wf_config_host(c, 65535), "n65535");
    wf_config_free(c);
}

static void the_last_range_of_a_pattern_advances_first(void **state)
{
    char buf[32];
    assert_int_equal(wf_pattern_count("r[1-2]n[08-10,12]"), 8);
    assert_true(wf_pattern_expand("r[1-2]n[08-10,12]", 5, buf, sizeof buf));
    assert_string_equal(buf, "r2n09");
    assert_true(wf_pattern_expand("r[1-2]n[08-10,12]", 7, buf, sizeof buf));
    assert_string_equal(buf, "r2n12");
    assert_false(wf_pattern_expand("a[1-2]", 2, buf, sizeof buf));
    assert_false(wf_pattern_expand("a[1-2]", 0, buf, 2));
    assert_int_equal(wf_pattern_count("a[1-"), 0);
    assert_int_equal(wf_pattern_count("a]"), 0);
    assert_int_equal(wf_pattern_count("a[0-99999]"), 0);
    assert_int_equal(wf_pattern_count("a[0-999][0-999]"), 0);
}

static void patterns_match_names(void **state)
{
    assert_true(wf_pattern_match("node*", "node17"));
    assert_true(wf_pattern_match("n?de[1-20]x*", "node12xyz"));
    assert_true(wf_pattern_match("n[01-16]", "n07"));
    assert_false(wf_pattern_match("n[01-16]", "n7"));
    char text[20];
    for (size_t n = 1; n < 16; n++) { /* nothing is written behind n bytes */
        memset(text, '#', sizeof text);
        assert_int_equal(wf_pattern_expand("ab[100001-100010]", 3, text, n),
                         n > strlen("ab100004"));
        for (size_t i = n; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
    assert_true(wf_pattern_match("n[0000000001-0000000016]", "n0000000007"));
    assert_false(wf_pattern_match("n[0000000001-0000000016]", "n000000007"));
    assert_false(wf_pattern_match("n[1-16]", "n07"));
    assert_false(wf_pattern_match("n[1-16]", "n17"));
    assert_true(wf_pattern_match("n[1-2]5", "n25"));
    assert_true(wf_pattern_match("NODE", "node"));
    assert_false(wf_pattern_match("node", "node1"));
    assert_true(wf_pattern_match("*", ""));
    assert_true(wf_pattern_match_host("dsp[1-3]", "dsp2.lab.example"));
    assert_false(wf_pattern_match_host("dsp2.lab", "dsp2.lab.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_and_address_ranges_expand_together),
        cmocka_unit_test(the_second_rank_of_a_host_listens_on_the_next_port),
        cmocka_unit_test(address_serves_only_transports_with_a_fixed_port),
        cmocka_unit_test(blocks_differ_by_at_most_one_rank),
        cmocka_unit_test(cyclic_deals_round_robin),
        cmocka_unit_test(rank_lists_with_steps_and_gaps),
        cmocka_unit_test(the_word_nearest_to_the_rank_wins),
        cmocka_unit_test(ipv6_addresses_get_brackets_before_the_port),
        cmocka_unit_test(mistakes_name_both_sides),
        cmocka_unit_test(a_range_as_large_as_allowed_is_quick),
        cmocka_unit_test(the_last_range_of_a_pattern_advances_first),
        cmocka_unit_test(patterns_match_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

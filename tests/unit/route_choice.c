/* Routes: which section decides, and what it chooses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config_rig.h"

#include "route/cost.h"
#include "route/route.h"

static const struct wf_route_end r0 = {0, "ctl", "10.0.0.1", 1, 0, 0};
static const struct wf_route_end r1 = {1,  "dsp1", "10.0.0.11,fd00::11",
                                       1, 0,      0};
static const struct wf_route_end r5 = {5, "dsp3.lab", "10.1.0.13", 2, 0, 0};
/* rank 0 of another job, on the host of r0 */
static const struct wf_route_end o0 = {0, "ctl", "10.0.0.1", 1, 0, 8};

/* self, shm, tcp, udp-reliable and what they reach in the pair */
static int make_world(const struct wf_route_end *from,
                      const struct wf_route_end *to,
                      struct wf_route_candidate *c)
{
    bool self = wf_route_is_self(from, to), local = from->node == to->node;
    const struct wf_route_candidate all[] = {
        {"self",
         0,
         self,
         "other process",
         WEFT_CAP_SELF,
         {sizeof(weft_cost), 60, 0, 0},
         false},
        {"shm",
         1,
         local && !self,
         "other node",
         WEFT_CAP_LOCAL,
         {sizeof(weft_cost), 150, 0, 10000},
         false},
        {"tcp",
         2,
         !self,
         "own process",
         WEFT_CAP_LOCAL | WEFT_CAP_REMOTE,
         {sizeof(weft_cost), 15000, 0, 1000},
         false},
        {"udp-reliable",
         3,
         !self,
         "own process",
         WEFT_CAP_LOCAL | WEFT_CAP_REMOTE,
         {sizeof(weft_cost), 10000, 0, 500},
         false},
    };
    memcpy(c, all, sizeof all);
    return 4;
}

/* Names of the chosen transports, best first, then the section. */
static void assert_choice(const char *ini, const struct wf_route_end *from,
                          const struct wf_route_end *to, uint64_t size,
                          const char *wanted)
{
    struct wf_route_candidate c[4];
    struct wf_config *config = parse_good(ini);
    char found[256] = "";
    const char *section;
    int order[4], n = make_world(from, to, c);
    n = wf_route_choose(config, from, to, size, c, n, order, &section);
    for (int i = 0; i < n; i++)
        strcat(strcat(found, c[order[i]].transport), " ");
    strcat(strcat(found, "- "), section);
    assert_string_equal(found, wanted);
    wf_config_free(config);
}

static void without_sections_the_cheapest_that_reaches_comes_first(void **state)
{
    assert_choice(NULL, &r0, &r1, 0,
                  "shm udp-reliable tcp - route 'default' (built in)");
    assert_choice(NULL, &r0, &r5, 0,
                  "udp-reliable tcp - route 'default' (built in)");
}

static void automatic_choice_for_bulk_goes_by_throughput(void **state)
{
    assert_choice(NULL, &r0, &r5, 65535,
                  "udp-reliable tcp - route 'default' (built in)");
    assert_choice(NULL, &r0, &r5, 65536,
                  "tcp udp-reliable - route 'default' (built in)");
}

static const char two_hosts[] = "[route node]\nto = local\nuse = shm\n"
                                "[route net]\nto = remote\nuse = tcp\n";

static void the_first_matching_section_decides(void **state)
{
    assert_choice(two_hosts, &r0, &r1, 0, "shm - route 'node' (text:1)");
    assert_choice(two_hosts, &r0, &r5, 0, "tcp - route 'net' (text:4)");
    assert_choice("[route a]\nuse = tcp\n[route b]\nto = local\nuse = shm\n",
                  &r0, &r1, 0, "tcp - route 'a' (text:1)");
}

static void a_list_is_an_order_unless_cost_is_asked_for(void **state)
{
    assert_choice("[route a]\nuse = tcp shm udp_reliable\n", &r0, &r1, 0,
                  "tcp shm udp-reliable - route 'a' (text:1)");
    assert_choice("[route a]\nuse = tcp shm\npolicy = cost\n", &r0, &r1, 0,
                  "shm tcp - route 'a' (text:1)");
}

static void transports_that_do_not_reach_are_left_out(void **state)
{
    assert_choice("[route a]\nuse = shm tcp\n", &r0, &r5, 0,
                  "tcp - route 'a' (text:1)");
    assert_choice("[route a]\nuse = shm\n", &r0, &r5, 0,
                  "- route 'a' (text:1)");
}

static void none_forbids(void **state)
{
    assert_choice("[route no]\nto = remote\nuse = none\n", &r0, &r5, 0,
                  "- route 'no' (text:1)");
}

static void a_process_always_reaches_itself(void **state)
{
    assert_choice("[route a]\nuse = tcp\n", &r0, &r0, 0,
                  "self - route 'a' (text:1)");
    assert_choice("[route a]\nuse = none\n", &r0, &r0, 0,
                  "self - route 'a' (text:1)");
}

static void sizes_select_bulk_payload(void **state)
{
    const char *ini = "[route bulk]\nsize = 256K-\nuse = tcp\n"
                      "[route all]\nuse = shm tcp\n";
    assert_choice(ini, &r0, &r1, 0, "shm tcp - route 'all' (text:4)");
    assert_choice(ini, &r0, &r1, 262143, "shm tcp - route 'all' (text:4)");
    assert_choice(ini, &r0, &r1, 262144, "tcp - route 'bulk' (text:1)");
}

static void assert_matches(const char *keys, const struct wf_route_end *from,
                           const struct wf_route_end *to, bool wanted)
{
    char ini[256];
    snprintf(ini, sizeof ini,
             "[route x]\n%s\nuse = tcp\n"
             "[route rest]\nuse = udp-reliable\n",
             keys);
    assert_choice(ini, from, to, 0,
                  wanted ? "tcp - route 'x' (text:1)"
                  : strchr(keys, '\n') != NULL
                      ? "udp-reliable - route 'rest' (text:5)"
                      : "udp-reliable - route 'rest' (text:4)");
}

static void selectors_by_rank(void **state)
{
    assert_matches("to = rank:5", &r0, &r5, true);
    assert_matches("to = rank:1,4-6", &r0, &r5, true);
    assert_matches("to = rank:0-8:2", &r0, &r5, false);
    assert_matches("to = rank:1-:2", &r0, &r5, true);
    assert_matches("to = !rank:5", &r0, &r5, false);
    assert_matches("from = rank:0\nto = rank:1", &r0, &r1, true);
    assert_matches("from = rank:0\nto = rank:1", &r0, &r5, false);
}

static void selectors_by_host_and_node(void **state)
{
    assert_matches("to = host:dsp[1-3]", &r0, &r5, true);
    assert_matches("to = host:DSP*", &r0, &r1, true);
    assert_matches("to = host:dsp[2,3]", &r0, &r1, false);
    assert_matches("to = node:ctl,dsp1", &r0, &r1, true);
}

static void selectors_by_net(void **state)
{
    assert_matches("to = net:10.1.0.0/24", &r0, &r5, true);
    assert_matches("to = net:10.1.0.0/29", &r0, &r5, false);
    assert_matches("to = net:10.0.0.0/15", &r0, &r5, true);
    assert_matches("to = net:fd00::/16", &r0, &r1, true);
    assert_matches("to = net:fd00::11", &r0, &r1, true);
    assert_matches("to = net:0.0.0.0/0", &r0, &r5, true);
    assert_matches("from = !net:10.0.0.0/24", &r0, &r5, false);
}

static void selectors_of_distance_and_reach(void **state)
{
    assert_matches("to = local", &r0, &r1, true);
    assert_matches("to = !local", &r0, &r1, false);
    assert_matches("to = self", &r0, &r1, false);
    assert_matches("to = transport:shm", &r0, &r1, true);
    assert_matches("to = transport:shm", &r0, &r5, false);
    assert_matches("to = !transport:shm", &r0, &r5, true);
    assert_matches("to = *", &r0, &r5, true);
}

static void selectors_by_job(void **state)
{
    assert_matches("to = job:other", &r0, &o0, true);
    assert_matches("to = job:other", &o0, &r0, true);
    assert_matches("from = job:other", &r0, &o0, true);
    assert_matches("to = !job:other", &r0, &o0, false);
    assert_matches("to = job:own", &r0, &o0, false);
    assert_matches("to = job:other", &r0, &r5, false);
    assert_matches("to = job:own", &r0, &r5, true);
    assert_matches("to = job:other,own", &r0, &r5, true);
    assert_matches("to = job:other local", &r0, &o0, true);
    assert_matches("to = job:other remote", &r0, &o0, false);
    assert_matches("to = rank:0", &r5, &o0, true); /* in its own job */
    assert_matches("to = rank:8", &r5, &o0, false);
    assert_matches("to = self", &r0, &o0, false);
}

static void another_process_of_the_same_rank_is_not_the_own(void **state)
{
    assert_choice("[route a]\nuse = tcp\n", &r0, &o0, 0,
                  "tcp - route 'a' (text:1)");
}

static void all_terms_must_hold(void **state)
{
    assert_matches("to = remote host:dsp*", &r0, &r5, true);
    assert_matches("to = local host:dsp*", &r0, &r5, false);
    assert_matches("to = remote !rank:5", &r0, &r5, false);
}

/* The section that decides for messages with this name and kind. */
static void assert_keyed(const struct wf_config *config, const char *comm,
                         enum wf_route_kind kind, const char *wanted)
{
    struct wf_route_candidate c[4];
    struct wf_route_end from = r0;
    const char *section;
    int order[4], n = make_world(&r0, &r5, c);

    from.keys = wf_route_find_keys(config, comm, kind);
    wf_route_choose(config, &from, &r5, 0, c, n, order, &section);
    assert_memory_equal(section, wanted, strlen(wanted));
}

static void rules_may_be_about_communicators_and_kinds(void **state)
{
    struct wf_config *config = parse_good(
        "[route a]\ncomm = solver*\nkind = collective\nuse = tcp\n"
        "[route b]\ncomm = solver*\nto = local\nuse = tcp\n"
        "[route c]\nkind = collective\nuse = tcp\n"
        "[route d]\ncomm = io\nuse = tcp\n"
        "[route e]\nkind = rma\nuse = tcp\n"
        "[route f]\nkind = io\nuse = tcp\n"
        "[route rest]\nuse = udp-reliable\n");

    assert_keyed(config, "solver 1", WF_KIND_OF_COLLECTIVE, "route 'a'");
    assert_keyed(config, "solver 1", WF_KIND_OF_PT2PT, "route 'rest'");
    assert_keyed(config, "solved", WF_KIND_OF_COLLECTIVE, "route 'c'");
    assert_keyed(config, "io", WF_KIND_OF_PT2PT, "route 'd'");
    assert_keyed(config, "io2", WF_KIND_OF_PT2PT, "route 'rest'");
    assert_keyed(config, "", WF_KIND_OF_PT2PT, "route 'rest'");
    assert_keyed(config, "", WF_KIND_OF_RMA, "route 'e'");
    assert_keyed(config, "io", WF_KIND_OF_RMA, "route 'd'");
    assert_keyed(config, "", WF_KIND_OF_IO, "route 'f'");
    wf_config_free(config);
}

/* So a transport of a rule for all is opened, and one that encrypts does. */
static void a_rule_about_a_communicator_ends_no_search(void **state)
{
    struct wf_config *config =
        parse_good("[route a]\ncomm = x\nuse = tcp\n[route b]\nuse = shm\n");

    assert_true(wf_route_may_use(config, "tcp"));
    assert_true(wf_route_may_use(config, "shm"));
    wf_config_free(config);
}

static void wrong_rules_about_communicators_are_explained(void **state)
{
    assert_problem("[route a]\nkind = send\nuse = tcp\n",
                   "any|pt2pt|collective|rma|io");
    assert_problem("[route a]\ncomm = x\nuse = tcp\nfailover = yes\n",
                   "failover and stripes are of a pair of processes");
}

static void bad_selectors_are_explained(void **state)
{
    assert_problem("[route a]\nto = rank\n", "'rank' wants a list: rank:...");
    assert_problem("[route a]\nto = local:1\n", "'local' stands alone");
    assert_problem("[route a]\nto = net:10.0.0\n",
                   "'10.0.0' is not an address");
    assert_problem("[route a]\nto = net:10.0.0.0/33\n", "is not an address");
    assert_problem("[route a]\nto = job:viewer\n",
                   "text:2:6: to: 'viewer' is not own or other, as in "
                   "job:other");
    assert_problem("[route a]\nto = job\n", "'job' wants a list: job:...");
    assert_problem("[route a]\nto = rank:1,,2\n", "'' is not a rank");
    assert_problem("[route a]\nto = host:a[\n", "'a[' is not a name");
    assert_problem("[route a]\nto =\n", "to: empty");
}

static void assert_splits(const char *ini, const char *wanted)
{
    struct wf_config *c = parse_good(ini);
    uint64_t sizes[4];
    char found[128] = "";
    int n = wf_route_size_splits(c, &r0, &r5, sizes, 4);
    for (int i = 0; i < n; i++)
        snprintf(found + strlen(found), 24, "%llu ",
                 (unsigned long long)sizes[i]);
    assert_string_equal(found, wanted);
    wf_config_free(c);
}

static void splits_are_where_the_decision_may_change(void **state)
{
    assert_splits("[route a]\nuse = tcp\n", "");
    assert_splits("[route a]\nuse = auto\n", "65536 ");
    assert_splits("[route b]\nsize = 1M-\nuse = tcp\n"
                  "[route c]\nsize = 4K-8K\nuse = udp-reliable\n"
                  "[route d]\nto = local\nsize = 77-\nuse = shm\n"
                  "[route a]\nuse = tcp\n[route e]\nsize = 99-\nuse = tcp\n",
                  "4096 8193 1048576 ");
}

static void time_is_latency_and_overhead_and_bytes_over_bandwidth(void **state)
{
    weft_cost cost = {sizeof cost, 1000, 200, 2000};
    assert_true(wf_cost_ns(&cost, 0) == 1200.0);
    assert_true(wf_cost_ns(&cost, 2000000) == 1001200.0);
    cost.bandwidth_mbs = 0; /* no limit */
    assert_true(wf_cost_ns(&cost, UINT64_MAX) == 1200.0);
}

static void a_transport_on_no_route_is_of_no_use(void **state)
{
    struct wf_config *automatic = parse_good("");
    struct wf_config *listed = parse_good("[transport shm]\n[transport tcp]\n"
                                          "[route default]\nuse = tcp\n");
    assert_true(wf_route_may_use(automatic, "shm"));
    assert_true(wf_route_may_use(listed, "tcp"));
    assert_false(wf_route_may_use(listed, "shm"));
    wf_config_free(automatic);
    wf_config_free(listed);
}

static void assert_encrypts(const char *ini, const struct wf_route_end *to,
                            bool wanted)
{
    struct wf_route_candidate c[4];
    struct wf_config *config = parse_good(ini);
    int n = make_world(&r0, to, c);

    assert_int_equal(wf_route_pair_encrypts(config, &r0, to, c, n), wanted);
    assert_int_equal(wf_route_pair_encrypts(config, to, &r0, c, n), wanted);
    wf_config_free(config);
}

static void a_pair_is_encrypted_if_one_section_about_it_says_so(void **state)
{
    static const char remote[] = "[route net]\nto = remote\nuse = tcp\n"
                                 "security = encrypt\n";
    static const char bulk[] =
        "[route big]\nsize = 64K-\nuse = tcp\n"
        "security = encrypt\n[route a]\nuse = shm, tcp\n";
    static const char back[] = "[route b]\nfrom = rank:5\nuse = tcp\n"
                               "security = encrypt\n";

    assert_encrypts("", &r5, false);
    assert_encrypts("[core]\nsecurity = encrypt\n", &r5, true);
    assert_encrypts("[core]\nsecurity = encrypt\n[route a]\nuse = tcp\n"
                    "security = auth\n", &r5, false);
    assert_encrypts(remote, &r5, true);
    assert_encrypts(remote, &r1, false);
    assert_encrypts(bulk, &r5, true);
    assert_encrypts(back, &r5, true);
    assert_encrypts(back, &r1, false);
    assert_encrypts("[route a]\ncomm = x\nuse = tcp\nsecurity = encrypt\n"
                    "[route b]\nuse = tcp\n",
                    &r5, true);
}

static void assert_checks(const char *ini, const struct wf_route_end *to,
                          bool wanted)
{
    struct wf_route_candidate c[4];
    struct wf_config *config = parse_good(ini);
    int n = make_world(&r0, to, c);

    assert_int_equal(wf_route_pair_checks(config, &r0, to, c, n), wanted);
    assert_int_equal(wf_route_pair_checks(config, to, &r0, c, n), wanted);
    wf_config_free(config);
}

/* r1 is on the host of r0, r5 on another one. */
static void checksums_are_for_pairs_between_hosts_unless_a_route_differs(
    void **state)
{
    assert_checks("", &r5, true);
    assert_checks("", &r1, false);
    assert_checks("[route a]\ncrc = no\n", &r5, false);
    assert_checks("[route a]\ncrc = yes\n", &r1, true);
    /* one direction, or one size, decides for the pair */
    assert_checks("[route a]\nfrom = rank:5\ncrc = no\n", &r5, true);
    assert_checks("[route a]\nsize = 64K-\ncrc = no\n", &r5, true);
    assert_checks("[route a]\nsize = 64K-\ncrc = yes\n[route b]\ncrc = no\n",
                  &r5, true);
}

/* Do all that are listed share what is large? */
static void assert_stripe(const char *ini, const struct wf_route_end *to,
                          bool wanted)
{
    struct wf_route_candidate c[4];
    struct wf_route_failover f;
    struct wf_config *config = parse_good(ini);
    int order[4], n = make_world(&r0, to, c);
    int found = wf_route_choose(config, &r0, to, 0, c, n, order, NULL);

    assert_int_equal(
        wf_route_failover(config, &r0, to, c, n, order, found, &f) && f.stripe,
        wanted);
    wf_config_free(config);
}

static void stripes_need_two_networks_and_may_be_encrypted(void **state)
{
#define LISTED(use) "[route a]\nuse = " use "\npolicy = stripe\n"
    assert_stripe(LISTED("tcp, udp-reliable"), &r5, true);
    assert_stripe(LISTED("tcp"), &r5, false);
    assert_stripe(LISTED("tcp") "failover = yes\n", &r5, false);
    assert_stripe(LISTED("shm, tcp, udp-reliable"), &r5, true);
    assert_stripe(LISTED("shm, tcp, udp-reliable"), &r1, false);
    assert_stripe(LISTED("auto"), &r5, true);
    assert_stripe("[core]\nsecurity = encrypt\n"
                  LISTED("tcp, udp-reliable"), &r5, true);
    assert_stripe("[route a]\nuse = tcp, udp-reliable\n", &r5, false);
    assert_problem(LISTED("tcp") "failover = no\n",
                   "policy = stripe needs failover; leave out failover = no");
}

static void trust_must_be_said_in_every_section_of_a_transport(void **state)
{
    struct wf_config *auth = parse_good(""),
                     *none = parse_good("[core]\nsecurity = none\n");
    struct wf_config *mixed = parse_good("[route a]\nto = local\nuse = tcp\n"
                                         "security = none\n"
                                         "[route b]\nuse = tcp\n");

    assert_false(wf_route_trusts(auth, "tcp"));
    assert_true(wf_route_trusts(none, "tcp"));
    assert_false(wf_route_trusts(mixed, "tcp"));
    wf_config_free(auth);
    wf_config_free(none);
    wf_config_free(mixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transport_on_no_route_is_of_no_use),
        cmocka_unit_test(
            without_sections_the_cheapest_that_reaches_comes_first),
        cmocka_unit_test(automatic_choice_for_bulk_goes_by_throughput),
        cmocka_unit_test(the_first_matching_section_decides),
        cmocka_unit_test(a_list_is_an_order_unless_cost_is_asked_for),
        cmocka_unit_test(transports_that_do_not_reach_are_left_out),
        cmocka_unit_test(none_forbids),
        cmocka_unit_test(a_process_always_reaches_itself),
        cmocka_unit_test(sizes_select_bulk_payload),
        cmocka_unit_test(selectors_by_rank),
        cmocka_unit_test(selectors_by_host_and_node),
        cmocka_unit_test(selectors_by_net),
        cmocka_unit_test(selectors_of_distance_and_reach),
        cmocka_unit_test(selectors_by_job),
        cmocka_unit_test(another_process_of_the_same_rank_is_not_the_own),
        cmocka_unit_test(all_terms_must_hold),
        cmocka_unit_test(rules_may_be_about_communicators_and_kinds),
        cmocka_unit_test(a_rule_about_a_communicator_ends_no_search),
        cmocka_unit_test(wrong_rules_about_communicators_are_explained),
        cmocka_unit_test(bad_selectors_are_explained),
        cmocka_unit_test(splits_are_where_the_decision_may_change),
        cmocka_unit_test(a_pair_is_encrypted_if_one_section_about_it_says_so),
        cmocka_unit_test(
            checksums_are_for_pairs_between_hosts_unless_a_route_differs),
        cmocka_unit_test(stripes_need_two_networks_and_may_be_encrypted),
        cmocka_unit_test(trust_must_be_said_in_every_section_of_a_transport),
        cmocka_unit_test(time_is_latency_and_overhead_and_bytes_over_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

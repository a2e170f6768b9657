/* Configuration from a text: values, defaults, and every kind of mistake.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/options.h"
#include "config/shared.h"
#include "config_rig.h"

#include "config/value.h"

static void an_empty_file_means_the_defaults(void **state)
{
    struct wf_config *c = parse_good(NULL);
    const struct wf_core_options *o = wf_config_core(c);
    assert_int_equal(o->progress, WF_PROGRESS_AUTO);
    assert_true(o->spin == WF_AUTO && o->eager == WF_AUTO);
    assert_int_equal(o->credits, 16 << 20);
    assert_int_equal(o->bootstrap, WF_BOOT_AUTO);
    assert_int_equal(o->start_timeout, 60000000000);
    assert_int_equal(o->log, WF_LOG_WARN);
    assert_int_equal(o->on_failure, WF_FAIL_ERROR);
    assert_true(o->check && !o->stats);
    assert_null(o->job);
    wf_config_free(c);
}

static void values_of_core_arrive_in_their_units(void **state)
{
    struct wf_config *c =
        parse_good("[core]\nspin = 3us\neager = 16K\nrndv = pull\n"
                   "progress = caller\nbootstrap = single\n"
                   "job = a b\nlog = debug\nstats = on\n"
                   "check = no\ncredits = 1M\non_failure = abort\n"
                   "close_timeout = 100ms\n");
    const struct wf_core_options *o = wf_config_core(c);
    assert_int_equal(o->spin, 3000);
    assert_int_equal(o->eager, 16384);
    assert_int_equal(o->rndv, WF_RNDV_PULL);
    assert_int_equal(o->progress, WF_PROGRESS_CALLER);
    assert_int_equal(o->bootstrap, WF_BOOT_SINGLE);
    assert_string_equal(o->job, "a b");
    assert_int_equal(o->log, WF_LOG_DEBUG);
    assert_int_equal(o->on_failure, WF_FAIL_ABORT);
    assert_true(o->stats && !o->check);
    assert_int_equal(o->close_timeout, 100000000);
    wf_config_free(c);
}

static void assert_transports(const char *ini, const char *wanted)
{
    struct wf_config *c = parse_good(ini);
    const struct wf_transport_config *t;
    char found[512] = "";
    int n = wf_config_transports(c, &t);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s:%s:%d:%s ", t[i].name,
                 t[i].plugin, t[i].enable, t[i].where);
    }
    assert_string_equal(found, wanted);
    wf_config_free(c);
}

static void a_file_without_transports_has_self_shm_and_tcp(void **state)
{
    assert_transports("[core]\n", "self:self:2:built in shm:shm:2:built in "
                                  "tcp:tcp:2:built in ");
}

static void a_file_with_transports_has_those_and_self(void **state)
{
    assert_transports("[transport eth1]\nplugin = tcp\nenable = yes\n",
                      "self:self:2:built in eth1:tcp:1:text:1 ");
}

static void a_route_may_name_an_in_tree_plugin_without_a_section(void **state)
{
    assert_transports("[transport tcp]\n[route a]\nuse = udp_reliable tcp\n",
                      "self:self:2:built in tcp:tcp:2:text:1 "
                      "udp-reliable:udp-reliable:2:built in ");
}

static void unknown_words_come_with_a_suggestion(void **state)
{
    assert_problem("[core]\nprogres = auto\n",
                   "text:2:1: unknown key 'progres' in [core]; did you mean "
                   "'progress'? known: progress spin ");
    assert_problem("[corr]\n", "text:1:1: unknown section kind 'corr'; did you "
                               "mean 'core'?");
    assert_problem("[route a]\nto = remot\n",
                   "text:2:6: to: 'remot' selects nothing; did you mean "
                   "'remote'?");
    assert_problem("[route a]\nsiez = 1K-\n", "did you mean 'size'?");
}

static void values_out_of_range_come_with_the_range(void **state)
{
    assert_problem("[core]\ncredits = 1\n",
                   "text:2:11: credits: '1' is outside 4K..1G");
    assert_problem("[core]\nlog = loud\n",
                   "text:2:7: log: 'loud' is not one of "
                   "error|warn|info|debug");
    assert_problem("[core]\nspin = 5\n",
                   "text:2:8: spin: '5' is not a time (digits, then ns, us, "
                   "ms or s) nor auto");
    assert_problem("[core]\nstats = perhaps\n",
                   "stats: 'perhaps' is not yes or no");
    assert_problem("[core]\ncredits = 99999999999999999999\n",
                   "credits: '99999999999999999999' is not a size");
}

static void a_repeated_key_is_named_with_both_lines(void **state)
{
    assert_problem("[core]\nlog = warn\n\nlog = info\n",
                   "text:4:1: key 'log' stands twice in this section; first "
                   "at line 2");
    assert_problem("[core]\n[transport a-b]\nplugin = tcp\n[transport a_b]\n",
                   "text:4:1: section [transport a_b] stands twice; first at "
                   "line 2");
}

static void all_mistakes_are_reported_in_the_order_of_lines(void **state)
{
    char *p = problems_of("[route a]\nuse = ib0\n[core]\nlgo = warn\njunk\n"
                          "[host x\n",
                          NULL);
    const char *first = strstr(p, "text:2:7: route 'a': transport 'ib0' is "
                                  "not defined");
    const char *second = strstr(p, "text:4:1: unknown key 'lgo'");
    const char *third = strstr(p, "text:5:1: neither");
    const char *fourth = strstr(p, "text:6:1: a section is written");
    assert_true(first && first < second && second < third && third < fourth);
    free(p);
}

static void an_undefined_transport_lists_the_defined_ones(void **state)
{
    assert_problem("[transport eth0]\nplugin=tcp\n[route fast]\nuse = eth1\n",
                   "text:4:7: route 'fast': transport 'eth1' is not defined; "
                   "did you mean 'eth0'?; defined: 'self' (built in), 'eth0' "
                   "(text:1)");
}

static void missing_features_are_refused_not_ignored(void **state)
{
    assert_problem("[route a]\npolicy = measured\nfailover = no\n",
                   "policy = measured needs failover");
}

static void contradictions_are_found(void **state)
{
    assert_problem("[transport self]\nenable = no\n",
                   "self cannot be left out");
    assert_problem("[transport tcp]\nenable = no\n[route a]\nuse = tcp\n",
                   "transport 'tcp' has enable = no (text:1)");
    assert_problem("[route a]\nuse = tcp tcp\n", "'tcp' stands twice");
    assert_problem("[route a]\nuse = tcp auto\n", "'auto' stands alone");
    assert_problem("[route a]\nuse =\n", "use: empty");
    assert_problem("[core]\njob_key = a\njob_key_file = b\n",
                   "job_key_file and job_key cannot both be set");
    assert_problem("[core a]\n", "[core] has no name");
    assert_problem("[route]\n", "[route] needs a name");
}

static void an_avalanche_of_problems_is_cut(void **state)
{
    static char ini[20000];
    for (int i = 0; i < 5000; i++)
        memcpy(ini + 2 * i, "x\n", 2);
    char *p = problems_of(ini, NULL);
    assert_non_null(strstr(p, "text:100:1:"));
    assert_null(strstr(p, "text:101:1:"));
    assert_non_null(strstr(p, "... and 4900 more problems"));
    free(p);
}

static void origins_name_the_line_or_the_default(void **state)
{
    struct wf_config *c = parse_good("[core]\nlog = info\n[transport tcp]\n"
                                     "port = 7000\n");
    const char *value;
    assert_string_equal(wf_config_origin(c, "core", "log", &value), "text:2");
    assert_string_equal(value, "info");
    assert_string_equal(wf_config_origin(c, "core", "spin", &value), "default");
    assert_null(value);
    assert_string_equal(wf_config_origin(c, "transport tcp", "port", &value),
                        "text:4");
    assert_string_equal(value, "7000");
    wf_config_free(c);
}

static uint64_t hash_of(const char *ini)
{
    struct wf_config *c = parse_good(ini);
    uint64_t hash = wf_config_hash(c);
    wf_config_free(c);
    return hash;
}

static void the_hash_covers_what_must_agree_and_nothing_else(void **state)
{
    uint64_t plain = hash_of("[transport tcp]\n");
    assert_true(plain == hash_of("# note\n[core]\nlog = debug\nspin = 1us\n"
                                 "[transport tcp]\ninterface = eth0\n"));
    assert_true(plain == hash_of("[core]\neager = auto\n[transport tcp]\n"));
    assert_true(plain != hash_of("[core]\neager = 1K\n[transport tcp]\n"));
    assert_true(plain != /* both sides count a sender's credit from it */
                hash_of("[core]\nunexpected_max = 1M\n[transport tcp]\n"));
    assert_true(plain != hash_of("[transport tcp]\n[transport shm]\n"));
    assert_true(plain != hash_of("[transport tcp]\n[route a]\nuse = tcp\n"));
    assert_true(hash_of("[route a]\nto=local\nuse=tcp\n") !=
                hash_of("[route a]\nto=remote\nuse=tcp\n"));
}

static void keep_machine(void *text, const char *key, const char *value)
{
    if (strcmp(key, "machine") == 0)
        snprintf(text, 64, "%s", value);
}

static void
what_must_agree_names_what_the_machine_makes_of_numbers(void **state)
{
    struct wf_config *c = parse_good("[transport tcp]\n");
    const uint16_t probe = 1;
    char said[64] = "", right[64];

    wf_config_shared(c, true, keep_machine, said);
    snprintf(right, sizeof right, "%s-endian, long %zu",
             *(const unsigned char *)&probe ? "little" : "big", sizeof(long));
    assert_string_equal(said, right);
    wf_config_free(c);
}

/* ---- options of plugins ------------------------------------------------- */

struct cfg {
    int on, pick;
    int64_t depth;
    uint64_t bytes, ns, often;
    const char *name, *list;
};

static const weft_option table[] = {
    {"on", WEFT_OPT_BOOL, offsetof(struct cfg, on), "yes", NULL, ""},
    {"pick", WEFT_OPT_ENUM, offsetof(struct cfg, pick), "auto", "auto|yes|no",
     ""},
    {"depth", WEFT_OPT_INT, offsetof(struct cfg, depth), "64", "-1..128", ""},
    {"bytes", WEFT_OPT_SIZE, offsetof(struct cfg, bytes), "64K", "4K..1M", ""},
    {"ns", WEFT_OPT_TIME, offsetof(struct cfg, ns), "1ms", NULL, ""},
    {"often", WEFT_OPT_TIME, offsetof(struct cfg, often), "auto", NULL, ""},
    {"name", WEFT_OPT_STR, offsetof(struct cfg, name), "x", NULL, ""},
    {"list", WEFT_OPT_LIST, offsetof(struct cfg, list), "a", NULL, ""},
    {0}};
static const weft_plugin plugin = {.name = "fab",
                                   .version = "1.2",
                                   .options = table,
                                   .cfg_size = sizeof(struct cfg)};

static struct wf_config *fill_buffer(const char *ini, struct cfg *cfg,
                                     char **problems)
{
    struct wf_config *c = parse_good(ini);
    const struct wf_transport_config *t;
    size_t n;
    FILE *errors = open_memstream(problems, &n);
    assert_int_equal(wf_config_transports(c, &t), 2);
    memset(cfg, 0, sizeof *cfg);
    wf_config_plugin(c, &t[1], &plugin, cfg, errors);
    fclose(errors);
    return c;
}

static void plugin_options_have_defaults(void **state)
{
    struct cfg cfg;
    char *problems;
    struct wf_config *c = fill_buffer("[transport fab]\n", &cfg, &problems);
    assert_string_equal(problems, "");
    assert_true(cfg.on == 1 && cfg.pick == 0 && cfg.depth == 64);
    assert_true(cfg.bytes == 65536 && cfg.ns == 1000000 &&
                cfg.often == WF_AUTO);
    assert_string_equal(cfg.name, "x");
    assert_string_equal(cfg.list, "a");
    free(problems);
    wf_config_free(c);
}

static void plugin_options_take_every_type(void **state)
{
    struct cfg cfg;
    char *problems;
    struct wf_config *c = fill_buffer(
        "[transport fab]\non = off\npick = on\ndepth = -1\nbytes = 8k\n"
        "ns = 2s\noften = 0\nname = \"a b\"\nlist = eth0  eth1, eth2\n"
        "latency = 5us\n",
        &cfg, &problems);
    assert_string_equal(problems, "");
    assert_true(cfg.on == 0 && cfg.pick == 1 && cfg.depth == -1);
    assert_true(cfg.bytes == 8192 && cfg.ns == 2000000000 && cfg.often == 0);
    assert_string_equal(cfg.name, "a b");
    assert_string_equal(cfg.list, "eth0,eth1,eth2");
    free(problems);
    wf_config_free(c);
}

static void plugin_options_are_checked_by_their_own_table(void **state)
{
    struct cfg cfg;
    char *problems;
    struct wf_config *c = fill_buffer("[transport fab]\ndepht = 1\nbytes = 1\n"
                               "pick = maybe\ndepth = 129\n",
                               &cfg, &problems);
    assert_non_null(strstr(problems,
                           "text:2:1: unknown key 'depht' in [transport fab] "
                           "(plugin fab 1.2); did you mean 'depth'?"));
    assert_non_null(strstr(problems, "text:3:9: bytes: '1' is outside "
                                     "4K..1M"));
    assert_non_null(strstr(problems, "pick: 'maybe' is not one of "
                                     "auto|yes|no"));
    assert_non_null(strstr(problems, "depth: '129' is outside -1..128"));
    free(problems);
    wf_config_free(c);
}

static void cost_keys_replace_what_the_transport_says(void **state)
{
    struct wf_config *c = parse_good("[transport fab]\nlatency = 3us\n"
                                     "bandwidth = 12000\n");
    const struct wf_transport_config *t;
    weft_cost cost = {sizeof cost, 10, 20, 30};
    wf_config_transports(c, &t);
    wf_config_cost(c, &t[1], &cost);
    assert_true(cost.latency_ns == 3000 && cost.overhead_ns == 20);
    assert_true(cost.bandwidth_mbs == 12000);
    wf_config_free(c);
}

/* ---- values ------------------------------------------------------------- */

static void sizes_times_and_ranges_at_their_edges(void **state)
{
    uint64_t n, lo, hi;
    int64_t i;
    assert_true(wf_value_size("18446744073709551615", &n) && n == UINT64_MAX);
    assert_false(wf_value_size("18446744073709551616", &n));
    assert_false(wf_value_size("16777216T", &n));
    assert_false(wf_value_size("", &n) || wf_value_size("K", &n));
    assert_false(wf_value_size("1KB", &n) || wf_value_size("-1", &n));
    assert_false(wf_value_time("1", &n) || wf_value_time("1m", &n));
    assert_false(wf_value_time("18446744074s", &n));
    assert_true(wf_value_int("-9223372036854775807", &i));
    assert_false(wf_value_int("9223372036854775808", &i));
    assert_true(wf_value_size_range("256K-", &lo, &hi) && lo == 262144 &&
                hi == UINT64_MAX);
    assert_true(wf_value_size_range("-4K", &lo, &hi) && lo == 0 && hi == 4096);
    assert_true(wf_value_size_range("4K..1M", &lo, &hi) && hi == 1 << 20);
    assert_true(wf_value_size_range("7", &lo, &hi) && lo == 7 && hi == 7);
    assert_false(wf_value_size_range("-", &lo, &hi) ||
                 wf_value_size_range("2-1", &lo, &hi) ||
                 wf_value_size_range("1-2x", &lo, &hi));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_means_the_defaults),
        cmocka_unit_test(values_of_core_arrive_in_their_units),
        cmocka_unit_test(a_file_without_transports_has_self_shm_and_tcp),
        cmocka_unit_test(a_file_with_transports_has_those_and_self),
        cmocka_unit_test(a_route_may_name_an_in_tree_plugin_without_a_section),
        cmocka_unit_test(unknown_words_come_with_a_suggestion),
        cmocka_unit_test(values_out_of_range_come_with_the_range),
        cmocka_unit_test(a_repeated_key_is_named_with_both_lines),
        cmocka_unit_test(all_mistakes_are_reported_in_the_order_of_lines),
        cmocka_unit_test(an_undefined_transport_lists_the_defined_ones),
        cmocka_unit_test(missing_features_are_refused_not_ignored),
        cmocka_unit_test(contradictions_are_found),
        cmocka_unit_test(an_avalanche_of_problems_is_cut),
        cmocka_unit_test(origins_name_the_line_or_the_default),
        cmocka_unit_test(the_hash_covers_what_must_agree_and_nothing_else),
        cmocka_unit_test(
            what_must_agree_names_what_the_machine_makes_of_numbers),
        cmocka_unit_test(plugin_options_have_defaults),
        cmocka_unit_test(plugin_options_take_every_type),
        cmocka_unit_test(plugin_options_are_checked_by_their_own_table),
        cmocka_unit_test(cost_keys_replace_what_the_transport_says),
        cmocka_unit_test(sizes_times_and_ranges_at_their_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

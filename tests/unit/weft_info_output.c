/* weft-info without its main: explanations, checks, and text as C.
 *
 * The tool's files are compiled into this test so that a transport can be put
 * into any state, on any host, without a machine that has it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "weft_info_rig.h"

#include "tools/weft-info/check.c"
#include "tools/weft-info/check_static.c"
#include "tools/weft-info/decision.c"
#include "tools/weft-info/deployment.c"
#include "tools/weft-info/explain.c"
#include "tools/weft-info/embed.c"
#include "tools/weft-info/json.c"
#include "tools/weft-info/reach.c"

/* Stand-ins for probe.c: only what the configuration says is checked. */
void info_collect(struct info *info, struct wf_config *config, bool load,
                  FILE *errors)
{
    memset(info, 0, sizeof *info);
    info->config = config;
}

void info_forget(struct info *info)
{
}

static int parse_address(weft_ep *ep, const char *text, void *buf,
                         size_t *len)
{
    return WEFT_EINVAL; /* that it is there is all that is asked */
}

static int send_short(weft_peer *peer, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    return WEFT_EAGAIN; /* as above */
}

/* A world in which each transport of the configuration can do what its name
 * says, except `dead`; `bare` has no send_short. */
static void invent_address(struct info *info, struct wf_config *config)
{
    static const weft_ops ops[] = {{.size = sizeof *ops,
                                    .addr_parse = parse_address,
                                    .send_short = send_short},
                                   {.size = sizeof *ops,
                                    .addr_parse = parse_address}};
    static const weft_plugin network[] = {{.ops = &ops[0]}, {.ops = &ops[1]}};
    const struct wf_transport_config *t;
    int n = wf_config_transports(config, &t);
    info_collect(info, config, true, NULL);
    for (int i = 0; i < n; i++) {
        struct info_transport *x = &info->transport[info->count++];
        bool self = strcmp(t[i].name, "self") == 0;
        bool shm = strcmp(t[i].name, "shm") == 0;
        x->config = &t[i];
        x->plugin = self || shm ? NULL
                                : &network[strcmp(t[i].name, "bare") == 0];
        x->usable = strcmp(t[i].name, "dead") != 0;
        snprintf(x->why, sizeof x->why, "no such device");
        x->attr.caps = self  ? WEFT_CAP_SELF
                       : shm ? WEFT_CAP_LOCAL
                             : WEFT_CAP_LOCAL | WEFT_CAP_REMOTE;
        x->attr.cost.latency_ns = self ? 60 : shm ? 150 : 15000;
    }
}

static int explain_pair(const char *ini, const char *pair, const char *size,
                        bool json, char **text)
{
    static struct info info;
    struct wf_config *c = parse_good(ini);
    invent_address(&info, c);
    capture_begin(1);
    struct info_question q = {.pair = pair, .size = size};
    int rc = info_explain(&info, &q, json);
    *text = capture_end(1);
    wf_config_free(c);
    return rc;
}

static const char two_hosts[] =
    "[transport shm]\n[transport tcp]\n[transport dead]\n"
    "[route node]\nto = local\nuse = shm\n"
    "[route bulk]\nsize = 64K-\nuse = dead tcp\n"
    "[route net]\nuse = dead tcp\n";

/* The same, rank 3 being of another job, or as `job` says. */
static int explain_job(const char *ini, const char *job, bool json, char **text)
{
    static struct info info;
    struct wf_config *c = parse_good(ini);
    invent_address(&info, c);
    struct info_question q = {.pair = "0@a->3@a", .job = job};
    capture_begin(1);
    int rc = info_explain(&info, &q, json);
    *text = capture_end(1);
    wf_config_free(c);
    return rc;
}

static void a_rank_may_be_of_another_job(void **state)
{
    static const char ini[] = "[transport shm]\n[transport tcp]\nport = 1\n"
                              "[core]\nbootstrap = static\n"
                              "[host a]\naddress = 10.0.0.1\n"
                              "[rank 0-3]\nhost = a\n"
                              "[route out]\nto = job:other\nuse = tcp\n"
                              "[route in]\nuse = shm tcp\n";
    char *text;

    assert_int_equal(explain_job(ini, "other", false, &text), 0);
    assert_says(text, "pair 0 (a) -> 3 of another job (a)");
    assert_says(text, "messages, in order: route 'out'");
    assert_int_equal(explain_job(ini, "own", false, &text), 0);
    assert_says(text, "pair 0 (a) -> 3 (a)");
    assert_says(text, "messages, in order: route 'in'");
    assert_int_equal(explain_job(ini, NULL, false, &text), 0);
    assert_says(text, "messages, in order: route 'in'");
    assert_int_equal(explain_job(ini, "other", true, &text), 0);
    assert_says(text, "\"job\": \"other\"");
    assert_int_equal(explain_job(ini, "viewer", false, &text), 2);
}

static void every_rejected_transport_has_its_reason(void **state)
{
    char *text;
    assert_int_equal(explain_pair(two_hosts, "0@a->3@b", NULL, false, &text),
                     0);
    assert_says(text, "pair 0 (a) -> 3 (b), configuration text, planned for "
                      "machines elsewhere\n");
    assert_says(text, "messages, in order: route 'net' (text:10)\n"
                      "    uses       tcp ");
    assert_says(text, "rejected   shm            other node\n");
    assert_says(text, "rejected   dead           no such device\n");
    assert_says(text, "rejected   self           reaches only the own process");
    assert_int_equal(explain_pair(two_hosts, "0@a->3@a", NULL, false, &text),
                     0);
    assert_says(text, "uses       shm ");
    assert_says(text, "rejected   tcp            not listed in use= (text:6)");
}

static void a_size_shows_the_way_of_the_payload_too(void **state)
{
    char *text;
    assert_int_equal(explain_pair(two_hosts, "0@a->3@b", "1M", false, &text),
                     0);
    assert_says(text, "messages, in order: route 'net'");
    assert_says(text, "payload of 1048576 bytes: route 'bulk' (text:7)");
}

static void failover_and_stripes_are_explained(void **state)
{
    static const char format[] = "[transport tcp]\n[transport more]\n"
                                 "plugin = tcp\n[route x]\nuse = tcp more\n%s";
    static const char *const lines[][2] = {
        {"", "    failover: when one fails"},
        {"failover = no\n", "    no failover: only the first"},
        {"policy = stripe\n", "    stripes: pieces of large messages"},
        {"policy = stripe\n[core]\nsecurity = encrypt\n",
         "    stripes: pieces of large messages"}};
    char ini[300], *text;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(ini, sizeof ini, format, lines[i][0]);
        assert_int_equal(explain_pair(ini, "0@a->1@b", NULL, false, &text), 0);
        assert_says(text, lines[i][1]);
        assert_int_equal(explain_pair(ini, "0@a->1@b", NULL, true, &text), 0);
        assert_says(text, "\"together\": \"");
    }
    assert_int_equal(explain_pair("[transport bare]\n[transport tcp]\n"
                                  "[route x]\nuse = bare tcp\n",
                                  "0@a->1@b", NULL, false, &text),
                     0);
    assert_says(text, "    refused: there is no failover from the first");
    assert_int_equal(explain_pair(two_hosts, "0@a->3@b", NULL, false, &text),
                     0);
    assert_null(strstr(text, "failover"));
}

static void no_route_is_exit_code_one(void **state)
{
    char *text;
    assert_int_equal(explain_pair("[route x]\nto = remote\nuse = none\n",
                                  "0@a->1@b", NULL, false, &text),
                     1);
    assert_says(text, "nothing: these messages cannot be sent");
    assert_says(text, "rejected   tcp            route 'x' (text:1) has use = "
                      "none (text:3)");
}

static void hosts_and_addresses_of_the_file_are_used(void **state)
{
    char *text;
    assert_int_equal(
        explain_pair("[transport tcp]\nport=1\n[host a]\n"
                     "address=10.0.0.1\n[host b]\naddress=10.1.0.1\n"
                     "[rank 0]\nhost=a\n[rank 1]\nhost=b\n"
                     "[route x]\nto = net:10.1.0.0/16\nuse = tcp\n"
                     "[route y]\nuse = none\n",
                     "0->1", NULL, false, &text),
        0);
    assert_says(text, "pair 0 (a) -> 1 (b)");
    assert_says(text, "route 'x'");
}

static const char cluster[] =
    "[transport shm]\n[transport ctl]\ninterface = 10.1.0.0/16\n"
    "[transport bulk]\ninterface = 10.2.0.0/16 10.3.0.7\n"
    "[transport any]\n[transport eth]\ninterface = eth1\n"
    "[host a]\naddress = 10.1.0.1\nbulk = 10.2.0.1\n"
    "[host b]\naddress = 10.1.0.2\nbulk = 10.3.0.7\n"
    "[host c]\nbulk = 10.4.0.3\n[host d]\n[rank 0-3]\nhost = a b c d\n";

static void explain_cluster(const char *more, const char *pair,
                            const char *wanted)
{
    char ini[1500], *text;
    snprintf(ini, sizeof ini, "%s%s", cluster, more);
    explain_pair(ini, pair, NULL, false, &text);
    assert_says(text, wanted);
}

static void a_plan_says_what_it_assumes(void **state)
{
    explain_cluster("[route x]\nuse = bulk\n", "0->1",
                    "  assumed\n    bulk: a (10.2.0.1) and b (10.3.0.7) can "
                    "open it and reach each other\n");
    explain_cluster("[route x]\nuse = ctl\n", "0->1",
                    "ctl: a (10.1.0.1) and b (10.1.0.2) can");
    explain_cluster("[route x]\nuse = ctl\n", "0->3",
                    "ctl: a (10.1.0.1) and d (address in interface = "
                    "10.1.0.0/16 not given) can open it");
    explain_cluster("[route x]\nuse = any\n", "2->3",
                    "any: c (address not given) and d (address not given)");
    explain_cluster("[route x]\nuse = eth\n", "0->1",
                    "eth: a (address in interface = eth1 not given) and b");
    explain_cluster("[route x]\nto = net:10.1.0.0/16\nuse = ctl\n", "0->3",
                    "rank 3 has no address for the net: of route 'x'");
    explain_cluster("", "0->1", "what a transport costs is what its plugin");
    explain_cluster("", "0@x->1@x",
                    "processes of x are on one node, and of one user");
    explain_cluster("", "0->9", "rank 9 is on this machine, ");
}

static void a_plan_uses_what_the_file_gives(void **state)
{
    explain_cluster("[route x]\nuse = bulk\n", "0->2",
                    "rejected   bulk           c has 10.4.0.3 for it, which is "
                    "not in interface = 10.2.0.0/16 10.3.0.7\n");
    explain_cluster("[route x]\nuse = bulk\n", "2@a->1", "uses       bulk");
    explain_cluster("[core]\nbootstrap = static\n[route x]\nuse = any\n",
                    "0->3",
                    "rejected   any            [rank] and [host] give the "
                    "receiver no address for it");
    explain_cluster("[core]\nbootstrap = static\n[route x]\nuse = any\n",
                    "0->3@e",
                    "rejected   any            [rank] and [host] give rank 3 "
                    "no address for it");
}

static void a_pair_of_this_machine_is_no_plan(void **state)
{
    char here[256], pair[600], *text;
    wf_node_name(here, sizeof here);
    explain_pair(two_hosts, "0->1", NULL, false, &text);
    assert_null(strstr(text, "planned"));
    assert_says(text, "rank 1 is on this machine");
    snprintf(pair, sizeof pair, "0@%s->1@%s", here, here);
    explain_pair(two_hosts, pair, NULL, false, &text);
    assert_null(strstr(text, "planned"));
    assert_null(strstr(text, "is on this machine"));
}

static void json_says_the_same(void **state)
{
    char *text;
    assert_int_equal(explain_pair(two_hosts, "0@a\"->3@b", "1M", true, &text),
                     0);
    assert_says(text, "\"host\": \"a\\\"\"");
    assert_says(text, "\"section\": \"route 'bulk' (text:7)\"");
    assert_says(text, "\"transport\": \"shm\",\n        \"reason\": "
                      "\"other node\"");
    assert_int_equal(text[0], '{');
    assert_string_equal(text + strlen(text) - 3, "\n}\n");
}

static void wrong_arguments_are_exit_code_two(void **state)
{
    char *text;
    assert_int_equal(explain_pair(NULL, "0-1", NULL, false, &text), 2);
    assert_int_equal(explain_pair(NULL, "0->x", NULL, false, &text), 2);
    assert_int_equal(explain_pair(NULL, "0@->1", NULL, false, &text), 2);
    assert_int_equal(explain_pair(NULL, "0->1", "1Q", false, &text), 2);
    assert_int_equal(explain_pair(NULL, "", NULL, false, &text), 2);
}

static char *write_scratch(const char *text)
{
    static char path[32];
    strcpy(path, "/tmp/weft-info-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void an_embedded_file_is_a_c_string(void **state)
{
    char *file = write_scratch("[core]\njob = \"a\\b\" # \xc3\xa9?\n");
    capture_begin(1);
    int rc = info_embed(file);
    char *text = capture_end(1);
    assert_int_equal(rc, 0);
    assert_says(text, "weft_ini_text[] =\n    \"[core]\\n\"\n"
                      "    \"job = \\\"a\\\\b\\\" # \\303\\251\\077\\n\";\n");
    unlink(file);
}

static void a_wrong_file_is_exit_code_78_and_is_not_embedded(void **state)
{
    char *file = write_scratch("[core]\njbo = x\n");
    capture_begin(1);
    int checked = info_check(file, false, true), embedded = info_embed(file);
    char *text = capture_end(1);
    assert_int_equal(checked, 78);
    assert_int_equal(embedded, 78);
    assert_says(text, "\"problems\": 1");
    assert_says(text, ":2:1: unknown key 'jbo' in [core]; did you mean 'job'?");
    assert_null(strstr(text, "weft_ini_text"));
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_may_be_of_another_job),
        cmocka_unit_test(every_rejected_transport_has_its_reason),
        cmocka_unit_test(a_size_shows_the_way_of_the_payload_too),
        cmocka_unit_test(failover_and_stripes_are_explained),
        cmocka_unit_test(no_route_is_exit_code_one),
        cmocka_unit_test(hosts_and_addresses_of_the_file_are_used),
        cmocka_unit_test(a_plan_says_what_it_assumes),
        cmocka_unit_test(a_plan_uses_what_the_file_gives),
        cmocka_unit_test(a_pair_of_this_machine_is_no_plan),
        cmocka_unit_test(json_says_the_same),
        cmocka_unit_test(wrong_arguments_are_exit_code_two),
        cmocka_unit_test(an_embedded_file_is_a_c_string),
        cmocka_unit_test(a_wrong_file_is_exit_code_78_and_is_not_embedded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

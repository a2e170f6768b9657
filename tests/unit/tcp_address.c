/* Addresses of the tcp transport: text, blobs, the choice of interfaces.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

#include <sys/resource.h>
#include <unistd.h>

static const weft_ops *ops;
static struct rig_side all[RIG_SIDES];

static int open_side(void **state)
{
    ops = weft_plugin_2_tcp.ops;
    rig_open_sides(all, 1, "key");
    return 0;
}

static int close_side(void **state)
{
    rig_close(&all[0]);
    return 0;
}

static void text_becomes_an_address_and_text_again(void **state)
{
    static const char *const good[] = {"10.0.0.2:7000", "[::1]:7000",
                                       "[fd00::2]:65535", "127.0.0.1:1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint8_t blob[IP_BLOB_MAX];
        size_t n = sizeof blob;
        char text[100];
        assert_int_equal(ops->addr_parse(all[0].ep, good[i], blob, &n),
                         WEFT_OK);
        assert_int_equal(ops->addr_print(blob, n, text, sizeof text), WEFT_OK);
        assert_string_equal(text, good[i]);
    }
}

static void text_that_is_no_address_is_refused(void **state)
{
    static const char *const bad[] = {
        "",           ":",         "10.0.0.2", "10.0.0.2:", ":7000",
        "10.0.0.2:0", "::1:7000",  "[::1]",    "[::1]:x",   "[]:1",
        "a:65536",    "[::1:7000", "a:-1",     "a:70 00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t blob[IP_BLOB_MAX];
        size_t n = sizeof blob;
        assert_int_equal(ops->addr_parse(all[0].ep, bad[i], blob, &n),
                         WEFT_EINVAL);
    }
}

static void a_damaged_blob_is_refused_not_believed(void **state)
{
    uint8_t good[IP_BLOB_MAX], blob[IP_BLOB_MAX + 1] = {0};
    size_t n = sizeof good;
    struct wf_ip_book book;
    unsigned seed = 3;
    assert_int_equal(ops->address(all[0].ep, good, &n), WEFT_OK);
    assert_int_equal(wf_ip_unpack_book(good, n, &book), WEFT_OK);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(wf_ip_unpack_book(good, cut, &book), WEFT_EPROTO);
    for (int i = 0; i < 20000; i++) {
        weft_cost cost;
        memcpy(blob, good, n);
        blob[rand_r(&seed) % n] = (uint8_t)rand_r(&seed);
        if (wf_ip_unpack_book(blob, n, &book) == WEFT_OK && i % 100 == 0)
            ops->reach(all[0].ep, blob, n, &cost);
    }
}

static void a_short_buffer_learns_the_length_it_needs(void **state)
{
    uint8_t blob[4];
    size_t n = sizeof blob;
    weft_attr a = {.size = sizeof a};
    assert_int_equal(ops->address(all[0].ep, blob, &n), WEFT_ENOMEM);
    assert_true(n > sizeof blob);
    assert_int_equal(ops->attr(all[0].ep, &a), WEFT_OK);
    assert_true(n <= 1024);
}

static void a_job_on_one_host_listens_on_loopback_only(void **state)
{
    weft_attr a = {.size = sizeof a};
    assert_true(all[0].ep->ip.n > 0);
    for (int i = 0; i < all[0].ep->ip.n; i++)
        assert_true(wf_ip_is_loopback(&all[0].ep->ip.use[i].addr));
    ops->attr(all[0].ep, &a);
    assert_int_equal(a.caps & WEFT_CAP_REMOTE, 0);
}

static int reopen_endpoint(const char *interface, int64_t port)
{
    ops->close(all[0].ep);
    all[0].ep = NULL;
    all[0].cfg.interface = interface;
    all[0].cfg.port = port;
    all[0].open.flags = 0;
    return ops->open(&all[0].open, &all[0].ep);
}

static void interfaces_are_chosen_by_name_address_or_subnet(void **state)
{
    static const char *const lists[] = {"lo", "127.0.0.1", "127.0.0.0/8",
                                        "nosuch, 127.0.0.0/8"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_int_equal(reopen_endpoint(lists[i], 0), WEFT_OK);
        assert_string_equal(all[0].ep->ip.use[0].name, "lo");
    }
}

static void a_missing_interface_is_named_with_what_there_is(void **state)
{
    assert_int_equal(reopen_endpoint("nosuch0", 0), WEFT_EUNREACH);
    assert_non_null(strstr(all[0].warning, "interface = nosuch0"));
    assert_non_null(strstr(all[0].warning, "lo 127.0.0.1: not in option"));
}

static void a_port_that_is_taken_is_reported(void **state)
{
    uint16_t port;
    all[1] = all[0];
    all[0].ep = NULL;
    all[1].open.host = &all[1].host;
    port = all[1].ep->ip.use[0].addr.port;
    all[0].cfg.interface = "127.0.0.1";
    all[0].cfg.port = port;
    assert_int_equal(ops->open(&all[0].open, &all[0].ep), WEFT_ESYS);
    assert_non_null(strstr(all[0].warning, "Address already in use"));
    ops->close(all[1].ep);
}

/* An interface is not to blame for that, and none is left out. */
static void without_descriptors_there_is_no_endpoint(void **state)
{
    struct rlimit was, few;
    int lowest, n, rc = WEFT_ESYS, addresses = all[0].ep->ip.n;

    ops->close(all[0].ep);
    lowest = dup(0); /* the next that it gets */
    close(lowest);
    getrlimit(RLIMIT_NOFILE, &was);
    for (n = 0; n < 20 && rc != WEFT_OK; n++) {
        few = was;
        few.rlim_cur = (rlim_t)(lowest + n);
        all[0].ep = NULL;
        all[0].warnings = 0;
        setrlimit(RLIMIT_NOFILE, &few);
        rc = ops->open(&all[0].open, &all[0].ep);
        setrlimit(RLIMIT_NOFILE, &was);
        if (rc == WEFT_OK)
            break;
        assert_int_equal(rc, WEFT_ESYS);
        assert_non_null(strstr(all[0].warning, "open files")); /* errno's */
        assert_null(strstr(all[0].warning, "no address"));
    }
    assert_in_range(n, 3, 19);
    assert_int_equal(all[0].ep->ip.n, addresses);
}

static void subnets_compare_by_their_prefix(void **state)
{
    struct wf_ip_addr net = {.family = 4, .prefix = 20, .ip = {10, 1, 16, 1}};
    struct wf_ip_addr in = {.family = 4, .ip = {10, 1, 31, 255}};
    struct wf_ip_addr out = {.family = 4, .ip = {10, 1, 32, 0}};
    assert_true(wf_ip_is_same_subnet(&net, &in));
    assert_false(wf_ip_is_same_subnet(&net, &out));
    net.prefix = 0;
    assert_true(wf_ip_is_same_subnet(&net, &out));
    out.family = 6;
    assert_false(wf_ip_is_same_subnet(&net, &out));
}

/* 172.17.0.1 of another machine, when we have that address too. */
static void an_address_that_both_hosts_have_is_useless(void **state)
{
    struct wf_ip_book book = {.machine = all[0].ep->ip.machine + 1, .n = 2};
    struct wf_ip_candidate c[IP_ADDRS_MAX];
    all[0].ep->ip.use[0].addr =
        (struct wf_ip_addr){.family = 4, .prefix = 16, .ip = {172, 17, 0, 1}};
    all[0].ep->ip.own[0] = all[0].ep->ip.use[0].addr;
    book.addr[0] = all[0].ep->ip.use[0].addr;
    book.addr[0].port = 7000;
    book.addr[1] = (struct wf_ip_addr){
        .family = 4, .prefix = 8, .port = 7, .ip = {127, 0, 0, 1}};
    assert_int_equal(wf_ip_find_candidates(&all[0].ep->ip, &book, c), 0);
    book.addr[1].ip[0] = 172;
    book.addr[1].ip[1] = 17;
    assert_int_equal(wf_ip_find_candidates(&all[0].ep->ip, &book, c), 0);
    book.addr[1].ip[3] = 2;
    assert_int_equal(wf_ip_find_candidates(&all[0].ep->ip, &book, c), 1);
    assert_int_equal(c[0].local, 0);
}

static void unreachable_addresses_are_reported(void **state)
{
    struct wf_ip_book book = {.machine = all[0].ep->ip.machine + 1, .n = 1};
    unsigned char blob[IP_BLOB_MAX];
    size_t n = sizeof blob;
    weft_cost cost;

    book.addr[0] = (struct wf_ip_addr){
        .family = 4, .prefix = 8, .port = 7, .ip = {127, 0, 0, 1}};
    assert_int_equal(wf_ip_pack_book(&book, blob, &n), WEFT_OK);
    assert_int_equal(ops->reach(all[0].ep, blob, n, &cost), WEFT_EUNREACH);
    book.machine = all[0].ep->ip.machine;
    n = sizeof blob;
    assert_int_equal(wf_ip_pack_book(&book, blob, &n), WEFT_OK);
    assert_int_equal(ops->reach(all[0].ep, blob, n, &cost), WEFT_OK);
}

/* The interface in its subnet, whichever comes first; none where there is
 * none. */
static void an_address_goes_by_the_interface_of_its_subnet(void **state)
{
    struct wf_ip_endpoint *here = &all[0].ep->ip;
    struct wf_ip_book book = {.n = 1};
    struct wf_ip_candidate c[IP_ADDRS_MAX];
    for (uint8_t i = 0; i < 3; i++)
        here->use[i].addr = (struct wf_ip_addr){
            .family = 4, .prefix = 24, .ip = {10, 0, i, 1}};
    here->n = 3;
    for (uint8_t i = 0; i < 3; i++) {
        book.addr[0] = (struct wf_ip_addr){
            .family = 4, .port = 7, .ip = {10, 0, i, 2}};
        assert_int_equal(wf_ip_find_candidates(here, &book, c), 1);
        assert_int_equal(c[0].local, i);
        assert_int_equal(c[0].rank, IP_SUBNET);
    }
    book.addr[0] = (struct wf_ip_addr){
        .family = 4, .prefix = 8, .port = 7, .ip = {127, 0, 0, 1}};
    assert_int_equal(wf_ip_find_candidates(here, &book, c), 1);
    assert_int_equal(c[0].local, -1);
    here->n = 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_side, close_side)
        T(text_becomes_an_address_and_text_again),
        T(text_that_is_no_address_is_refused),
        T(a_damaged_blob_is_refused_not_believed),
        T(a_short_buffer_learns_the_length_it_needs),
        T(a_job_on_one_host_listens_on_loopback_only),
        T(interfaces_are_chosen_by_name_address_or_subnet),
        T(a_missing_interface_is_named_with_what_there_is),
        T(a_port_that_is_taken_is_reported),
        T(without_descriptors_there_is_no_endpoint),
        T(subnets_compare_by_their_prefix),
        T(an_address_that_both_hosts_have_is_useless),
        T(unreachable_addresses_are_reported),
        T(an_address_goes_by_the_interface_of_its_subnet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

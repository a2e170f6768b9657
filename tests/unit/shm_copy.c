/* plugins/shm: how large payloads are copied.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_fake.h"

#include "plugins/shm/shm.h"

static unsigned char from[8192], to[8192];

typedef void copier(void *to, const void *from, size_t n);

static void check_result(copier *copy, size_t source, size_t target, size_t n)
{
    memset(to, 0xee, sizeof to);
    copy(to + target, from + source, n);
    for (size_t i = 0; i < sizeof to; i++) {
        bool inside = i >= target && i < target + n;
        unsigned char want =
            inside ? fake_byte(1, source + i - target) : 0xee;
        if (to[i] != want)
            fail_msg("%zu bytes from %zu to %zu: byte %zu is %02x", n, source,
                     target, i, to[i]);
    }
}

static void copy_and_check(size_t source, size_t target, size_t n)
{
    check_result(wf_shm_copy, source, target, n);
    check_result(wf_shm_copy_plain, source, target, n);
    check_result(wf_shm_copy_nontemporal, source, target, n);
}

static void a_copy_moves_its_bytes_and_no_others(void **state)
{
    (void)state;
    fake_fill(from, 1, sizeof from);
    for (size_t n = 1000; n < 1200; n++)
        copy_and_check(n % 67, n % 71, n);
    for (size_t n = 0; n < 5000; n = n * 2 + 1)
        for (size_t shift = 0; shift < 64; shift += 9)
            copy_and_check(shift, 63 - shift, n);
}

static void the_ring_shrinks_when_many_share_the_machine(void **state)
{
    (void)state;
    uint64_t alone = wf_shm_ring_bytes(2, false);
    assert_true(alone >= 256u << 10 && alone <= 4u << 20);
    assert_true(wf_shm_ring_bytes(256, false) <= 256u << 10);
    assert_true(wf_shm_ring_bytes(4096, false) == 128u << 10);
    assert_true(wf_shm_ring_bytes(0, false) == alone);
}

static void the_ring_shrinks_where_ranks_share_cpus(void **state)
{
    (void)state;
    assert_true(wf_shm_ring_bytes(16, true) == 256u << 10);
    assert_true(wf_shm_ring_bytes(4096, true) == 128u << 10);
}

static void a_configured_ring_is_not_changed(void **state)
{
    (void)state;
    struct shm_config c = {64, 16384, 32768, 8, 0, 0, 32768};
    struct shm_geometry g = wf_shm_geometry(&c, 2, false);
    assert_int_equal(g.chunk, 32768);
    assert_int_equal(g.chunks, 8);
    c.chunks = 0;
    g = wf_shm_geometry(&c, 2, false);
    assert_true(wf_shm_geometry_ok(&g));
    assert_true(shm_bulk_bytes(&g) >= 128u << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_moves_its_bytes_and_no_others),
        cmocka_unit_test(the_ring_shrinks_when_many_share_the_machine),
        cmocka_unit_test(the_ring_shrinks_where_ranks_share_cpus),
        cmocka_unit_test(a_configured_ring_is_not_changed)};
    return cmocka_run_group_tests_name("shm copy", tests, NULL, NULL);
}

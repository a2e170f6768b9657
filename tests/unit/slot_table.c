/* Slot tables: ids find their object, and only while it is there.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "protocol/slots.h"

enum { MANY = 1000 };

static void an_id_finds_its_object_until_it_is_removed(void **state)
{
    struct wf_slots t = {0};
    int objects[MANY];
    uint64_t ids[MANY];

    for (int i = 0; i < MANY; i++)
        assert_int_equal(wf_slots_put(&t, &objects[i], &ids[i]), 0);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(wf_slots_get(&t, ids[i]), &objects[i]);
    for (int i = 0; i < MANY; i += 2)
        wf_slots_remove(&t, ids[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(wf_slots_get(&t, ids[i]), i % 2 ? &objects[i] : NULL);
    wf_slots_fini(&t);
}

static void an_id_of_an_earlier_life_of_the_slot_is_stale(void **state)
{
    struct wf_slots t = {0};
    int a, b;
    uint64_t first, second;

    assert_int_equal(wf_slots_put(&t, &a, &first), 0);
    wf_slots_remove(&t, first);
    assert_int_equal(wf_slots_put(&t, &b, &second), 0);
    assert_int_equal((uint32_t)first, (uint32_t)second);
    assert_null(wf_slots_get(&t, first));
    assert_ptr_equal(wf_slots_get(&t, second), &b);
    wf_slots_fini(&t);
}

static void ids_from_the_wire_cannot_leave_the_table(void **state)
{
    struct wf_slots t = {0};
    uint64_t id;
    int a;

    assert_null(wf_slots_get(&t, 0));
    assert_int_equal(wf_slots_put(&t, &a, &id), 0);
    assert_null(wf_slots_get(&t, UINT64_MAX));
    assert_null(wf_slots_get(&t, id + 1));
    assert_null(wf_slots_get(&t, id ^ (uint64_t)1 << 63));
    wf_slots_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_finds_its_object_until_it_is_removed),
        cmocka_unit_test(an_id_of_an_earlier_life_of_the_slot_is_stale),
        cmocka_unit_test(ids_from_the_wire_cannot_leave_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

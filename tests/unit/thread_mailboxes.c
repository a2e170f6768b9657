/* Which mailbox an address names (core/thread/registry.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "thread/mailbox.h"
#include "thread/registry.h"

enum { MANY = 40 /* the list grows twice */ };

static struct mailbox *all[MANY];

static struct mailbox *open_one(uint32_t loc_id)
{
    int error = 0;
    struct mailbox *m = wf_mail_open(loc_id, 1, &error);

    assert_non_null(m);
    return m;
}

static struct mail_address address_of(const struct mailbox *m)
{
    struct mail_address a;

    wf_mail_address(m, &a);
    return a;
}

static bool is_found(const struct mail_address *a, const struct mailbox *m)
{
    struct mailbox *found = wf_mail_find(a);

    if (found)
        wf_mail_release(found);
    return found == m;
}

/* Bytes from outside: neither the index nor the rest of it is believed. */
static void an_address_names_one_mailbox_or_none(void **state)
{
    for (uint32_t i = 0; i < MANY; i++) {
        struct mail_address a;
        all[i] = open_one(i);
        a = address_of(all[i]);
        assert_true(is_found(&a, all[i]));
        a.index++; /* there is no such one */
        assert_true(is_found(&a, NULL));
        assert_int_equal(wf_mail_loc_id(a.index), -1);
        a = address_of(all[i]);
        a.generation++;
        assert_true(is_found(&a, NULL));
        a = address_of(all[i]);
        a.process[i % 2]++;
        assert_true(is_found(&a, NULL));
    }
    for (uint32_t i = 0; i < MANY; i++) {
        struct mail_address a = address_of(all[i]);
        assert_true(is_found(&a, all[i]));
        assert_int_equal(wf_mail_loc_id(a.index), i);
    }
}

static void a_closed_mailbox_is_not_found_again(void **state)
{
    struct mail_address old = address_of(all[7]);

    wf_mail_close(all[7]);
    assert_true(is_found(&old, NULL));
    all[7] = open_one(7); /* in its place */
    assert_int_equal(address_of(all[7]).index, old.index);
    assert_true(is_found(&old, NULL));
    for (int i = 0; i < MANY; i++)
        wf_mail_close(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_names_one_mailbox_or_none),
        cmocka_unit_test(a_closed_mailbox_is_not_found_again),
    };

#ifdef __GLIBC__
    mallopt(M_PERTURB, 0x5a); /* what is behind a list is no address */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}

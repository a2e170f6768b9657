/* Names and numbers of processes (process/job.h), and the tables of locations
 * that go with them, when several jobs are known.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* */
#include <cmocka.h>

#include <stdlib.h>

#include "boot/auth_key.h"
#include "object/env.h"
#include "process/rank.h"
#include "route/card.h"
#include "route/jobs.h"
#include "route/links.h"
#include "route/location.h"

/* Three jobs: 0..2, 3..4, and after a gap, which a job has left, 8..9. */
static struct wf_job third = {.first = 8, .size = 2, .tag = 5};
static struct wf_job second = {.next = &third, .first = 3, .size = 2, .tag = 9};
static struct wf_job own = {.next = &second, .size = 3, .tag = 7};

static void a_number_belongs_to_one_job_or_none(void **state)
{
    static const struct wf_job *const of[] = {&own,   &own, &own,   &second,
                                              &second, NULL, NULL,   NULL,
                                              &third, &third, NULL};

    for (uint32_t i = 0; i < sizeof of / sizeof of[0]; i++)
        assert_ptr_equal(wf_job_of(&own, i), of[i]);
    assert_null(wf_job_of(&own, UINT32_MAX));
}

static void a_name_finds_its_number_again(void **state)
{
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 8, 9};
    uint32_t found;

    for (int i = 0; i < 7; i++) {
        assert_true(wf_job_find(&own, wf_job_name(&own, numbers[i]), &found));
        assert_int_equal(found, numbers[i]);
    }
    assert_int_equal(wf_job_name(&own, 9), (uint64_t)5 << 32 | 1);
}

static void unknown_names_are_nobody(void **state)
{
    static const uint64_t names[] = {(uint64_t)7 << 32 | 3, /* no such index */
                                     (uint64_t)5 << 32 | 8, /* a number */
                                     (uint64_t)6 << 32, 0, UINT64_MAX};
    uint32_t found = 77;

    for (int i = 0; i < 5; i++)
        assert_false(wf_job_find(&own, names[i], &found));
    assert_int_equal(found, 77);
}

/* The order is that of names, which is another one than that of numbers. */
static void all_processes_see_one_order(void **state)
{
    assert_true(wf_job_precedes(&own, 0, 2));
    assert_false(wf_job_precedes(&own, 2, 0));
    assert_true(wf_job_precedes(&own, 8, 0)); /* 5 before 7 */
    assert_false(wf_job_precedes(&own, 3, 0)); /* 9 after 7 */
    assert_true(wf_job_precedes(&own, 9, 3));
}

static void locations_are_found_in_the_table_of_their_job(void **state)
{
    struct weft_loc *of_own[3] = {NULL, (void *)&own, NULL};
    struct weft_loc *of_second[2] = {NULL, NULL};
    struct weft_loc *of_third[2] = {(void *)&second, (void *)&third};
    struct wf_locations c = {.first = 8, .size = 2, .of = of_third};
    struct wf_locations b = {&c, 3, 2, of_second, NULL};
    struct wf_links links = {.own = {&b, 0, 3, of_own, NULL}};
    uint32_t at = 0;

    assert_ptr_equal(wf_links_find(&links, 1), &own);
    assert_ptr_equal(wf_links_find(&links, 9), &third);
    assert_null(wf_links_find(&links, 4));
    assert_ptr_equal(wf_links_place(&links, 4), &of_second[1]);
    assert_null(wf_links_place(&links, 5));
    assert_null(wf_links_place(&links, 10));
    assert_null(wf_links_find(&links, UINT32_MAX));
    assert_ptr_equal(wf_links_next(&links, &at), &own);
    assert_ptr_equal(wf_links_next(&links, &at), &second);
    assert_int_equal(at, 9);
    assert_ptr_equal(wf_links_next(&links, &at), &third);
    assert_null(wf_links_next(&links, &at));
}

static struct wf_env env;
static struct wf_rank rank;
static struct wf_instance wf = {.rank = &rank};

static void begin_alone(void)
{
    rank = (struct wf_rank){
        .home = &wf, .env = &env, .job = {.size = 3, .tag = 7}};
    assert_int_equal(wf_links_init(&wf), 0);
}

static void jobs_that_are_met_get_ranges_of_numbers(void **state)
{
    struct wf_job *a, *b, *again;

    begin_alone();
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, NULL, &a), 0);
    assert_int_equal(wf_jobs_meet(&wf, 5, 4, NULL, &b), 0);
    assert_int_equal(a->first, 3);
    assert_int_equal(b->first, 5);
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, NULL, &again), 0);
    assert_ptr_equal(again, a);
    assert_non_null(wf_links_place(wf.links, 8));
    assert_null(wf_links_place(wf.links, 9));
    wf_links_fini(&wf);
    assert_null(rank.job.next);
}

static void jobs_that_cannot_be_met_change_nothing(void **state)
{
    struct wf_job *a, *none = NULL;

    begin_alone();
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, NULL, &a), 0);
    assert_int_equal(wf_jobs_meet(&wf, 9, 3, NULL, &none), WEFT_EINVAL);
    assert_int_equal(wf_jobs_meet(&wf, 7, 3, NULL, &none), WEFT_EINVAL);
    assert_int_equal(wf_jobs_meet(&wf, 4, 0, NULL, &none), WEFT_EINVAL);
    assert_int_equal(wf_jobs_meet(&wf, 4, UINT32_MAX, NULL, &none),
                     WEFT_ENOMEM);
    assert_null(none);
    assert_ptr_equal(rank.job.next, a);
    assert_null(a->next);
    wf_links_fini(&wf);
}

static struct wf_auth_key *make_key(const char *secret)
{
    struct wf_auth_key *key;

    assert_int_equal(wf_auth_key_create(secret, 3, "pair", &key), 0);
    return key;
}

/* A job that no group names is forgotten, and its range is free again. */
static void a_job_that_was_left_costs_nothing(void **state)
{
    struct wf_job *a, *b, *c;

    begin_alone();
    for (int i = 0; i < 1000; i++) {
        struct wf_auth_key *key = make_key("one");
        assert_int_equal(wf_jobs_meet(&wf, 9, 2, key, &a), 0);
        assert_int_equal(a->first, 3);
        assert_int_equal(wf_jobs_note_card(&wf, 4, key, "card", 5), 0);
        assert_ptr_equal(wf_job_key(&rank.job, 4), key);
        assert_null(wf_job_key(&rank.job, 3)); /* it was not met */
        a->groups = 1;
        wf_jobs_part(&wf, 4);
        wf_jobs_prune(&wf);
        assert_ptr_equal(rank.job.next, a);
        assert_null(a->key); /* nobody is called by it any more */
        a->groups = 0;
        wf_jobs_prune(&wf);
        assert_null(rank.job.next);
    }
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, NULL, &a), 0);
    assert_int_equal(wf_jobs_meet(&wf, 5, 4, NULL, &b), 0);
    b->groups = 1;
    wf_jobs_prune(&wf);
    assert_ptr_equal(rank.job.next, b);
    assert_int_equal(wf_jobs_meet(&wf, 8, 2, NULL, &c), 0);
    assert_int_equal(c->first, 3);
    wf_links_fini(&wf);
}

/* The processes of a pair go on with the key by which they are connected. */
static void a_second_meeting_keeps_the_first_key(void **state)
{
    struct wf_auth_key *one = make_key("one"), *two = make_key("two");
    struct wf_job *a;

    begin_alone();
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, one, &a), 0);
    assert_int_equal(wf_jobs_note_card(&wf, 3, one, "card", 5), 0);
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, two, &a), 0);
    assert_int_equal(wf_jobs_note_card(&wf, 3, two, "card", 5), 0);
    assert_int_equal(wf_jobs_note_card(&wf, 4, two, "card", 5), 0);
    assert_ptr_equal(wf_job_key(&rank.job, 3), one);
    assert_ptr_equal(wf_job_key(&rank.job, 4), two);
    wf_links_fini(&wf);
}

static void the_last_card_that_came_is_the_one(void **state)
{
    struct weft_loc loc = {.wf = &wf, .id = 4, .index = 1};
    struct wf_job *a;

    begin_alone();
    assert_int_equal(wf_jobs_meet(&wf, 9, 2, NULL, &a), 0);
    assert_int_equal(a->cards->fetch(&loc), WEFT_EUNREACH);
    assert_int_equal(wf_jobs_note_card(&wf, 4, NULL, "old", 4), 0);
    assert_int_equal(wf_jobs_note_card(&wf, 4, NULL, "newer", 6), 0);
    assert_int_equal(a->cards->fetch(&loc), 0);
    assert_int_equal(loc.card_len, 6);
    assert_string_equal(loc.card, "newer");
    free((void *)(uintptr_t)loc.card);
    wf_links_fini(&wf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_belongs_to_one_job_or_none),
        cmocka_unit_test(a_name_finds_its_number_again),
        cmocka_unit_test(unknown_names_are_nobody),
        cmocka_unit_test(all_processes_see_one_order),
        cmocka_unit_test(locations_are_found_in_the_table_of_their_job),
        cmocka_unit_test(jobs_that_are_met_get_ranges_of_numbers),
        cmocka_unit_test(jobs_that_cannot_be_met_change_nothing),
        cmocka_unit_test(a_job_that_was_left_costs_nothing),
        cmocka_unit_test(a_second_meeting_keeps_the_first_key),
        cmocka_unit_test(the_last_card_that_came_is_the_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

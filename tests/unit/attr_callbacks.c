/* Attributes: when callbacks run, in which order, and what their failure does;
 * how long a key lives.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core_api.h"
#include "object/attr.h"
#include "instance/env.h"
#include "object/keyval.h"
#include "process/rank.h"

static struct wf_instance wf;
static struct wf_rank wf_rank = {.home = &wf, .job.size = 1};
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_attr *list;
static int object; /* stands for a communicator */
static char log_text[64];
static int answer;

static int note_delete(void *handle, int key, void *value, void *extra)
{
    void *seen = NULL;
    int flag;
    assert_ptr_equal(handle, &object);
    wf_attr_get(&wf, WF_KIND_COMM, list, key, &seen, &flag);
    assert_true(flag); /* still there while its callback runs */
    strncat(log_text, value, 2);
    return answer;
}

static int copy_longer(void *handle, int key, void *extra, void *in, void *out,
                       int *flag)
{
    *(void **)out = (char *)in + 1;
    *flag = extra != NULL;
    return answer;
}

static int new_key(wf_attr_copy_fn *copy, void *extra)
{
    int key;
    assert_int_equal(wf_keyval_create(&wf, WF_KIND_COMM, copy, note_delete,
                                      extra, &key), MPI_SUCCESS);
    return key;
}

static void set_value(int key, char *value)
{
    assert_int_equal(wf_attr_set(&wf, WF_KIND_COMM, &object, &list, key, value),
                     MPI_SUCCESS);
}

static int drop_all(void)
{
    return wf_attr_delete_all(&wf, WF_KIND_COMM, &object, &list);
}

static void the_newest_goes_first(void **state)
{
    int a = new_key(NULL, NULL), b = new_key(NULL, NULL);
    set_value(a, "a1");
    set_value(b, "b1");
    set_value(a, "a2"); /* deletes a1, and is now the newest */
    assert_int_equal(drop_all(), MPI_SUCCESS);
    assert_string_equal(log_text, "a1a2b1");
    wf_keyval_free(&wf, WF_KIND_COMM, &a);
    wf_keyval_free(&wf, WF_KIND_COMM, &b);
}

static void a_failing_delete_keeps_the_attribute(void **state)
{
    int a = new_key(NULL, NULL), flag;
    void *value;
    set_value(a, "a1");
    answer = MPI_ERR_INTERN;
    assert_int_equal(drop_all(), MPI_ERR_INTERN);
    assert_int_equal(wf_attr_set(&wf, WF_KIND_COMM, &object, &list, a, "a2"),
                     MPI_ERR_INTERN);
    wf_attr_get(&wf, WF_KIND_COMM, list, a, &value, &flag);
    assert_true(flag);
    assert_string_equal(value, "a1");
    answer = MPI_SUCCESS;
    assert_int_equal(drop_all(), MPI_SUCCESS);
    wf_keyval_free(&wf, WF_KIND_COMM, &a);
}

static void copy_functions_decide(void **state)
{
    int none = new_key(NULL, NULL), flag;
    int dup = new_key((wf_attr_copy_fn *)MPI_COMM_DUP_FN, NULL);
    int yes = new_key(copy_longer, &object), no = new_key(copy_longer, NULL);
    struct wf_attr *copy, *mine;
    void *value;
    set_value(none, "n1"), set_value(dup, "d1"), set_value(yes, "y1"),
        set_value(no, "o1");
    assert_int_equal(wf_attr_copy_all(&wf, WF_KIND_COMM, &object, list, &copy),
                     MPI_SUCCESS);
    wf_attr_get(&wf, WF_KIND_COMM, copy, none, &value, &flag);
    assert_false(flag);
    wf_attr_get(&wf, WF_KIND_COMM, copy, no, &value, &flag);
    assert_false(flag);
    wf_attr_get(&wf, WF_KIND_COMM, copy, dup, &value, &flag);
    assert_string_equal(value, "d1");
    wf_attr_get(&wf, WF_KIND_COMM, copy, yes, &value, &flag);
    assert_string_equal(value, "1");
    mine = list, list = copy;
    assert_int_equal(drop_all(), MPI_SUCCESS);
    list = mine;
    answer = MPI_ERR_INTERN;
    assert_int_equal(wf_attr_copy_all(&wf, WF_KIND_COMM, &object, list, &copy),
                     MPI_ERR_INTERN);
    assert_null(copy);
    answer = MPI_SUCCESS;
    assert_int_equal(drop_all(), MPI_SUCCESS);
    wf_keyval_free(&wf, WF_KIND_COMM, &none);
    wf_keyval_free(&wf, WF_KIND_COMM, &dup);
    wf_keyval_free(&wf, WF_KIND_COMM, &yes);
    wf_keyval_free(&wf, WF_KIND_COMM, &no);
}

static void a_freed_key_lives_while_it_is_used(void **state)
{
    int a = new_key(NULL, NULL), old = a, again = a, flag;
    void *value;
    set_value(a, "a1");
    assert_int_equal(wf_keyval_free(&wf, WF_KIND_COMM, &a), MPI_SUCCESS);
    assert_int_equal(a, MPI_KEYVAL_INVALID);
    assert_int_equal(wf_keyval_free(&wf, WF_KIND_COMM, &again), MPI_SUCCESS);
    wf_attr_get(&wf, WF_KIND_COMM, list, old, &value, &flag);
    assert_true(flag);
    set_value(old, "a2"); /* the only use goes and comes back */
    assert_int_equal(drop_all(), MPI_SUCCESS);
    assert_int_equal(wf_attr_get(&wf, WF_KIND_COMM, list, old, &value, &flag),
                     MPI_ERR_KEYVAL);
    a = new_key(NULL, NULL);
    assert_int_not_equal(a, old); /* the slot is used again, the value not */
    wf_keyval_free(&wf, WF_KIND_COMM, &a);
}

static void keys_of_another_kind_and_predefined_ones_are_refused(void **state)
{
    int a = new_key(NULL, NULL);
    int tag_ub = MPI_TAG_UB, none = MPI_KEYVAL_INVALID;
    assert_int_equal(wf_attr_set(&wf, WF_KIND_TYPE, &object, &list, a, NULL),
                     MPI_ERR_KEYVAL);
    assert_int_equal(wf_attr_set(&wf, WF_KIND_COMM, &object, &list, tag_ub,
                                 NULL), MPI_ERR_KEYVAL);
    assert_int_equal(wf_keyval_free(&wf, WF_KIND_COMM, &tag_ub),
                     MPI_ERR_KEYVAL);
    assert_int_equal(wf_keyval_free(&wf, WF_KIND_COMM, &none), MPI_ERR_KEYVAL);
    wf_keyval_free(&wf, WF_KIND_COMM, &a);
}

static int start_case(void **state)
{
    log_text[0] = 0;
    answer = MPI_SUCCESS;
    list = NULL;
    return wf_env_init(&wf);
}

static int stop_case(void **state)
{
    wf_env_fini(&wf);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start_case, stop_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_newest_goes_first),
        TEST(a_failing_delete_keeps_the_attribute),
        TEST(copy_functions_decide),
        TEST(a_freed_key_lives_while_it_is_used),
        TEST(keys_of_another_kind_and_predefined_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Owners of errors: a kind of objects that the library does not know brings its
 * own handlers (object/owner.h, group/raise.h), as windows and files will.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "group/owner.h"
#include "group/raise.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "process/instance.h"

/* An object of the kind under test, with the handle &fake. */
struct fake {
    struct wf_object object;
    struct wf_errhandler *errhandler;
};
enum { KIND_FAKE = 0x46414b45 };

static struct fake fake;
static struct wf_errhandler *made;
static void *seen_handle;
static int seen_code, calls, descriptions;

static struct wf_errhandler *find_handler(struct wf_object *object)
{
    return wf_container(object, struct fake, object)->errhandler;
}

static void *find_handle(struct wf_object *object)
{
    return object;
}

static void note_call(void *handle, int *errorcode)
{
    calls++;
    seen_handle = handle;
    seen_code = *errorcode;
}

static void call_handler(void (*fn)(void), void *handle, int *errorcode)
{
    ((void (*)(void *, int *))fn)(handle, errorcode);
}

static void describe_fake(struct wf_object *object, char *out, size_t n)
{
    descriptions++;
    snprintf(out, n, " on a fake");
}

static struct wf_owner_kind fake_kind = {
    .kind = (enum wf_kind)KIND_FAKE,
    .name = "Fake",
    .errhandler = find_handler,
    .handle = find_handle,
    .call = call_handler,
    .describe = describe_fake,
};

static int open_library(void **state)
{
    MPI_Errhandler handle;

    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    wf_errhandler_create(&fake_kind, (void (*)(void))note_call, &handle);
    made = wf_errhandler_of(handle);
    wf_object_init(&fake.object, (enum wf_kind)KIND_FAKE);
    fake.errhandler = made;
    return 0;
}

static int close_library(void **state)
{
    wf_errhandler_put(made);
    MPI_Finalize();
    return 0;
}

static int forget_calls(void **state)
{
    wf_owner_register(wf_current(), &fake_kind);
    fake_kind.gives_way = false;
    fake.errhandler = made;
    calls = descriptions = seen_code = 0;
    seen_handle = NULL;
    return 0;
}

static int fail_on(void *owner)
{
    return wf_error_on(owner, MPI_ERR_ARG, "a test");
}

/* Before it is registered, an object owns no error: MPI_COMM_SELF does. Runs
 * first. */
static void an_unknown_kind_owns_nothing(void **state)
{
    int rc = wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(NULL));

    assert_int_equal(rc, MPI_ERR_ARG);
    assert_int_equal(calls, 0);
    assert_null(wf_owner_kind_of(wf_current(), &fake.object));
}

static void the_object_of_the_call_owns_its_errors(void **state)
{
    int rc = wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(NULL));

    assert_int_equal(rc, MPI_ERR_ARG);
    assert_int_equal(calls, 1);
    assert_int_equal(seen_code, MPI_ERR_ARG);
    assert_ptr_equal(seen_handle, &fake);
    assert_int_equal(descriptions, 1);
    assert_ptr_equal(wf_owner_kind_of(wf_current(), &fake.object)->errhandler(
                         &fake.object),
                     made);
}

static void the_recorded_owner_serves_a_call_without_one(void **state)
{
    wf_raise(wf_current(), NULL, "MPI_Wait", fail_on(&fake));
    assert_int_equal(calls, 1);
    assert_ptr_equal(seen_handle, &fake);
    /* also where the engine has recorded it */
    wf_raise(wf_current(), NULL, "MPI_Wait",
             wf_error_class(wf_fail_on(&fake, WEFT_EPEER, "it is gone")));
    assert_int_equal(calls, 2);
    assert_int_equal(seen_code, MPI_ERR_PROC_ABORTED);
    /* once: the next error of that class may be of something else */
    wf_raise(wf_current(), NULL, "MPI_Wait", MPI_ERR_PROC_ABORTED);
    assert_int_equal(calls, 2);
    /* not once the owner has ended */
    fail_on(&fake);
    wf_error_disown(&fake);
    wf_raise(wf_current(), NULL, "MPI_Wait", MPI_ERR_ARG);
    assert_int_equal(calls, 2);
    /* and not for an error of another class */
    fail_on(&fake);
    wf_raise(wf_current(), NULL, "MPI_Wait", MPI_ERR_RANK);
    assert_int_equal(calls, 2);
}

static void a_kind_that_gives_way_lets_the_recorded_owner_go_first(void **state)
{
    struct fake inside = {.errhandler = made};

    wf_object_init(&inside.object, (enum wf_kind)KIND_FAKE);
    wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(&inside));
    assert_ptr_equal(seen_handle, &fake);
    fake_kind.gives_way = true;
    wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(&inside));
    assert_ptr_equal(seen_handle, &inside);
    wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(NULL));
    assert_ptr_equal(seen_handle, &fake);
}

static void a_predefined_handler_serves_any_kind(void **state)
{
    fake.errhandler = wf_errhandler_of(MPI_ERRORS_RETURN);
    assert_int_equal(wf_raise(wf_current(), &fake, "MPI_Fake", fail_on(NULL)),
                     MPI_ERR_ARG);
    assert_int_equal(calls, 0);
    assert_int_equal(descriptions, 1);
}

/* A call that was to make an object, and is given the handler for it. */
static void a_handler_is_called_without_an_object(void **state)
{
    wf_raise(wf_current(), made, "MPI_Fake_create", fail_on(NULL));
    assert_int_equal(calls, 1);
    assert_null(seen_handle);
    assert_int_equal(descriptions, 0);
}

static void a_handler_fits_one_kind(void **state)
{
    struct wf_errhandler *slot = wf_errhandler_of(MPI_ERRORS_RETURN);

    assert_int_equal(wf_errhandler_replace(&slot, made, &wf_comm_owner_kind),
                     MPI_ERR_ERRHANDLER);
    assert_non_null(
        strstr(wf_error_last()->text, "MPI_Comm_create_errhandler"));
    assert_int_equal(wf_errhandler_replace(&slot, made, &fake_kind),
                     MPI_SUCCESS);
    assert_ptr_equal(slot, made);
    wf_errhandler_put(slot);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, forget_calls)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_kind_owns_nothing),
        CASE(the_object_of_the_call_owns_its_errors),
        CASE(the_recorded_owner_serves_a_call_without_one),
        CASE(a_kind_that_gives_way_lets_the_recorded_owner_go_first),
        CASE(a_predefined_handler_serves_any_kind),
        CASE(a_handler_is_called_without_an_object),
        CASE(a_handler_fits_one_kind),
    };

    return cmocka_run_group_tests(tests, open_library, close_library);
}

/* The process sets of a session: its own, and those of the launcher.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "boot/boot.h"
#include "core_api.h"
#include "group/group.h"
#include "object/env.h"
#include "object/error.h"
#include "object/session.h"
#include "process/instance.h"
#include "process/rank.h"

enum { RANKS = 4, OWN = 2 }; /* without mapping of nodes */

static struct wf_boot boot;
static struct wf_rank this_rank = {.id = 1, .boot = &boot};
static struct wf_instance wf = {.rank = &this_rank};
static struct wf_session session = {.wf = &wf};
static const uint32_t left[] = {3, 1}, all[] = {0, 1, 2, 3};
static const struct wf_boot_pset launched[] = {{"app/left", 2, left},
                                               {"mpi://world", 1, left},
                                               {"App/All", 4, all}};
static int asked, result;

static int list_launched(struct wf_boot *b, const struct wf_boot_pset **sets,
                         uint32_t *count)
{
    asked++;
    *sets = launched;
    *count = 3;
    return result;
}

static const struct wf_boot_ops with_sets = {.psets = list_launched},
                                without_sets = {.psets = NULL};

static int begin_case(void **state)
{
    this_rank.job.size = RANKS;
    this_rank.home = &wf;
    boot.ops = &with_sets;
    asked = result = 0;
    session.object.refs = 1000;
    return 0;
}

static int count_sets(void)
{
    int n = -1;

    assert_int_equal(
        wf_mpi_session_get_num_psets(&wf, &session, NULL, &n), MPI_SUCCESS);
    return n;
}

static void assert_name(int i, const char *wanted)
{
    char name[64];
    int n = sizeof name;

    assert_int_equal(wf_mpi_session_get_nth_pset(&wf, &session, NULL, i, &n,
                                                 name), MPI_SUCCESS);
    assert_string_equal(name, wanted);
    assert_int_equal(n, strlen(wanted) + 1);
}

static struct wf_group *open_group(const char *name)
{
    MPI_Group g = MPI_GROUP_NULL;

    assert_int_equal(wf_mpi_group_from_session_pset(&wf, &session, name, &g),
                     MPI_SUCCESS);
    return (struct wf_group *)g;
}

static void the_launchers_sets_come_after_our_own(void **state)
{
    assert_int_equal(count_sets(), OWN + 3);
    assert_name(0, "mpi://WORLD");
    assert_name(1, "mpi://SELF");
    assert_name(OWN, "app/left");
    assert_name(OWN + 2, "App/All");
    assert_true(asked > 0);
    boot.ops = &without_sets;
    assert_int_equal(count_sets(), OWN);
}

static void a_group_of_one_has_its_processes_in_their_order(void **state)
{
    struct wf_group *g;
    struct wf_env env = {0};

    this_rank.env = &env; /* of the handles of groups */
    g = open_group("APP/LEFT");
    assert_int_equal(g->size, 2);
    assert_int_equal(wf_group_proc(g, 0), 3);
    assert_int_equal(wf_group_proc(g, 1), 1);
    wf_group_put(g);
    g = open_group("app/all");
    assert_int_equal(g->size, 4);
    wf_group_put(g);
    g = open_group("mpi://WORLD"); /* ours goes before the launcher's */
    assert_int_equal(g->size, RANKS);
    wf_group_put(g);
    this_rank.env = NULL;
}

static void a_set_that_is_not_there_is_an_error(void **state)
{
    MPI_Group g;
    int n = 0;

    assert_int_equal(wf_mpi_group_from_session_pset(&wf, &session, "app/right",
                                                    &g), MPI_ERR_ARG);
    assert_int_equal(wf_mpi_session_get_nth_pset(&wf, &session, NULL, OWN + 3,
                                                 &n, NULL), MPI_ERR_ARG);
    assert_non_null(strstr(wf_error_last()->text, "there are 5"));
    result = WEFT_ENOMEM;
    assert_int_equal(
        wf_mpi_session_get_num_psets(&wf, &session, NULL, &n), MPI_ERR_NO_MEM);
}

#define CASE(name) cmocka_unit_test_setup(name, begin_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_launchers_sets_come_after_our_own),
        CASE(a_group_of_one_has_its_processes_in_their_order),
        CASE(a_set_that_is_not_there_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

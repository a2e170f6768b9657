/* Which engine a communicator is on (core/progress/engines.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comm/context.h"
#include "progress/engines.h"

/* With one engine there is nothing to choose. */
static void alone_everything_is_on_the_first(void **state)
{
    for (uint32_t id = 2; id < 1000; id++)
        assert_int_equal(wf_engine_for(id, 1), 0);
}

/* n threads that duplicate MPI_COMM_WORLD each get an engine of their own. */
static void neighbours_are_on_different_engines(void **state)
{
    for (unsigned n = 2; n <= WF_ENGINES_MAX; n++)
        for (uint32_t id = WF_CONTEXT_SELF + 1; id < 300; id++) {
            unsigned seen = 0;
            for (unsigned k = 0; k < n; k++)
                seen |= 1u << wf_engine_for(id + k, n);
            assert_int_equal(seen, (1u << n) - 1);
        }
}

/* The first one that is derived is not beside MPI_COMM_WORLD. */
static void the_engine_of_world_is_shared_last(void **state)
{
    for (unsigned n = 2; n <= WF_ENGINES_MAX; n++)
        for (unsigned k = 0; k < n; k++)
            assert_int_equal(wf_engine_for(WF_CONTEXT_SELF + 1 + k, n),
                             (k + 1) % n);
}

/* All members use as many engines as the member with the fewest; a member that
 * failed and announces none leaves one. */
static void members_agree_on_the_fewest(void **state)
{
    uint64_t most = wf_engines_mask(WF_ENGINES_MAX);

    for (unsigned n = 1; n <= WF_ENGINES_MAX; n++) {
        assert_int_equal(wf_engines_common(wf_engines_mask(n)), n);
        assert_int_equal(wf_engines_common(wf_engines_mask(n) & most), n);
        assert_int_equal(
            wf_engines_common(wf_engines_mask(n) & wf_engines_mask(1)), 1);
    }
    assert_int_equal(
        wf_engines_common(wf_engines_mask(5) & wf_engines_mask(3)), 3);
    assert_int_equal(wf_engines_common(0), 1);
}

/* Ids that end the space of ids are as good as any. */
static void every_id_has_an_engine(void **state)
{
    for (unsigned n = 1; n <= WF_ENGINES_MAX; n++)
        for (uint32_t id = (1u << 24) - 100; id < 1u << 24; id++)
            assert_true(wf_engine_for(id, n) < n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_everything_is_on_the_first),
        cmocka_unit_test(neighbours_are_on_different_engines),
        cmocka_unit_test(the_engine_of_world_is_shared_last),
        cmocka_unit_test(members_agree_on_the_fewest),
        cmocka_unit_test(every_id_has_an_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* CPU quotas of control groups count like an affinity mask.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "os/quota.h"

static char root[] = "/tmp/quotaXXXXXX";

static void put_data(const char *folders, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s%s/%s", root, folders, name);
    put_text(path, text);
}

static void version_2_says_it_in_one_file(void **state)
{
    put_data("/two", "cpu.max", "250000 100000\n");
    put_data("/part", "cpu.max", "50000 100000\n");
    put_data("/free", "cpu.max", "max 100000\n");
    assert_int_equal(wf_quota_cpus_of(root, "0::/two\n"), 2);
    assert_int_equal(wf_quota_cpus_of(root, "0::/part\n"), 1);
    assert_int_equal(wf_quota_cpus_of(root, "0::/free\n"), UINT32_MAX);
}

static void version_1_says_it_in_two_files(void **state)
{
    put_data("/cpu/box", "cpu.cfs_quota_us", "300000\n");
    put_data("/cpu/box", "cpu.cfs_period_us", "100000\n");
    put_data("/cpu/free", "cpu.cfs_quota_us", "-1\n");
    put_data("/cpu/free", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(
        wf_quota_cpus_of(root, "9:memory:/box\n3:cpu,cpuacct:/box\n"), 3);
    assert_int_equal(wf_quota_cpus_of(root, "3:cpuacct,cpu:/free\n"),
                     UINT32_MAX);
    assert_int_equal(wf_quota_cpus_of(root, "3:cpuset:/box\n"), UINT32_MAX);
}

static void the_smallest_limit_on_the_way_up_holds(void **state)
{
    put_data("/a", "cpu.max", "200000 100000\n");
    put_data("/a/b", "cpu.max", "max 100000\n");
    put_data("/a/b/c", "cpu.max", "900000 100000\n");
    assert_int_equal(wf_quota_cpus_of(root, "0::/a/b/c\n"), 2);
}

static void a_container_that_does_not_see_its_group_asks_its_root(void **state)
{
    put_data("", "cpu.max", "400000 100000\n");
    assert_int_equal(wf_quota_cpus_of(root, "0::/not/there\n"), 4);
    assert_int_equal(wf_quota_cpus_of(root, "0::/\n"), 4);
}

static void an_invalid_file_is_no_limit(void **state)
{
    put_data("/odd", "cpu.max", "many few\n");
    put_data("/zero", "cpu.max", "1000 0\n");
    put_data("", "cpu.max", "\n");
    assert_int_equal(wf_quota_cpus_of(root, "0::/odd\n"), UINT32_MAX);
    assert_int_equal(wf_quota_cpus_of(root, "0::/zero\n"), UINT32_MAX);
    assert_int_equal(wf_quota_cpus_of(root, ""), UINT32_MAX);
    assert_int_equal(wf_quota_cpus_of(root, "no colons\n:\n::\n"), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_says_it_in_one_file),
        cmocka_unit_test(version_1_says_it_in_two_files),
        cmocka_unit_test(the_smallest_limit_on_the_way_up_holds),
        cmocka_unit_test(a_container_that_does_not_see_its_group_asks_its_root),
        cmocka_unit_test(an_invalid_file_is_no_limit),
    };
    int failed;

    if (!mkdtemp(root))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return remove_tree(root) || failed;
}

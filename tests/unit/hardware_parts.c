/* Which package, NUMA node, cache and core holds a set of CPUs, from a
 * description of the machine like the one under /sys.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "os/hardware.h"

static char root[] = "/tmp/weft-hardware-XXXXXX";

static void say_something(const char *text, const char *format, int a, int b)
{
    char path[256];
    int n = snprintf(path, sizeof path, "%s/", root);

    snprintf(path + n, sizeof path - (size_t)n, format, a, b);
    put_text(path, text);
}

/* Two packages of two cores of two threads; thread t of core c is CPU
 * 4 * t + c. Each package is a NUMA node with one L3 cache. */
static int describe_case(void **state)
{
    static const char *const packages[] = {"0-1,4-5\n", "2-3,6-7\n"};
    static const char *const cores[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n"};

    assert_non_null(mkdtemp(root));
    for (int cpu = 0; cpu < 8; cpu++) {
        const char *package = packages[cpu % 4 / 2], *core = cores[cpu % 4];
        say_something(package, "cpu/cpu%d/topology/core_siblings_list", cpu, 0);
        say_something(core, "cpu/cpu%d/topology/core_cpus_list", cpu, 0);
        say_something("1\n", "cpu/cpu%d/cache/index%d/level", cpu, 0);
        say_something(core, "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, 0);
        say_something("3\n", "cpu/cpu%d/cache/index%d/level", cpu, 1);
        say_something(package, "cpu/cpu%d/cache/index%d/shared_cpu_list", cpu,
                      1);
    }
    say_something(packages[0], "node/node%d/cpulist", 0, 0);
    /* numbers have gaps */
    say_something(packages[1], "node/node%d/cpulist", 3, 0);
    return 0;
}

static int forget_all(void **state)
{
    return remove_tree(root);
}

static struct wf_cpus cpus_of(uint64_t bits)
{
    return (struct wf_cpus){{bits}};
}

static int part_of(uint64_t bits, enum wf_hardware type)
{
    struct wf_cpus mine = cpus_of(bits);

    return wf_hardware_instance(root, &mine, type);
}

static void a_thread_is_in_one_part_of_each_type(void **state)
{
    assert_int_equal(part_of(1 << 7, WF_HARDWARE_THREAD), 7);
    assert_int_equal(part_of(1 << 7, WF_HARDWARE_CORE), 3);
    assert_int_equal(part_of(1 << 7, WF_HARDWARE_L3), 2);
    assert_int_equal(part_of(1 << 7, WF_HARDWARE_NUMA), 2);
    assert_int_equal(part_of(1 << 7, WF_HARDWARE_PACKAGE), 2);
}

static void several_cpus_are_restricted_to_what_holds_them_all(void **state)
{
    assert_int_equal(part_of(0x11, WF_HARDWARE_THREAD), -1);
    assert_int_equal(part_of(0x11, WF_HARDWARE_CORE), 0);
    assert_int_equal(part_of(0x03, WF_HARDWARE_CORE), -1);
    assert_int_equal(part_of(0x03, WF_HARDWARE_PACKAGE), 0);
    assert_int_equal(part_of(0x05, WF_HARDWARE_PACKAGE), -1);
    assert_int_equal(part_of(0xff, WF_HARDWARE_NUMA), -1);
}

static void missing_descriptions_restrict_no_process(void **state)
{
    assert_int_equal(part_of(1, WF_HARDWARE_L2), -1);
    assert_int_equal(part_of(0, WF_HARDWARE_CORE), -1);
    assert_int_equal(part_of(1 << 20, WF_HARDWARE_CORE), -1);
    assert_int_equal(part_of(1 << 20, WF_HARDWARE_NUMA), -1);
}

static void an_invalid_description_is_no_part(void **state)
{
    static const char *const lists[] = {"", "x\n", "0-\n", "4-0\n", "0,,4\n",
                                        "0-99999999999\n", "0 4\n", "-4\n"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        say_something(lists[i], "cpu/cpu%d/topology/core_cpus_list", 0, 0);
        assert_int_equal(part_of(0x11, WF_HARDWARE_CORE), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_in_one_part_of_each_type),
        cmocka_unit_test(several_cpus_are_restricted_to_what_holds_them_all),
        cmocka_unit_test(missing_descriptions_restrict_no_process),
        cmocka_unit_test(an_invalid_description_is_no_part),
    };
    return cmocka_run_group_tests(tests, describe_case, forget_all);
}

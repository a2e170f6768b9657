/* A process that a PMIx server started: which bootstrap it takes, and the
 * plugin as a file. The plugins are of plugins/boot_plugin.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "adi/bootstrap.h"
#include "boot/boot.h"
#include "config_rig.h"

static char err[4096];

static int enter_environment(void **state)
{
    static const char *const names[] = {
        "PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "WEFT_RANK", "WEFT_SIZE",
        "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE",
        "WEFT_PMIX_TAKEN", "WEFT_PLUGIN_PATH", "WEFT_LAUNCHER_PLUGINS",
        "BOOT_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("PMIX_NAMESPACE", "job-17", 1);
    setenv("PMIX_RANK", "1", 1);
    setenv("BOOT_MARK", "mark", 1);
    return enter_directory(state);
}

static void copy_plugin(const char *from, mode_t mode)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "r"), *out = fopen("weft_boot_pmix.so", "w");

    assert_true(in != NULL && out != NULL);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
    assert_int_equal(chmod("weft_boot_pmix.so", mode), 0);
}

/* The directory of the test is that of plugins. */
static void use_plugin(const char *from, mode_t mode, void **state)
{
    copy_plugin(from, mode);
    setenv("WEFT_PLUGIN_PATH", *state, 1);
}

static struct wf_boot *open_boot(const char *ini)
{
    struct wf_config *config = parse_good(ini);
    struct wf_boot *b = NULL;
    int rc = wf_boot_open(config, &b, err, sizeof err);

    assert_int_equal(rc == 0, b != NULL);
    wf_config_free(config);
    return b;
}

static void assert_refused(const char *ini, const char *wanted)
{
    assert_null(open_boot(ini));
    if (!strstr(err, wanted))
        print_error("wanted: %s\nfound:  %s\n", wanted, err);
    assert_non_null(strstr(err, wanted));
}

/* The file is there, and not used for this reason. */
static void assert_unused(const char *wanted)
{
    assert_refused("", "the first that was found cannot be loaded");
    assert_null(wf_bootstrap_find(NULL, "pmix", err, sizeof err));
    assert_non_null(strstr(err, wanted));
}

static void assert_taken(const char *ini, const char *name, uint32_t rank)
{
    struct wf_boot *b = open_boot(ini);

    if (!b)
        print_error("%s\n", err);
    assert_non_null(b);
    assert_string_equal(b->ops->name, name);
    assert_int_equal(b->rank, rank);
    wf_boot_close(b);
}

/* Four processes that each take themselves for rank 0 of 1 look like a job. */
static void without_the_plugin_the_remedies_are_named(void **state)
{
    assert_refused("", "PMIX_NAMESPACE=job-17");
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_refused("", "use the mpirun that was installed with Weft");
    assert_refused("", "srun --mpi=pmi2");
    assert_refused("", "none was found");
    assert_taken("[core]\nbootstrap = single\n", "singleton", 0);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_taken("", "singleton", 0);
    assert_refused("[core]\nbootstrap = pmix\n", "none was found");
    unsetenv("PMIX_NAMESPACE");
    assert_refused("[core]\nbootstrap = pmix\n", "are not set");
}

static void a_plugin_file_gives_the_rank(void **state)
{
    use_plugin(BOOT_GOOD, 0644, state);
    setenv("BOOT_RANK", "3", 1);
    assert_taken("", "pmix", 3);
}

static void a_rank_beyond_the_job_is_refused(void **state)
{
    use_plugin(BOOT_GOOD, 0644, state);
    setenv("BOOT_RANK", "4", 1);
    assert_refused("", "the launcher says rank 4 of 4");
}

static void a_server_that_is_gone_is_an_error_only_among_several(void **state)
{
    use_plugin(BOOT_GOOD, 0644, state);
    assert_refused("", "no start by PMIx (PMIX_NAMESPACE=job-17)");
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_taken("", "singleton", 0);
}

/* They inherit PMIX_NAMESPACE, and would be taken for the rank. */
static void programs_that_a_rank_starts_do_not_join(void **state)
{
    use_plugin(BOOT_GOOD, 0644, state);
    setenv("BOOT_RANK", "2", 1);
    assert_taken("", "pmix", 2);
    assert_refused("", "MPI has ended in this process");
    setenv("WEFT_PMIX_TAKEN", "1", 1);
    assert_refused("", "process 1, which the PMIx server started");
}

static void other_bootstraps_come_first(void **state)
{
    use_plugin(BOOT_GOOD, 0644, state);
    setenv("BOOT_RANK", "2", 1);
    setenv("PMI_FD", "1023", 1);
    assert_refused("", "PMI_RANK=");
    assert_taken("[core]\nbootstrap = pmix\n", "pmix", 2);
    unsetenv("PMI_FD");
    setenv("WEFT_RANK", "0", 1);
    setenv("WEFT_SIZE", "1", 1);
    assert_taken("", "static", 0);
}

static void a_plugin_that_others_may_write_is_not_executed(void **state)
{
    use_plugin(BOOT_GOOD, 0666, state);
    setenv("BOOT_RANK", "2", 1);
    assert_unused("others may write file");
    assert_int_not_equal(access("mark", F_OK), 0);
    assert_int_equal(chmod("weft_boot_pmix.so", 0644), 0);
    assert_taken("", "pmix", 2);
    assert_int_equal(access("mark", F_OK), 0);
}

static void a_plugin_of_another_abi_is_refused(void **state)
{
    weft_bootstrap p;

    use_plugin(BOOT_OTHER, 0644, state);
    assert_unused("built for bootstrap ABI 7, this library has 1");
    memset(&p, 0, sizeof p);
    assert_int_equal(wf_bootstrap_check(&p, "pmix", "here", err, sizeof err),
                     WEFT_EINVAL);
    assert_non_null(strstr(err, "here: not a Weft bootstrap"));
    p.magic = WEFT_BOOT_MAGIC;
    p.abi = WEFT_BOOT_ABI;
    wf_bootstrap_check(&p, "pmix", "here", err, sizeof err);
    assert_non_null(strstr(err, "too short"));
    p.size = sizeof p;
    p.name = "other";
    wf_bootstrap_check(&p, "pmix", "here", err, sizeof err);
    assert_non_null(strstr(err, "is bootstrap 'other', not 'pmix'"));
    p.name = "pmix";
    wf_bootstrap_check(&p, "pmix", "here", err, sizeof err);
    assert_non_null(strstr(err, "a function is missing"));
}

#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, enter_environment, leave_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(without_the_plugin_the_remedies_are_named),
        CASE(a_plugin_file_gives_the_rank),
        CASE(a_rank_beyond_the_job_is_refused),
        CASE(a_server_that_is_gone_is_an_error_only_among_several),
        CASE(programs_that_a_rank_starts_do_not_join),
        CASE(other_bootstraps_come_first),
        CASE(a_plugin_that_others_may_write_is_not_executed),
        CASE(a_plugin_of_another_abi_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

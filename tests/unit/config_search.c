/* Where the configuration comes from: files, environment, and who wins.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "directory.h"

#include "config/shared.h"
#include "config_rig.h"
#include "openat_fails.h"
#include "report/error.h"
#include "route/route.h"
#include "config/words.h"

/* The directory is the current one and home. */
static int enter_home(void **state)
{
    static const char *const names[] = {"WEFT_INI", "WEFT_SET", "WEFT_ROUTE",
                                        "WEFT_LOG", "WEFT_SETT"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return enter_directory(state) != 0 || setenv("HOME", *state, 1) != 0;
}

/* Nothing but these files may have been made. */
static int leave_home(void **state)
{
    static const char *const made[] = {
        "mpi.ini",      "a.ini",   "sub/b.ini", ".config/weft/mpi.ini",
        ".config/weft", ".config", "sub"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        remove(made[i]);
    return chdir("/") != 0 || rmdir(*state) != 0;
}

static char *load_file(struct wf_config **config)
{
    char *text = NULL;
    size_t n;
    FILE *errors = open_memstream(&text, &n);
    wf_config_load(config, errors);
    fclose(errors);
    return text;
}

/* Returns core.job and where it comes from: "value (where)". */
static void assert_job(const char *wanted)
{
    struct wf_config *c;
    char *problems = load_file(&c), found[256];
    assert_string_equal(problems, "");
    const char *value = NULL,
               *where = wf_config_origin(c, "core", "job", &value);
    snprintf(found, sizeof found, "%s (%s)", value != NULL ? value : "", where);
    assert_string_equal(found, wanted);
    free(problems);
    wf_config_free(c);
}

static void assert_refused(const char *line)
{
    struct wf_config *c;
    char *problems = load_file(&c);
    assert_null(c);
    if (strstr(problems, line) == NULL)
        print_error("wanted: %s\nfound:  %s\n", line, problems);
    assert_non_null(strstr(problems, line));
    free(problems);
}

static void the_current_directory_comes_before_home(void **state)
{
    mkdir(".config", 0700);
    mkdir(".config/weft", 0700);
    put_text(".config/weft/mpi.ini", "[core]\njob = home\n");
    char wanted[128];
    snprintf(wanted, sizeof wanted, "home (%s/.config/weft/mpi.ini:2)",
             (char *)*state);
    assert_job(wanted);
    put_text("mpi.ini", "[core]\n\njob = here\n");
    assert_job("here (mpi.ini:3)");
}

static void files_are_never_merged(void **state)
{
    mkdir(".config", 0700);
    mkdir(".config/weft", 0700);
    put_text(".config/weft/mpi.ini", "[core]\njob = home\n");
    put_text("mpi.ini", "[core]\nlog = info\n");
    assert_job(" (default)");
}

static void weft_ini_names_a_file_or_none(void **state)
{
    put_text("mpi.ini", "[core]\njob = here\n");
    put_text("a.ini", "[core]\njob = named\n");
    setenv("WEFT_INI", "a.ini", 1);
    assert_job("named (a.ini:2)");
    setenv("WEFT_INI", "-", 1);
    assert_job(" (default)");
    setenv("WEFT_INI", "missing.ini", 1);
    assert_refused("missing.ini: cannot use this mpi.ini: No such file");
}

static void include_is_relative_to_the_file_that_names_it(void **state)
{
    mkdir("sub", 0700);
    put_text("sub/b.ini", "[core]\njob = included\n");
    put_text("a.ini", "include = sub/b.ini\n[transport tcp]\n");
    setenv("WEFT_INI", "a.ini", 1);
    assert_job("included (sub/b.ini:2)");
    put_text("sub/b.ini", "include = c.ini\n");
    assert_refused("sub/b.ini:1:1: cannot read 'sub/c.ini': No such file");
    put_text("a.ini", "include = a.ini\n");
    assert_refused("a.ini:1:1: includes are nested more than 8 deep");
}

static void weft_set_wins_over_the_file(void **state)
{
    put_text("mpi.ini", "[core]\njob = here\n");
    setenv("WEFT_SET", "core.job=there", 1);
    assert_job("there (WEFT_SET)");
}

static void weft_set_takes_blanks_semicolons_lines_and_quotes(void **state)
{
    struct wf_config *c;
    const char *v;
    setenv("WEFT_SET",
           "core.job = a b core.log=info;transport.tcp.note=\"x;y\""
           "\nroute.default.use = shm tcp",
           1);
    char *problems = load_file(&c);
    assert_string_equal(problems, "");
    assert_string_equal(wf_config_core(c)->job, "a b");
    assert_int_equal(wf_config_core(c)->log, WF_LOG_INFO);
    wf_config_origin(c, "transport tcp", "note", &v);
    assert_string_equal(v, "x;y");
    wf_config_origin(c, "route default", "use", &v);
    assert_string_equal(v, "shm,tcp");
    free(problems);
    wf_config_free(c);
}

static void mistakes_in_weft_set_name_it(void **state)
{
    setenv("WEFT_SET", "job=x", 1);
    assert_refused("WEFT_SET: 'job=x': write section.key=value");
    setenv("WEFT_SET", "core.jobb=x", 1);
    assert_refused("WEFT_SET: unknown key 'jobb' in [core]; did you mean "
                   "'job'?");
    setenv("WEFT_SET", "core.log=loud", 1);
    assert_refused("WEFT_SET: log: 'loud' is not one of");
    setenv("WEFT_SET", "transport.tpc.port=1", 1);
    assert_refused("WEFT_SET: transport 'tpc' is not defined; did you mean "
                   "'tcp'?");
    setenv("WEFT_SET", "rout.a.use=tcp", 1);
    assert_refused("WEFT_SET: 'rout' is no kind of section");
    setenv("WEFT_SET", "transport.port=1", 1);
    assert_refused("WEFT_SET: 'transport' needs a name");
}

static void weft_log_sets_the_level(void **state)
{
    struct wf_config *c;
    setenv("WEFT_LOG", "debug", 1);
    free(load_file(&c));
    assert_int_equal(wf_config_core(c)->log, WF_LOG_DEBUG);
    assert_string_equal(wf_config_origin(c, "core", "log", NULL), "WEFT_LOG");
    wf_config_free(c);
    setenv("WEFT_LOG", "verbose", 1);
    assert_refused("WEFT_LOG: log: 'verbose' is not one of");
}

static void weft_route_replaces_every_route_section(void **state)
{
    static const struct wf_route_end a = {0, "a", "", 1, 0, 0},
                                     b = {1, "a", "", 1, 0, 0};
    const struct wf_route_candidate all[] = {
        {"shm", 0, true, NULL, WEFT_CAP_LOCAL, {0}, false},
        {"tcp", 1, true, NULL, WEFT_CAP_LOCAL, {0}, false},
    };
    struct wf_config *c;
    const char *section;
    int order[2];
    put_text("mpi.ini", "[route mine]\nto = local\nuse = shm\n");
    setenv("WEFT_ROUTE", "tcp", 1);
    free(load_file(&c));
    assert_int_equal(wf_route_choose(c, &a, &b, 0, all, 2, order, &section), 1);
    assert_int_equal(order[0], 1);
    assert_string_equal(section, "WEFT_ROUTE");
    wf_config_free(c);
    setenv("WEFT_ROUTE", "tcp, ib", 1);
    assert_refused("WEFT_ROUTE: transport 'ib' is not defined; defined: 'self' "
                   "(built in), 'shm' (built in), 'tcp' (built in)");
}

static void weft_route_takes_no_protection_away(void **state)
{
    struct wf_config *c;

    put_text("mpi.ini", "[route mine]\nto = remote\nuse = tcp\n"
                   "security = encrypt\n");
    setenv("WEFT_ROUTE", "tcp", 1);
    free(load_file(&c));
    assert_true(wf_route_encrypts(c));
    wf_config_free(c);
}

static void variables_that_nobody_reads_are_warnings(void **state)
{
    struct wf_config *c;
    const char *const *lines;
    setenv("WEFT_SETT", "x", 1);
    free(load_file(&c));
    int n = wf_config_warnings(c, &lines), found = 0;
    for (int i = 0; i < n; i++)
        found |= strstr(lines[i], "WEFT_SETT is not read by Weft; did you mean "
                                  "'WEFT_SET'?") != NULL;
    assert_true(found);
    wf_config_free(c);
    unsetenv("WEFT_SETT");
}

static void settings_of_other_mpis_are_hinted_at_when_asked(void **state)
{
    struct wf_config *c;
    const char *const *lines;
    setenv("OMPI_MCA_btl", "tcp", 1);
    free(load_file(&c));
    assert_int_equal(wf_config_warnings(c, &lines), 0);
    wf_config_free(c);
    setenv("WEFT_LOG", "info", 1);
    free(load_file(&c));
    assert_int_equal(wf_config_warnings(c, &lines), 1);
    assert_non_null(strstr(lines[0], "OMPI_MCA_btl is a setting of another"));
    wf_config_free(c);
    unsetenv("OMPI_MCA_btl");
}

static void a_directory_called_mpi_ini_is_no_configuration(void **state)
{
    mkdir("mpi.ini", 0700);
    assert_job(" (default)");
}

/* The start fails for what the system lacks, whichever call meets it: nothing
 * is said against the configuration, and no other file is taken. */
static void lack_of_memory_is_no_mistake_of_the_file(void **state)
{
    static const struct {
        int error, rc;
    } lacks[] = {
        {ENOMEM, WEFT_ENOMEM}, {EMFILE, WEFT_ESYS}, {ENFILE, WEFT_ESYS}};
    put_text("mpi.ini", "include = a.ini\n[transport tcp]\n");
    put_text("a.ini", "[core]\nlog = info\n");
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        for (int n = 1;; n++) {
            struct wf_config *c;
            openat_fails_at = n;
            openat_error = lacks[i].error;
            int rc = wf_config_load(&c, stderr);
            if (openat_fails_at > 0) { /* there are no more calls */
                openat_fails_at = 0;
                assert_int_equal(rc, 0);
                wf_config_free(c);
                assert_true(n > 4);
                break;
            }
            assert_int_equal(rc, lacks[i].rc);
            assert_null(c);
            assert_int_equal(wf_error_last()->status, lacks[i].rc);
            assert_non_null(strstr(wf_error_last()->text, ".ini: "));
            assert_non_null(
                strstr(wf_error_last()->text, strerror(lacks[i].error)));
        }
}

static void two_swapped_letters_are_one_mistake(void **state)
{
    static const struct {
        const char *word, *nearest;
    } of[] = {{"tpc", "tcp"}, {"cohse", "chose"},
              {"txp", "tap"} /* the first of two */};
    struct wf_words words = {.count = 0};

    wf_words_add(&words, "tap");
    wf_words_add(&words, "tcp");
    wf_words_add(&words, "close");
    wf_words_add(&words, "chose");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_string_equal(wf_words_nearest(&words, of[i].word),
                            of[i].nearest);
}

int main(void)
{
#define CASE(f)                                                                \
    cmocka_unit_test_setup_teardown(f, enter_home, leave_home)
    const struct CMUnitTest tests[] = {
        CASE(the_current_directory_comes_before_home),
        CASE(files_are_never_merged),
        CASE(weft_ini_names_a_file_or_none),
        CASE(include_is_relative_to_the_file_that_names_it),
        CASE(weft_set_wins_over_the_file),
        CASE(weft_set_takes_blanks_semicolons_lines_and_quotes),
        CASE(mistakes_in_weft_set_name_it),
        CASE(weft_log_sets_the_level),
        CASE(weft_route_replaces_every_route_section),
        CASE(weft_route_takes_no_protection_away),
        CASE(variables_that_nobody_reads_are_warnings),
        CASE(settings_of_other_mpis_are_hinted_at_when_asked),
        CASE(a_directory_called_mpi_ini_is_no_configuration),
        CASE(lack_of_memory_is_no_mistake_of_the_file),
        cmocka_unit_test(two_swapped_letters_are_one_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

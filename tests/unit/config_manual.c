/* The manual and the sample file against the tables that the parser uses.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/addresses.h"
#include "config/search.h"
#include "config/shared.h"
#include "config_rig.h"

#include "config/model.h"

/* A file of the source tree. */
static char *tree_file(const char *name)
{
    char path[1024], why[256];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", SOURCE_DIR, name);
    char *raw = wf_file_read(path, &n, why, sizeof why);
    if (raw == NULL)
        print_error("cannot read %s: %s\n", path, why);
    assert_non_null(raw);
    char *text = malloc(n + 1);
    assert_non_null(text);
    memcpy(text, raw, n);
    text[n] = '\0';
    free(raw);
    return text;
}

/* The part of a text from one heading to the next of the same kind. */
static char *part_of(const char *text, const char *heading, const char *next)
{
    const char *from = strstr(text, heading);
    assert_non_null(from);
    const char *to = strstr(from + strlen(heading), next);
    return to != NULL ? strndup(from, (size_t)(to - from)) : strdup(from);
}

static void assert_holds(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        print_error("missing: %s\n", wanted);
    assert_non_null(strstr(text, wanted));
}

static void assert_rows(const char *heading, const weft_option *o)
{
    char *manual = tree_file("docs/user/mpi-ini.md");
    char *section = part_of(manual, heading, "\n## ");
    for (; o->name != NULL; o++) {
        char row[128];
        snprintf(row, sizeof row,
                 o->dflt != NULL ? "\n| `%s` | `%s` | " : "\n| `%s` | | ",
                 o->name, o->dflt);
        assert_holds(section, row);
    }
    free(section);
    free(manual);
}

static void the_manual_has_a_row_with_the_default_for_every_key(void **state)
{
    assert_rows("\n## [core]", wf_core_table);
    assert_rows("\n## [transport NAME]", wf_transport_table);
    assert_rows("\n## [route NAME]", wf_route_table);
    assert_rows("\n## [collectives]", wf_collectives_table);
}

static void assert_sample(const weft_option *o)
{
    char *sample = tree_file("mpi.ini");
    for (; o->name != NULL; o++) {
        char line[128];
        /* in the sample to= shows a useful selector */
        bool shown = o->dflt != NULL && strcmp(o->name, "to") != 0;
        snprintf(line, sizeof line, "\n# %s =%s%s ", o->name, shown ? " " : "",
                 shown ? o->dflt : "");
        assert_holds(sample, line);
    }
    free(sample);
}

static void the_sample_shows_every_key_with_its_default(void **state)
{
    assert_sample(wf_core_table);
    assert_sample(wf_transport_table);
    assert_sample(wf_route_table);
    assert_sample(wf_collectives_table);
}

static void the_manual_lists_the_algorithms_of_each_collective(void **state)
{
    char *manual = tree_file("docs/user/mpi-ini.md");
    char *section = part_of(manual, "\n## [collectives]", "\n## ");
    for (int i = 0; i < WF_COLL_KINDS; i++) {
        char row[512], names[400] = "";
        for (int k = 0; k < WF_ALGORITHMS; k++) {
            size_t used = strlen(names);
            if (wf_coll_kinds[i].algorithms >> k & 1)
                snprintf(names + used, sizeof names - used, "%s%s",
                         used ? ", " : "", wf_coll_algorithms[k].name);
        }
        snprintf(row, sizeof row, "\n| `%s` | `auto` | ",
                 wf_coll_kinds[i].name);
        assert_holds(section, row);
        snprintf(row, sizeof row, " | %s |\n", names);
        assert_holds(section, row);
    }
    free(section);
    free(manual);
}

static void the_sample_is_without_mistakes(void **state)
{
    char *sample = tree_file("mpi.ini");
    wf_config_free(parse_good(sample));
    free(sample);
}

static void the_sample_changes_nothing(void **state)
{
    char *sample = tree_file("mpi.ini");
    struct wf_config *c = parse_good(sample), *plain = parse_good(NULL);
    assert_true(wf_config_hash(c) == wf_config_hash(plain));
    assert_memory_equal(wf_config_core(c), wf_config_core(plain),
                        sizeof *wf_config_core(c));
    wf_config_free(c);
    wf_config_free(plain);
    free(sample);
}

/* "# key = value # text" -> "key = value # text" for lines that are keys */
static void uncomment_line(char *text)
{
    char *to = text;
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        size_t n = end != NULL ? (size_t)(end + 1 - line) : strlen(line);
        char *from = line;
        size_t word =
            n > 2 ? strspn(line + 2, "abcdefghijklmnopqrstuvwxyz_") : 0;
        bool key = line[0] == '#' && line[1] == ' ' && word > 0 &&
                   strncmp(line + 2 + word, " =", 2) == 0;
        bool section = strncmp(line, "# [", 3) == 0 &&
                       strncmp(line, "# [transport NAME", 17) != 0;
        bool skip = strncmp(line, "# include", 9) == 0 ||
                    strncmp(line, "# job_key =", 11) == 0;
        if ((key || section) && !skip)
            from += 2;
        memmove(to, from, n - (size_t)(from - line));
        to += n - (size_t)(from - line);
        line += n;
    }
    *to = '\0';
}

static void every_line_of_the_sample_may_be_uncommented(void **state)
{
    char *sample = tree_file("mpi.ini");
    uncomment_line(sample);
    assert_holds(sample, "\n[rank 0-5]\nhost = dsp[1-3] ");
    assert_holds(sample, "\nspin = auto ");
    struct wf_config *c = parse_good(sample);
    assert_string_equal(wf_config_address(c, 3, "tcp", NULL), "10.0.0.12:7001");
    wf_config_free(c);
    free(sample);
}

static void every_example_of_the_manual_is_without_mistakes(void **state)
{
    char *manual = tree_file("docs/user/mpi-ini.md");
    int examples = 0;
    for (char *at = manual; (at = strstr(at, "```ini\n")) != NULL;) {
        at += 7;
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        wf_config_free(parse_good(at));
        at = end + 3;
        examples++;
    }
    assert_true(examples >= 4);
    free(manual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_has_a_row_with_the_default_for_every_key),
        cmocka_unit_test(the_sample_shows_every_key_with_its_default),
        cmocka_unit_test(the_manual_lists_the_algorithms_of_each_collective),
        cmocka_unit_test(the_sample_is_without_mistakes),
        cmocka_unit_test(the_sample_changes_nothing),
        cmocka_unit_test(every_line_of_the_sample_may_be_uncommented),
        cmocka_unit_test(every_example_of_the_manual_is_without_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

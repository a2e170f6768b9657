/* weft-info --table: names, archives and object files.
 *
 * ARCHIVE is libmpi.a, OBJECT an object file with the transport `good`.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "weft_info_rig.h"

#include "tools/weft-info/object.c"
#include "tools/weft-info/table.c"

static char scratch[] = "/tmp/weft-table-XXXXXX.o";

static char *print_words(int expected, char *const *words, int n)
{
    int fd = expected == 0 ? 1 : 2;
    capture_begin(fd);
    int rc = info_table(words, n);
    char *text = capture_end(fd);
    assert_int_equal(rc, expected);
    return text;
}

static void a_table_holds_self_and_what_is_named(void **state)
{
    char *names[] = {"thread", "self", "thread"};
    assert_says(print_words(0, names, 3), "= {\n    &weft_plugin_2_self,\n"
                                    "    &weft_plugin_2_thread,\n    0\n};");
    assert_says(print_words(0, names, 0),
                "= {\n    &weft_plugin_2_self,\n    0\n};");
}

static void an_unknown_name_is_refused_and_the_known_ones_are_listed(
    void **state)
{
    char *names[] = {"thread", "thraed"};
    char *text = print_words(2, names, 2);
    assert_says(text, "no transport is named 'thraed'; there are self, ");
    assert_says(text, " in libmpi.a");
    assert_says(text, "as ./thraed.o\n");
    char *bad[] = {"a;b"};
    assert_says(print_words(2, bad, 1), "named 'a;b'");
}

static void a_file_is_asked_for_its_transports(void **state)
{
    char *words[] = {OBJECT, "thread"};
    assert_says(print_words(0, words, 2),
                "= {\n    &weft_plugin_2_self,\n    &weft_plugin_2_good,\n"
                "    &weft_plugin_2_thread,\n    0\n};");
    char *archive[] = {ARCHIVE};
    char *text = print_words(0, archive, 1);
    assert_says(text, "&weft_plugin_2_self,\n");
    assert_says(text, "&weft_plugin_2_thread,\n");
}

static void write_scratch(const char *bytes, size_t n)
{
    FILE *f = fopen(scratch, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void a_file_without_a_transport_is_refused(void **state)
{
    char *words[] = {scratch};
    write_scratch("int x;\n", 7);
    assert_says(print_words(2, words, 1),
                ".o: neither an object file nor an archive");
    write_scratch("", 0);
    assert_says(print_words(2, words, 1), ".o: not a file with content");
    unlink(scratch);
    assert_says(print_words(2, words, 1), ".o: No such file");
    write_scratch("!<arch>\n", 8);
    assert_says(print_words(2, words, 1), "the archive is empty");
}

static void count_visits(void *arg, const char *name, const char *file)
{
    assert_non_null(memchr(name, 0, 4096));
    ++*(int *)arg;
}

static char *read_start(const char *file, size_t *n)
{
    static char bytes[1 << 16];
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    *n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return bytes;
}

/* Each byte of the beginning is made another one, and the end is cut off. */
static void a_damaged_file_is_read_without_harm(void **state)
{
    const char *files[] = {OBJECT, ARCHIVE};
    char why[256];
    size_t n;
    for (int i = 0; i < 2; i++) {
        char *bytes = read_start(files[i], &n);
        int visits = 0, found = 0;
        for (size_t cut = 0; cut < n; cut += cut / 7 + 1) {
            write_scratch(bytes, cut);
            found += info_object_plugins(scratch, count_visits, &visits, why,
                                         sizeof why) > 0;
        }
        for (size_t at = 0; at < 256 && at < n; at++) {
            char was = bytes[at];
            for (int value = 0; value < 256; value += 127) {
                bytes[at] = (char)value;
                write_scratch(bytes, n);
                found += info_object_plugins(scratch, count_visits, &visits,
                                             why, sizeof why) > 0;
            }
            bytes[at] = was;
        }
        print_message("%d transports in %d files\n", visits, found);
    }
    unlink(scratch);
}

static int make_scratch(void **state)
{
    int fd = mkstemps(scratch, 2);
    return fd < 0 || close(fd) != 0 ? -1 : 0;
}

static int remove_scratch(void **state)
{
    unlink(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_holds_self_and_what_is_named),
        cmocka_unit_test(
            an_unknown_name_is_refused_and_the_known_ones_are_listed),
        cmocka_unit_test(a_file_is_asked_for_its_transports),
        cmocka_unit_test(a_file_without_a_transport_is_refused),
        cmocka_unit_test(a_damaged_file_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

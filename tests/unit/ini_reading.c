/* The reader of mpi.ini: what the grammar allows, and exact places.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "config/ini.h"

/* Everything the reader said, one line each. */
struct heard {
    char text[20000];
    size_t n;
};

static void note_event(struct heard *h, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    h->n += (size_t)vsnprintf(h->text + h->n, sizeof h->text - h->n, fmt, ap);
    va_end(ap);
}

static void on_section(void *user, const struct wf_place *at, const char *kind,
                       const char *name)
{
    note_event(user, "%d:%d [%s|%s]\n", at->line, at->col, kind, name);
}

static void on_setting(void *user, const struct wf_place *at, const char *key,
                       const char *value, int value_col)
{
    note_event(user, "%d:%d %s=<%s>@%d\n", at->line, at->col, key, value,
               value_col);
}

static void on_include(void *user, const struct wf_place *at, const char *path)
{
    note_event(user, "%d:%d include <%s>\n", at->line, at->col, path);
}

static const struct wf_ini_events events = {on_section, on_setting, on_include};

static void read_bytes(struct heard *h, const char *text, size_t n)
{
    struct wf_problems problems = {.list = NULL};
    char *found = NULL;
    size_t length;
    FILE *out = open_memstream(&found, &length);
    memset(h, 0, sizeof *h);
    wf_ini_read("f", text, n, &events, h, &problems);
    wf_problems_flush(&problems, out);
    fclose(out);
    note_event(h, "%s", found);
    free(found);
}

static void assert_heard(const char *ini, const char *wanted)
{
    static struct heard h;
    read_bytes(&h, ini, strlen(ini));
    assert_string_equal(h.text, wanted);
}

static void settings_carry_line_and_column(void **state)
{
    assert_heard("[core]\n\n  log =   warn\n",
                 "1:1 [core|]\n3:3 log=<warn>@11\n");
}

static void sections_without_settings_are_reported(void **state)
{
    assert_heard("[transport self]\n[ transport   shm ]  # why\n",
                 "1:1 [transport|self]\n2:1 [transport|shm]\n");
}

static void brackets_inside_a_name_belong_to_it(void **state)
{
    assert_heard("[host dsp[1-3]]\n", "1:1 [host|dsp[1-3]]\n");
}

static void names_may_be_longer_than_the_buffer_of_inih(void **state)
{
    char ini[300], wanted[320], name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    snprintf(ini, sizeof ini, "[host %s]\n", name);
    snprintf(wanted, sizeof wanted, "1:1 [host|%s]\n", name);
    assert_heard(ini, wanted);
}

static void values_may_be_longer_than_the_buffer_of_inih(void **state)
{
    char ini[4200], wanted[4200], value[4001];
    memset(value, 'v', 4000);
    value[4000] = '\0';
    snprintf(ini, sizeof ini, "[core]\njob = %s\n", value);
    snprintf(wanted, sizeof wanted, "1:1 [core|]\n2:1 job=<%s>@7\n", value);
    assert_heard(ini, wanted);
}

static void a_line_over_the_limit_is_refused_and_the_rest_is_read(void **state)
{
    static char ini[6000];
    memset(ini, 'x', 5000);
    strcpy(ini + 5000, "\n[core]\n");
    assert_heard(ini, "2:1 [core|]\n"
                      "f:1:1: line of 5000 bytes; at most 4096 are allowed\n");
}

static void comments_begin_at_the_line_or_after_a_blank(void **state)
{
    assert_heard("# a\n ; b\n[core]\njob = a#b;c # d\nlog = warn\t; e\n",
                 "3:1 [core|]\n4:1 job=<a#b;c>@7\n5:1 log=<warn>@7\n");
}

static void quotes_keep_blanks_and_comment_signs(void **state)
{
    assert_heard("[core]\njob = \" a # b \"   ; c\n",
                 "1:1 [core|]\n2:1 job=< a # b >@7\n");
}

static void open_quotes_are_errors(void **state)
{
    assert_heard("[core]\njob = \"a\njob = \"a\" b\n",
                 "1:1 [core|]\n"
                 "f:2:7: the quote is not closed on this line\n"
                 "f:3:11: text after the closing quote\n");
}

static void carriage_returns_and_a_byte_order_mark_are_accepted(void **state)
{
    assert_heard("\xEF\xBB\xBF[core]\r\nlog = warn\r\n",
                 "1:1 [core|]\n2:1 log=<warn>@7\n");
}

static void the_last_line_needs_no_newline(void **state)
{
    assert_heard("[core]\nlog=warn", "1:1 [core|]\n2:1 log=<warn>@5\n");
}

static void an_indented_line_continues_nothing(void **state)
{
    assert_heard("[core]\nlog = warn\n   job = x\n",
                 "1:1 [core|]\n2:1 log=<warn>@7\n3:4 job=<x>@10\n");
}

static void include_stands_before_the_first_section_only(void **state)
{
    assert_heard("include = a/b.ini\n[core]\ninclude = c\n",
                 "1:1 include <a/b.ini>\n2:1 [core|]\n"
                 "f:3:1: include may stand only before the first section\n");
}

static void every_stray_line_is_reported(void **state)
{
    assert_heard("x = 1\n[core\n[core]\nlog\n= 3\nLog = a\nlog : b\n",
                 "3:1 [core|]\n"
                 "f:1:1: 'x' stands before the first section; only include "
                 "may\n"
                 "f:2:1: a section is written [kind name] on one line\n"
                 "f:4:1: neither [section] nor key = value\n"
                 "f:5:1: '' is not a key: lower case letters, digits and _\n"
                 "f:6:1: 'Log' is not a key: lower case letters, digits and "
                 "_\n"
                 "f:7:5: write '=' between key and value\n");
}

static void control_bytes_are_refused_with_their_place(void **state)
{
    static struct heard h;
    static const char ini[] = "[core]\nlog\0 = warn\njob = \x1b[0m\n";
    read_bytes(&h, ini, sizeof ini - 1);
    assert_string_equal(
        h.text, "1:1 [core|]\n"
                "f:2:4: control byte 0x00; the file must be plain text\n"
                "f:3:7: control byte 0x1b; the file must be plain text\n");
}

static void an_empty_file_is_valid(void **state)
{
    assert_heard("", "");
    assert_heard("\n\n# only words\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_carry_line_and_column),
        cmocka_unit_test(sections_without_settings_are_reported),
        cmocka_unit_test(brackets_inside_a_name_belong_to_it),
        cmocka_unit_test(names_may_be_longer_than_the_buffer_of_inih),
        cmocka_unit_test(values_may_be_longer_than_the_buffer_of_inih),
        cmocka_unit_test(a_line_over_the_limit_is_refused_and_the_rest_is_read),
        cmocka_unit_test(comments_begin_at_the_line_or_after_a_blank),
        cmocka_unit_test(quotes_keep_blanks_and_comment_signs),
        cmocka_unit_test(open_quotes_are_errors),
        cmocka_unit_test(carriage_returns_and_a_byte_order_mark_are_accepted),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(an_indented_line_continues_nothing),
        cmocka_unit_test(include_stands_before_the_first_section_only),
        cmocka_unit_test(every_stray_line_is_reported),
        cmocka_unit_test(control_bytes_are_refused_with_their_place),
        cmocka_unit_test(an_empty_file_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

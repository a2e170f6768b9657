/* The reader of mpi.ini, which uses inih.
 *
 * DESIGN  inih splits settings into key and value. This file adds what inih
 * lacks: line and column numbers (its usual build tells neither), sections
 * without settings (it does not report them), names over 50 bytes and with
 * brackets inside, quotes, lines over 200 bytes, `#` after a value, and going
 * on after an error. To that end the line source given to inih keeps each
 * line; inih finds the key, and the value is cut from the kept line.
 *
 * INVARIANTS
 *   1. Every line that is not blank, comment or section either reaches
 *      take_setting or is reported by report_stray.
 *   2. No byte of the text is trusted: NUL and control bytes are refused, and
 *      every copy is bounded by WF_INI_LINE_MAX.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/ini.h"

#include <stdbool.h>
#include <string.h>

#include "crypto/vendor.h"

struct reader {
    const struct wf_ini_events *events;
    void *user;
    struct wf_problems *problems;
    const char *file, *at, *end;
    int line;
    bool in_section;
    bool pending; /* a line was given to inih and has not come back */
    char *start;  /* first byte that is not blank, in text */
    char text[WF_INI_LINE_MAX + 1];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct wf_place place_of(const struct reader *r, const char *at)
{
    struct wf_place place = {r->file, r->line, (int)(at - r->text) + 1};
    return place;
}

static void report_at(struct reader *r, const char *at, const char *text)
{
    struct wf_place place = place_of(r, at);
    wf_problem_add(r->problems, &place, "%s", text);
}

static void trim_end(char *from)
{
    size_t n = strlen(from);
    while (n > 0 && is_blank(from[n - 1]))
        from[--n] = '\0';
}

/* A comment begins with # or ; at the start of a line or after a blank. */
static void cut_comment(char *from)
{
    for (char *c = from; *c != '\0'; c++) {
        if ((*c == '#' || *c == ';') && (c == from || is_blank(c[-1]))) {
            *c = '\0';
            break;
        }
    }
    trim_end(from);
}

/* Return the text between the quotes, or NULL with a report. Blanks and comment
 * signs in quotes belong to the value; only a comment may follow. */
static char *unquote_value(struct reader *r, char *from)
{
    char *close = strchr(from + 1, '"');
    if (close == NULL) {
        report_at(r, from, "the quote is not closed on this line");
        return NULL;
    }
    char *rest = close + 1;
    char *at = rest;
    cut_comment(rest);
    while (is_blank(*at))
        at++;
    if (*at != '\0') {
        report_at(r, at, "text after the closing quote");
        return NULL;
    }
    *close = '\0';
    return from + 1;
}

static bool is_valid_key(const char *key)
{
    if (key[0] < 'a' || key[0] > 'z')
        return false;
    for (const char *c = key; *c != '\0'; c++) {
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '_')
            return false;
    }
    return true;
}

static void dispatch_setting(struct reader *r, const char *key,
                             const char *value, int value_col)
{
    struct wf_place at = place_of(r, r->start);
    bool include = strcmp(key, "include") == 0;
    if (include && !r->in_section)
        r->events->include(r->user, &at, value);
    else if (include)
        wf_problem_add(r->problems, &at,
                       "include may stand only before the first section");
    else if (!r->in_section)
        wf_problem_add(r->problems, &at,
                       "'%s' stands before the first section; only include "
                       "may",
                       key);
    else
        r->events->setting(r->user, &at, key, value, value_col);
}

/* inih's handler: take the key that inih found and the kept line's value. */
static int take_setting(void *user, const char *section, const char *key,
                        const char *value)
{
    struct reader *r = user;
    r->pending = false;
    char *sign = strpbrk(r->start, "=:");
    if (sign == NULL || *sign == ':') {
        report_at(r, sign != NULL ? sign : r->start,
                  "write '=' between key and value");
        return 1;
    }
    if (!is_valid_key(key)) {
        struct wf_place at = place_of(r, r->start);
        wf_problem_add(r->problems, &at,
                       "'%s' is not a key: lower case letters, digits and _",
                       key);
        return 1;
    }
    char *from = sign + 1;
    while (is_blank(*from))
        from++;
    int col = (int)(from - r->text) + 1;
    if (*from == '"')
        from = unquote_value(r, from);
    else
        cut_comment(from);
    if (from != NULL)
        dispatch_setting(r, key, from, col);
    return 1;
}

static void take_section(struct reader *r)
{
    struct wf_place at = place_of(r, r->start);
    char *from = r->start + 1;
    cut_comment(from);
    size_t n = strlen(from);
    r->in_section = true;
    if (n == 0 || from[n - 1] != ']') {
        wf_problem_add(r->problems, &at,
                       "a section is written [kind name] on one line");
        return;
    }
    from[n - 1] = '\0';
    trim_end(from);
    while (is_blank(*from))
        from++;
    char *name = from;
    while (*name != '\0' && !is_blank(*name))
        name++;
    while (is_blank(*name))
        *name++ = '\0';
    r->events->section(r->user, &at, from, name);
}

static void report_stray(struct reader *r)
{
    if (r->pending)
        report_at(r, r->start, "neither [section] nor key = value");
    r->pending = false;
}

/* Find a control byte, which no configuration contains on purpose. */
static const char *find_control_byte(const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)from[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return from + i;
    }
    return NULL;
}

/* Keep the next line in r->text; false if it cannot be used. */
static bool keep_line(struct reader *r)
{
    const char *from = r->at;
    const char *newline = memchr(from, '\n', (size_t)(r->end - from));
    size_t n = (size_t)((newline != NULL ? newline : r->end) - from);
    r->at = newline != NULL ? newline + 1 : r->end;
    r->line++;
    if (n > 0 && from[n - 1] == '\r')
        n--;
    struct wf_place at = {r->file, r->line, 1};
    if (n > WF_INI_LINE_MAX) {
        wf_problem_add(r->problems, &at,
                       "line of %zu bytes; at most %d are allowed", n,
                       WF_INI_LINE_MAX);
        return false;
    }
    const char *odd = find_control_byte(from, n);
    if (odd != NULL) {
        at.col = (int)(odd - from) + 1;
        wf_problem_add(r->problems, &at,
                       "control byte 0x%02x; the file must be plain text",
                       (unsigned)(unsigned char)*odd);
        return false;
    }
    memcpy(r->text, from, n);
    r->text[n] = '\0';
    return true;
}

/* Return the next setting to inih: its line source, which works as fgets does,
 * but skips other lines. */
static char *next_line(char *buf, int size, void *stream)
{
    struct reader *r = stream;
    report_stray(r);
    while (r->at < r->end) {
        if (!keep_line(r))
            continue;
        r->start = r->text;
        while (is_blank(*r->start))
            r->start++;
        if (*r->start == '\0' || *r->start == '#' || *r->start == ';')
            continue;
        if (*r->start == '[') {
            take_section(r);
            continue;
        }
        /* inih needs no more than the key; its buffer may be short */
        size_t n = strlen(r->start);
        if (n > (size_t)size - 2)
            n = (size_t)size - 2;
        memcpy(buf, r->start, n);
        memcpy(buf + n, "\n", 2);
        r->pending = true;
        return buf;
    }
    return NULL;
}

void wf_ini_read(const char *file, const char *text, size_t n,
                 const struct wf_ini_events *events, void *user,
                 struct wf_problems *problems)
{
    struct reader r = {.events = events,
                       .user = user,
                       .problems = problems,
                       .file = file,
                       .at = text,
                       .end = text + n};
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        r.at += 3;
    if (wf_vendor_ini_parse_stream(next_line, &r, take_setting, &r) == -2) {
        struct wf_place at = {file, r.line, 1};
        wf_problem_add(problems, &at, "out of memory");
        problems->failed = true;
    }
    report_stray(&r);
}

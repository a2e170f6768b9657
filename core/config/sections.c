/* The sections and settings of the file as text, before they are interpreted.
 * Duplicates are errors, because it would be unclear which value counts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/sections.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/ini.h"
#include "config/model.h"
#include "config/search.h"
#include "os/trust.h"

/* Limits far beyond any sane file, which bound the work for a hostile one. */
enum { INCLUDE_DEPTH = 8, SECTIONS_MAX = 4096, SETTINGS_MAX = 256 };

const char *const wf_section_words[WF_SECTION_KINDS] = {
    [WF_SECTION_CORE] = "core",   [WF_SECTION_TRANSPORT] = "transport",
    [WF_SECTION_ROUTE] = "route", [WF_SECTION_HOST] = "host",
    [WF_SECTION_RANK] = "rank",   [WF_SECTION_COLLECTIVES] = "collectives",
};

const char *wf_place_text(struct wf_config *c, const struct wf_place *at)
{
    if (at->line == 0)
        return at->file;
    return wf_arena_format(&c->arena, "%s:%d", at->file, at->line);
}

int wf_section_kind(const char *word)
{
    for (int i = 0; i < WF_SECTION_KINDS; i++) {
        if (strcmp(word, wf_section_words[i]) == 0)
            return i;
    }
    return -1;
}

struct wf_section *wf_section_find(const struct wf_config *c,
                                   enum wf_section_kind kind, const char *name)
{
    struct wf_section *s = c->sections;
    while (s != NULL && (s->kind != kind || !wf_name_equal(s->name, name)))
        s = s->next;
    return s;
}

struct wf_section *wf_section_add(struct wf_config *c,
                                  enum wf_section_kind kind, const char *name,
                                  const struct wf_place *at)
{
    struct wf_section *s = wf_arena_alloc(&c->arena, sizeof *s);
    if (s == NULL)
        return NULL;
    s->kind = kind;
    s->name = wf_arena_copy(&c->arena, name, strlen(name));
    s->at = *at;
    *c->sections_tail = s;
    c->sections_tail = &s->next;
    c->section_count++;
    return s;
}

struct wf_setting *wf_setting_find(const struct wf_section *s, const char *key)
{
    struct wf_setting *setting = s->settings;
    while (setting != NULL && !wf_name_equal(setting->key, key))
        setting = setting->next;
    return setting;
}

void wf_setting_put(struct wf_config *c, struct wf_section *s, const char *key,
                    const char *value, const struct wf_place *at)
{
    struct wf_setting *setting = wf_setting_find(s, key);
    if (setting == NULL) {
        struct wf_setting **tail = &s->settings;
        while (*tail != NULL)
            tail = &(*tail)->next;
        setting = wf_arena_alloc(&c->arena, sizeof *setting);
        if (setting == NULL)
            return;
        setting->key = wf_arena_copy(&c->arena, key, strlen(key));
        *tail = setting;
        s->setting_count++;
    }
    setting->value = wf_arena_copy(&c->arena, value, strlen(value));
    setting->at = setting->value_at = *at;
    setting->where = wf_place_text(c, at);
}

/* Write an earlier place as "line 4", or "file:4" if it is another file. */
static const char *format_earlier_place(const struct wf_place *first,
                                        const struct wf_place *now, char *buf,
                                        size_t n)
{
    if (first->line > 0 && strcmp(first->file, now->file) == 0)
        snprintf(buf, n, "line %d", first->line);
    else if (first->line > 0)
        snprintf(buf, n, "%s:%d", first->file, first->line);
    else
        snprintf(buf, n, "%s", first->file);
    return buf;
}

static bool is_valid_name(enum wf_section_kind kind, const char *name)
{
    const char *more = kind == WF_SECTION_HOST   ? "_-.:[],"
                       : kind == WF_SECTION_RANK ? "-:, "
                                                 : "_-.";
    for (; *name != '\0'; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') ||
                      (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9');
        if (!letter && strchr(more, *name) == NULL)
            return false;
    }
    return true;
}

/* Check the name that a section of this kind must have, or must not have. */
static bool check_name(struct wf_config *c, const struct wf_place *at,
                       enum wf_section_kind kind, const char *name)
{
    const char *word = wf_section_words[kind];
    if (wf_section_has_no_name(kind) && name[0] != '\0')
        wf_problem_add(&c->problems, at, "[%s] has no name; found '%s'", word,
                       name);
    else if (!wf_section_has_no_name(kind) && name[0] == '\0')
        wf_problem_add(&c->problems, at, "[%s] needs a name, as in [%s %s]",
                       word, word, kind == WF_SECTION_RANK ? "0-3" : "a");
    else if (!is_valid_name(kind, name))
        wf_problem_add(&c->problems, at,
                       "'%s' is not a name: letters, digits, '-', '_', '.'",
                       name);
    else
        return true;
    return false;
}

static void on_section(void *user, const struct wf_place *at, const char *word,
                       const char *name)
{
    struct wf_config *c = user;
    int kind = wf_section_kind(word);
    c->current = NULL; /* settings of a refused section are not checked */
    if (kind < 0) {
        struct wf_words words = {.count = 0};
        char hint[256];
        for (int i = 0; i < WF_SECTION_KINDS; i++)
            wf_words_add(&words, wf_section_words[i]);
        wf_problem_add(&c->problems, at, "unknown section kind '%s'%s", word,
                       wf_words_hint(&words, word, hint, sizeof hint));
        return;
    }
    if (!check_name(c, at, (enum wf_section_kind)kind, name))
        return;
    if (c->section_count >= SECTIONS_MAX) {
        wf_problem_add(&c->problems, at, "more than %d sections", SECTIONS_MAX);
        return;
    }
    const struct wf_section *first =
        wf_section_find(c, (enum wf_section_kind)kind, name);
    if (first != NULL) {
        char where[256];
        wf_problem_add(
            &c->problems, at, "section [%s%s%s] stands twice; first at %s",
            word, name[0] != '\0' ? " " : "", name,
            format_earlier_place(&first->at, at, where, sizeof where));
        return;
    }
    c->current = wf_section_add(c, (enum wf_section_kind)kind, name, at);
}

static void on_setting(void *user, const struct wf_place *at, const char *key,
                       const char *value, int value_col)
{
    struct wf_config *c = user;
    if (c->current == NULL)
        return;
    if (c->current->setting_count >= SETTINGS_MAX) {
        wf_problem_add(&c->problems, at, "more than %d keys in one section",
                       SETTINGS_MAX);
        c->current = NULL;
        return;
    }
    const struct wf_setting *first = wf_setting_find(c->current, key);
    if (first != NULL) {
        char where[256];
        wf_problem_add(
            &c->problems, at,
            "key '%s' stands twice in this section; first at %s", key,
            format_earlier_place(&first->at, at, where, sizeof where));
        return;
    }
    wf_setting_put(c, c->current, key, value, at);
    struct wf_setting *setting = wf_setting_find(c->current, key);
    if (setting != NULL)
        setting->value_at.col = value_col;
}

/* Make the path of an included file; it is relative to the file that names
 * it. */
static const char *resolve_include(struct wf_config *c, const char *from,
                                   const char *path)
{
    const char *slash = strrchr(from, '/');
    if (path[0] == '/' || slash == NULL)
        return wf_arena_copy(&c->arena, path, strlen(path));
    return wf_arena_format(&c->arena, "%.*s/%s", (int)(slash - from), from,
                           path);
}

static void on_include(void *user, const struct wf_place *at, const char *path)
{
    struct wf_config *c = user;
    char why[WF_TRUST_WHY_MAX];
    size_t n;
    if (c->includes >= INCLUDE_DEPTH) {
        wf_problem_add(&c->problems, at,
                       "includes are nested more than %d deep", INCLUDE_DEPTH);
        return;
    }
    const char *file = resolve_include(c, at->file, path);
    struct stat st;
    bool odd = stat(file, &st) == 0 && !S_ISREG(st.st_mode); /* may block */
    char *text = odd ? NULL : wf_search_text(c, file, &n, why, sizeof why);
    if (text == NULL && !odd && wf_search_failed_for_lack(c, file, errno, why))
        return;
    if (text == NULL) {
        wf_problem_add(&c->problems, at, "cannot read '%s': %s", file,
                       odd ? "not a regular file" : why);
        return;
    }
    c->includes++;
    wf_sections_read(c, file, text, n);
    c->includes--;
    free(text);
}

void wf_sections_read(struct wf_config *c, const char *file, const char *text,
                      size_t n)
{
    static const struct wf_ini_events events = {on_section, on_setting,
                                                on_include};
    c->current = NULL;
    wf_ini_read(file, text, n, &events, c, &c->problems);
}

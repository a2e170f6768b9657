/* Settings from the environment: WEFT_SET, WEFT_ROUTE, WEFT_LOG, and a warning
 * for every WEFT_ variable that Weft does not read.
 *
 * mpirun --set, --route and so on only set these variables, so every launcher
 * can do what mpirun does.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/override.h"

#include <stdlib.h>
#include <unistd.h>

#include "config/model.h"
#include "config/sections.h"
#include "config/transports.h"
#include "os/trust.h"
#include "report/state_page.h"

extern char **environ;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
    return c == '\0' || c == ';' || c == '\n';
}

/* Whether "kind.something =" begins at `at`. A blank before it then separates
 * two assignments. */
static bool is_assignment_start(const char *at)
{
    char word[16];
    size_t n = strcspn(at, ".");
    if (at[n] != '.' || n >= sizeof word)
        return false;
    memcpy(word, at, n);
    word[n] = '\0';
    if (wf_section_kind(word) < 0)
        return false;
    while (!is_end(at[n]) && !is_blank(at[n]) && at[n] != '=')
        n++;
    while (is_blank(at[n]))
        n++;
    return at[n] == '=';
}

/* The length of the assignment at `at`. */
static size_t length_of_assignment(const char *at)
{
    bool quoted = false;
    size_t n = 0;
    for (; at[n] != '\0' && (quoted || !is_end(at[n])); n++) {
        if (at[n] == '"')
            quoted = !quoted;
        if (!quoted && n > 0 && is_blank(at[n - 1]) &&
            is_assignment_start(at + n))
            break;
    }
    return n;
}

static char *trim_blanks(char *from)
{
    while (is_blank(*from))
        from++;
    size_t n = strlen(from);
    while (n > 0 && is_blank(from[n - 1]))
        from[--n] = '\0';
    return from;
}

static char *strip_quotes(char *value)
{
    size_t n = strlen(value);
    if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
        value[n - 1] = '\0';
        return value + 1;
    }
    return value;
}

/* Find the section that an override is about, or add it if it need not be
 * written; NULL: it must be written, which is reported. */
static struct wf_section *find_or_add_section(struct wf_config *c,
                                              enum wf_section_kind kind,
                                              const char *name,
                                              const struct wf_place *at)
{
    struct wf_section *s = wf_section_find(c, kind, name);
    bool implied =
        wf_section_has_no_name(kind) || kind == WF_SECTION_HOST ||
        kind == WF_SECTION_RANK ||
        (kind == WF_SECTION_TRANSPORT && wf_transport_in_tree(name)) ||
        (kind == WF_SECTION_ROUTE && strcmp(name, "default") == 0);
    if (s == NULL && implied)
        return wf_section_add(c, kind, name, at);
    if (s == NULL) {
        struct wf_words words = {.count = 0};
        char hint[512];
        for (s = c->sections; s != NULL; s = s->next)
            if (s->kind == kind)
                wf_words_add(&words, s->name);
        wf_problem_add(&c->problems, at, "%s '%s' is not defined%s",
                       wf_section_words[kind], name,
                       wf_words_hint(&words, name, hint, sizeof hint));
    }
    return s;
}

/* Apply one "section.key=value" or "kind.name.key=value". */
static void apply_assignment(struct wf_config *c, char *text,
                             const struct wf_place *at)
{
    char *sign = strchr(text, '=');
    char *dot = strchr(text, '.');
    if (sign == NULL || dot == NULL || dot > sign) {
        wf_problem_add(&c->problems, at,
                       "'%s': write section.key=value, as in "
                       "core.spin=10us or transport.tcp.port=7000",
                       text);
        return;
    }
    *sign = *dot = '\0';
    char *kind_word = trim_blanks(text),
         *value = strip_quotes(trim_blanks(sign + 1));
    char *name = dot + 1, *key = strrchr(name, '.');
    int kind = wf_section_kind(kind_word);
    if (key != NULL)
        *key++ = '\0';
    if (kind < 0 && wf_transport_in_tree(kind_word)) {
        wf_problem_add(&c->problems, at, "write transport.%s.%s=%s", kind_word,
                       name, value);
        return;
    }
    if (kind < 0 || wf_section_has_no_name(kind) != (key == NULL)) {
        wf_problem_add(&c->problems, at,
                       kind < 0 ? "'%s' is no kind of section (core, "
                                  "transport, route, host, rank, collectives)"
                       : wf_section_has_no_name(kind)
                           ? "'%s' has no name: write %s.key=value"
                           : "'%s' needs a name: write %s.NAME.key=value",
                       kind_word, kind_word);
        return;
    }
    if (key == NULL) {
        key = name;
        name = key + strlen(key);
    }
    struct wf_section *s = find_or_add_section(c, (enum wf_section_kind)kind,
                                               trim_blanks(name), at);
    if (s != NULL)
        wf_setting_put(c, s, trim_blanks(key), value, at);
}

void wf_override_settings(struct wf_config *c, const char *origin,
                          const char *text)
{
    struct wf_place at = {origin, 0, 0};
    while (*text != '\0') {
        if (is_blank(*text) || is_end(*text)) {
            text++;
            continue;
        }
        size_t n = length_of_assignment(text);
        apply_assignment(c, trim_blanks(wf_arena_copy(&c->arena, text, n)),
                         &at);
        text += n;
    }
}

static void warn_unknown(struct wf_config *c, const char *name)
{
    static const char *const known[] = {
        "WEFT_INI",           "WEFT_SET",
        "WEFT_ROUTE",         "WEFT_LOG",
        "WEFT_PLUGIN_PATH",   "WEFT_LAUNCHER_PLUGINS",
        "WEFT_BOUND_CPUS",    "WEFT_LAUNCHER_INI",
        WF_STATE_VARIABLE,    "WEFT_RANK",
        "WEFT_SIZE",          "WEFT_NODE",
        "WEFT_JOB",           "WEFT_LOCAL_RANK",
        "WEFT_PROCESS_RANKS", "WEFT_INITIAL_ERRHANDLER",
        "WEFT_LAUNCHER_MOVED"};
    enum { ROOM = sizeof c->warnings / sizeof c->warnings[0] };
    struct wf_words words = {.count = 0};
    char hint[512];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], name) == 0)
            return;
        wf_words_add(&words, known[i]);
    }
    if (c->warning_count < ROOM)
        c->warnings[c->warning_count++] = wf_arena_format(
            &c->arena, "environment variable %s is not read by Weft%s", name,
            wf_words_hint(&words, name, hint, sizeof hint));
}

static void check_environment(struct wf_config *c)
{
    for (char **e = wf_trust_caller() ? environ : NULL; e != NULL && *e != NULL;
         e++) {
        char name[64];
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "WEFT_", 5) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = '\0';
        warn_unknown(c, name);
    }
}

/* Add one warning if there are settings of other MPIs, which mean nothing here
 * (W-45). */
void wf_override_warn_of_other_mpi(struct wf_config *c)
{
    static const char *const prefixes[] = {"OMPI_MCA_", "I_MPI_", "MPIR_CVAR_",
                                           "UCX_", "FI_"};
    enum { ROOM = sizeof c->warnings / sizeof c->warnings[0] };
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
            if (strncmp(*e, prefixes[i], strlen(prefixes[i])) != 0 ||
                c->warning_count == ROOM)
                continue;
            c->warnings[c->warning_count++] = wf_arena_format(
                &c->arena,
                "%.*s is a setting of another MPI and means "
                "nothing to Weft; see WEFT_SET in mpi.ini's manual",
                (int)strcspn(*e, "="), *e);
            return;
        }
    }
}

void wf_override_apply(struct wf_config *c)
{
    struct wf_place log_at = {"WEFT_LOG", 0, 0};
    const char *set = wf_trust_getenv("WEFT_SET");
    const char *log = wf_trust_getenv("WEFT_LOG");
    check_environment(c);
    if (set != NULL)
        wf_override_settings(c, "WEFT_SET", set);
    if (log != NULL && log[0] != '\0') {
        struct wf_section *core =
            find_or_add_section(c, WF_SECTION_CORE, "", &log_at);
        if (core != NULL)
            wf_setting_put(c, core, "log", log, &log_at);
    }
}

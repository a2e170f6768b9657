/* [transport] sections: the transport instances, also those that are not
 * written in the file.
 *
 * A file without any [transport] gets self, and shm and tcp if the program has
 * them; a program that has neither gets all plugins that it has. self always
 * exists: a process can always send to itself. thread needs no section either:
 * ranks of one process have it (protocol/endpoints.c). A route may name an
 * in-tree plugin that has no section; it gets one with default values.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/transports.h"

#include "config/model.h"
#include "config/options.h"
#include "config/sections.h"
#include "os/dl.h"

static const char *const in_tree[] = {"self",         "shm",  "tcp",
                                      "udp-reliable", "sctp", "thread"};
enum { PROGRESS_AUTO, PROGRESS_THREAD }; /* of a section: options.def */
enum { IN_TREE = sizeof in_tree / sizeof in_tree[0], UNWRITTEN = 3 };
static const struct wf_place built_in = {"built in", 0, 0};

bool wf_transport_in_tree(const char *name)
{
    for (int i = 0; i < IN_TREE; i++) {
        if (wf_name_equal(in_tree[i], name))
            return true;
    }
    return false;
}

static bool is_in_program(const char *name)
{
    for (const weft_plugin *const *p = weft_builtin; *p != NULL; p++) {
        if (wf_name_equal((*p)->name, name))
            return true;
    }
    return &weft_dl_loader != NULL; /* it may be in a file */
}

static void imply_section(struct wf_config *c, const char *name)
{
    if (wf_section_find(c, WF_SECTION_TRANSPORT, name) == NULL)
        wf_section_add(c, WF_SECTION_TRANSPORT, name, &built_in);
}

static void imply_usual_sections(struct wf_config *c)
{
    bool any = false;
    for (int i = 1; i < UNWRITTEN; i++) {
        if (is_in_program(in_tree[i])) {
            imply_section(c, in_tree[i]);
            any = true;
        }
    }
    for (const weft_plugin *const *p = weft_builtin; !any && *p != NULL; p++)
        if (strcmp((*p)->name, "thread") != 0)
            imply_section(c, (*p)->name);
}

void wf_transports_imply(struct wf_config *c)
{
    bool any = false;
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next)
        any = any || s->kind == WF_SECTION_TRANSPORT;
    imply_section(c, "self");
    if (!any)
        imply_usual_sections(c);
}

static const struct wf_transport_config *append_transport(struct wf_config *c,
                                                          struct wf_section *s)
{
    struct wf_transport_options *o = &c->transport_options[c->transport_count];
    struct wf_transport_config *t = &c->transports[c->transport_count];
    wf_options_fill(s, wf_transport_table, o, &c->problems);
    t->name = s->name;
    t->plugin = o->plugin != NULL && o->plugin[0] != '\0' ? o->plugin : s->name;
    t->path = o->path != NULL && o->path[0] != '\0' ? o->path : NULL;
    t->enable = o->enable;
    t->thread = o->progress == PROGRESS_THREAD;
    t->where = wf_place_text(c, &s->at);
    t->line = s->at.line;
    c->transport_sections[c->transport_count++] = s;
    if (t->enable == 0 && wf_name_equal(t->name, "self"))
        wf_problem_add(&c->problems, &wf_setting_find(s, "enable")->value_at,
                       "self cannot be left out: a process must be able to "
                       "send to itself");
    if (t->thread && wf_name_equal(t->name, "self"))
        wf_problem_add(&c->problems, &wf_setting_find(s, "progress")->value_at,
                       "self has nothing that a thread could wait for: its "
                       "messages arrive in the call that sends them");
    return t;
}

/* self comes first, then the others in the order of the file. */
void wf_transports_build(struct wf_config *c)
{
    size_t most = IN_TREE;
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next)
        most += s->kind == WF_SECTION_TRANSPORT;
    c->transports = wf_arena_alloc(&c->arena, most * sizeof *c->transports);
    c->transport_sections =
        wf_arena_alloc(&c->arena, most * sizeof *c->transport_sections);
    c->transport_options =
        wf_arena_alloc(&c->arena, most * sizeof *c->transport_options);
    if (c->transports == NULL || c->transport_sections == NULL ||
        c->transport_options == NULL) {
        c->transports = NULL;
        return;
    }
    struct wf_section *self = wf_section_find(c, WF_SECTION_TRANSPORT, "self");
    if (self != NULL)
        append_transport(c, self);
    for (struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind == WF_SECTION_TRANSPORT && s != self)
            append_transport(c, s);
    }
    if (c->transport_count > WF_EPS_MAX) {
        struct wf_section *s = c->transport_sections[WF_EPS_MAX];
        wf_problem_add(&c->problems, &s->at,
                       "%d transports; at most %d can be used at a time",
                       c->transport_count, WF_EPS_MAX);
    }
}

bool wf_config_asks_for_threads(const struct wf_config *c)
{
    bool asks = wf_config_core(c)->progress == WF_PROGRESS_THREAD;

    for (int i = 0; i < c->transport_count; i++)
        asks = asks || c->transports[i].thread;
    return asks;
}

static void report_undefined(struct wf_config *c, const char *name,
                             const struct wf_place *at, const char *who)
{
    struct wf_words words = {.count = 0};
    char defined[512];
    size_t used = 0;
    defined[0] = '\0';
    for (int i = 0; i < c->transport_count; i++) {
        const struct wf_transport_config *t = &c->transports[i];
        wf_words_add(&words, t->name);
        if (used < sizeof defined)
            used += (size_t)snprintf(defined + used, sizeof defined - used,
                                     "%s'%s' (%s)", i > 0 ? ", " : "", t->name,
                                     t->where);
    }
    const char *nearest = wf_words_nearest(&words, name);
    wf_problem_add(
        &c->problems, at, "%stransport '%s' is not defined%s%s%s; defined: %s",
        who, name, nearest != NULL ? "; did you mean '" : "",
        nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "", defined);
}

const struct wf_transport_config *wf_transport_named(struct wf_config *c,
                                                     const char *name,
                                                     const struct wf_place *at,
                                                     const char *who)
{
    for (int i = 0; i < c->transport_count; i++) {
        if (wf_name_equal(c->transports[i].name, name))
            return &c->transports[i];
    }
    for (int i = 0; i < IN_TREE && c->transports != NULL; i++) {
        if (wf_name_equal(in_tree[i], name)) {
            struct wf_section *s =
                wf_section_add(c, WF_SECTION_TRANSPORT, in_tree[i], &built_in);
            return s != NULL ? append_transport(c, s) : NULL;
        }
    }
    report_undefined(c, name, at, who);
    return NULL;
}

/* The settings on which the processes of a job must agree, and the origins of
 * values.
 *
 * Options of plugins are left out: an interface name or a buffer size may well
 * differ between hosts. Transports and routes may not: both ends of a pair
 * must come to the same lanes. Nor may [collectives]: all ranks must choose the
 * same algorithm.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/shared.h"

#include <stdio.h>

#include "config/model.h"
#include "config/sections.h"
#include "os/hash.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "little-endian"
#else
#define ORDER "big-endian"
#endif
#define TEXT(number)  #number
#define DIGITS(macro) TEXT(macro) /* the value of the macro as text */
static const char machine[] = ORDER ", long " DIGITS(__SIZEOF_LONG__);

static const char *const shared_core[] = {
#define WF_CORE(key, type, dflt, range, same, help) same ? #key : NULL,
#include "config/options.def"
};

static const char *default_of_core(const char *key)
{
    const weft_option *o = wf_core_table;
    while (o->name != NULL && strcmp(o->name, key) != 0)
        o++;
    return o->dflt != NULL ? o->dflt : "";
}

const char *wf_config_default(const char *key)
{
    for (size_t i = 0; i < sizeof shared_core / sizeof shared_core[0]; i++)
        if (shared_core[i] != NULL && strncmp(key, "core.", 5) == 0 &&
            strcmp(key + 5, shared_core[i]) == 0)
            return default_of_core(shared_core[i]);
    return NULL;
}

static void share_core(const struct wf_config *c, bool set,
                       void (*take)(void *, const char *, const char *),
                       void *user)
{
    char key[64];
    for (size_t i = 0; i < sizeof shared_core / sizeof shared_core[0]; i++) {
        const char *value;
        if (shared_core[i] == NULL)
            continue;
        wf_config_origin(c, "core", shared_core[i], &value);
        if (set && value == NULL)
            continue;
        snprintf(key, sizeof key, "core.%s", shared_core[i]);
        take(user, key,
             value != NULL ? value : default_of_core(shared_core[i]));
    }
}

static void share_rule(const struct wf_config *c, int position,
                       void (*take)(void *, const char *, const char *),
                       void *user)
{
    const struct wf_route_rule *rule = &c->routes[position];
    char list[512], key[32];
    struct wf_words words = {.count = 0};
    for (int i = 0; i < rule->list_count; i++)
        wf_words_add(&words, rule->list[i]);
    snprintf(key, sizeof key, "route.#%d.use", position + 1);
    take(user, key,
         rule->use == WF_USE_AUTO ? "auto"
         : rule->use == WF_USE_NONE
             ? "none"
             : wf_words_list(&words, " ", list, sizeof list));
}

/* Report selectors, sizes and policies of routes, and rules of collectives, as
 * they are written. */
static void share_settings(const struct wf_config *c,
                           void (*take)(void *, const char *, const char *),
                           void *user)
{
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next) {
        for (const struct wf_setting *v = s->settings; v != NULL; v = v->next) {
            char key[160];
            if (s->kind == WF_SECTION_ROUTE)
                snprintf(key, sizeof key, "route.%s.%s", s->name, v->key);
            else if (s->kind == WF_SECTION_COLLECTIVES &&
                     strcmp(v->value, "auto") != 0)
                snprintf(key, sizeof key, "collectives.%s", v->key);
            else
                continue;
            take(user, key, v->value);
        }
    }
}

void wf_config_shared(const struct wf_config *c, bool set,
                      void (*take)(void *user, const char *key,
                                   const char *value),
                      void *user)
{
    take(user, "machine", machine);
    share_core(c, set, take, user);
    for (int i = 0; i < c->transport_count; i++) {
        char key[160];
        snprintf(key, sizeof key, "transport.%s.plugin", c->transports[i].name);
        take(user, key, c->transports[i].plugin);
    }
    share_settings(c, take, user);
    for (int i = 0; i < c->route_count; i++)
        share_rule(c, i, take, user);
}

/* Add a setting to the hash, which finds mistakes, not attacks. The ends of the
 * texts count. */
static void hash_setting(void *user, const char *key, const char *value)
{
    uint64_t *hash = user;

    *hash = wf_hash_bytes(*hash, key, strlen(key) + 1);
    *hash = wf_hash_bytes(*hash, value, strlen(value) + 1);
}

uint64_t wf_config_hash(const struct wf_config *c)
{
    uint64_t hash = WF_HASH_EMPTY;
    wf_config_shared(c, false, hash_setting, &hash);
    return hash;
}

const char *wf_config_origin(const struct wf_config *c, const char *section,
                             const char *key, const char **value)
{
    char word[16] = "";
    size_t n = strcspn(section, " ");
    const struct wf_setting *v = NULL;
    if (n < sizeof word)
        memcpy(word, section, n);
    int kind = wf_section_kind(word);
    const struct wf_section *s =
        kind < 0 ? NULL
                 : wf_section_find(c, (enum wf_section_kind)kind,
                                   section + n + (section[n] == ' '));
    if (s != NULL)
        v = wf_setting_find(s, key);
    if (value != NULL)
        *value = v != NULL ? v->value : NULL;
    return v != NULL ? v->where : "default";
}

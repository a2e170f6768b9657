/* This file keeps published names: see names.h. Names and ports are words as
 * the client has encoded them (core/boot/pmi_word.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot/pmi_line.h"

enum { SERVICE_MOST = 512, PORT_MOST = 2048 };

struct name {
    struct name *next;
    char *owner, *service, *port;
};

struct name_table {
    struct name *first;
};

static struct name **find_name(struct name_table *t, const char *service)
{
    struct name **at = &t->first;

    while (*at && strcmp((*at)->service, service) != 0)
        at = &(*at)->next;
    return at;
}

static void remove_name(struct name **at)
{
    struct name *name = *at;

    *at = name->next;
    free(name->owner);
    free(name->service);
    free(name->port);
    free(name);
}

static bool add_name(struct name_table *t, const char *owner,
                     const char *service, const char *port)
{
    struct name *name = calloc(1, sizeof *name);

    if (!name)
        return false;
    name->next = t->first;
    name->owner = strdup(owner);
    name->service = strdup(service);
    name->port = strdup(port);
    t->first = name;
    if (name->owner && name->service && name->port)
        return true;
    remove_name(&t->first);
    return false;
}

/* ---- requests ------------------------------------------------------------ */

static const char *publish_name(struct name_table *t, const char *owner,
                                const char *service, const char *line)
{
    char port[PORT_MOST];

    if (!wf_pmi_field_copy(line, "port", port, sizeof port))
        return "rc=1 msg=no_port";
    if (*find_name(t, service))
        return "rc=1 msg=key_already_present";
    return add_name(t, owner, service, port) ? "info=ok rc=0 msg=success"
                                             : "rc=1 msg=out_of_memory";
}

static const char *unpublish_name(struct name_table *t, const char *owner,
                                  const char *service)
{
    struct name **at = find_name(t, service);

    if (!*at || strcmp((*at)->owner, owner) != 0)
        return "rc=1 msg=service_not_found";
    remove_name(at);
    return "info=ok rc=0 msg=success";
}

void wf_name_serve(struct name_table **table, const char *owner,
                   const char *line, char *answer, size_t size)
{
    char service[SERVICE_MOST] = "";
    bool good = wf_pmi_field_copy(line, "service", service, sizeof service);
    struct name *found = NULL;

    if (!*table)
        *table = calloc(1, sizeof **table);
    good = good && *table;
    if (wf_pmi_field_is(line, "cmd", "publish_name")) {
        snprintf(answer, size, "cmd=publish_result %s\n",
                 good ? publish_name(*table, owner, service, line)
                      : "rc=1 msg=no_service");
    } else if (wf_pmi_field_is(line, "cmd", "unpublish_name")) {
        snprintf(answer, size, "cmd=unpublish_result %s\n",
                 good ? unpublish_name(*table, owner, service)
                      : "rc=1 msg=no_service");
    } else {
        found = good ? *find_name(*table, service) : NULL;
        snprintf(answer, size, "cmd=lookup_result %s%s\n",
                 found ? "info=ok rc=0 port=" : "rc=1 msg=service_not_found",
                 found ? found->port : "");
    }
}

/* ---- ends ---------------------------------------------------------------- */

static bool belongs_to(const struct name *name, const char *owner)
{
    size_t n = strlen(owner);

    return strncmp(name->owner, owner, n) == 0 &&
           (name->owner[n] == '\0' || name->owner[n] == '.');
}

void wf_name_forget(struct name_table *t, const char *owner)
{
    for (struct name **at = t ? &t->first : NULL; at && *at;) {
        if (belongs_to(*at, owner))
            remove_name(at);
        else
            at = &(*at)->next;
    }
}

void wf_name_free(struct name_table *t)
{
    while (t && t->first)
        remove_name(&t->first);
    free(t);
}

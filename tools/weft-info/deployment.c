/* Facts and assumptions about hosts that are elsewhere: see deployment.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deployment.h"

#include <stdarg.h>

#include "boot/boot.h"
#include "config/addresses.h"
#include "config/sections.h"
#include "os/node.h"

void info_assume(struct info_assumed *all, const char *fmt, ...)
{
    char line[ASSUMED_LEN];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->line[i], line) == 0)
            return;
    if (all->count < ASSUMED_MAX)
        strcpy(all->line[all->count++], line);
}

bool info_is_elsewhere(const struct info_end *from, const struct info_end *to)
{
    char here[256];
    wf_node_name(here, sizeof here);
    return strcmp(from->host, here) != 0 || strcmp(to->host, here) != 0;
}

/* ---- addresses ----------------------------------------------------------- */

/* Copy an address without brackets and port. */
static void copy_bare(char *out, size_t n, const char *text)
{
    bool brackets = text[0] == '[';
    const char *colon = strchr(text, ':');
    size_t len = brackets ? strcspn(text + 1, "]")
                 : colon != NULL && strchr(colon + 1, ':') == NULL
                     ? (size_t)(colon - text)
                     : strlen(text);
    snprintf(out, n, "%.*s", (int)len, text + brackets);
}

/* Find the address that mpi.ini gives an end for transport i. Returns false if
 * it gives none. *own: it is the transport's, not only the host's. */
static bool find_address(const struct info *info, const struct info_end *end,
                         int i, char *address, size_t n, bool *own)
{
    const char *name = info->transport[i].config->name;
    const char *of_host =
        wf_config_host_value(info->config, end->host, "address");
    const char *text =
        end->named
            ? NULL
            : wf_config_address(info->config, end->facts.rank, name, NULL);
    char bare[ADDRESSES_LEN] = "";
    if (text == NULL)
        text = wf_config_host_value(info->config, end->host, name);
    if (of_host != NULL)
        copy_bare(bare, sizeof bare, of_host);
    copy_bare(address, n, text != NULL ? text : bare);
    *own = text != NULL && strcmp(address, bare) != 0;
    return address[0] != '\0';
}

static void add_address(struct info_end *end, const char *address)
{
    size_t used = strlen(end->net);
    snprintf(end->net + used, sizeof end->net - used, "%s%s",
             used > 0 ? "," : "", address);
}

void info_end_addresses(const struct info *info, struct info_end *end)
{
    char address[ADDRESSES_LEN];
    bool own;
    end->net[0] = '\0';
    for (int i = 0; i < info->count; i++)
        if (find_address(info, end, i, address, sizeof address, &own))
            add_address(end, address);
}

/* ---- interfaces ---------------------------------------------------------- */

/* The option `interface` of a transport, or NULL if its plugin has none. */
static const char *find_interface(const struct info *info, int i)
{
    const struct info_transport *t = &info->transport[i];
    const weft_option *o = t->plugin != NULL ? t->plugin->options : NULL;
    const struct wf_setting *set =
        wf_setting_find(info->config->transport_sections[i], "interface");
    if (set != NULL)
        return set->value;
    while (o != NULL && o->name != NULL && strcmp(o->name, "interface") != 0)
        o++;
    return o != NULL && o->name != NULL ? o->dflt : NULL;
}

/* Whether a list holds addresses and subnets only; if so, whether one of them
 * has the address. */
static bool is_numeric(const struct info *info, const char *list,
                       const char *address, bool *inside)
{
    char text[ADDRESSES_LEN], why[200];
    const struct wf_route_end end = {.host = "", .net = address};
    struct wf_select select;
    size_t n = (size_t)snprintf(text, sizeof text, "net:");
    for (const char *at = list + strspn(list, ", \t"); *at != '\0';) {
        size_t len = strcspn(at, ", \t");
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s",
                              n > 4 ? "," : "", (int)len, at);
        if (n >= sizeof text)
            return false;
        at += len + strspn(at + len, ", \t");
    }
    if (!wf_select_parse(&info->config->arena, text, &select, why, sizeof why))
        return false;
    *inside = wf_select_match(&select, &end, &end, NULL, 0);
    return true;
}

/* Whether the host of an end has an interface for transport i. */
static enum {
    THERE,
    ASSUMED,
    OUTSIDE
} find_place(const struct info *info, const struct info_end *end, int i,
             char *address, size_t n)
{
    const char *interface = find_interface(info, i);
    bool own, inside, known = find_address(info, end, i, address, n, &own);
    if (interface == NULL || strcmp(interface, "auto") == 0)
        return known ? THERE : ASSUMED;
    if (!is_numeric(info, interface, address, &inside) || !known)
        return ASSUMED;
    return inside ? THERE : own ? OUTSIDE : ASSUMED;
}

static bool is_network(const struct info_transport *t)
{
    return (t->attr.caps & WEFT_CAP_REMOTE) != 0;
}

/* Whether a static start knows where to call an end whose host the command line
 * names: [host] has to say, or the transport computes it. Addresses that [rank]
 * gives are looked at by info_judge; those of other jobs come when they are
 * met. */
static bool is_called(const struct info *info, int i, const struct info_end *to)
{
    const weft_plugin *plugin = info->transport[i].plugin;
    char address[ADDRESSES_LEN];
    bool own;
    if (!to->named || to->facts.job || !wf_boot_is_static(info->config))
        return true;
    return (plugin != NULL && WEFT_HAS(plugin->ops, weft_ops, addr_derive)) ||
           find_address(info, to, i, address, sizeof address, &own);
}

bool info_deployment_reaches(const struct info *info, int i,
                             const struct info_end *from,
                             const struct info_end *to, char *why, size_t n)
{
    const struct info_end *ends[] = {from, to};
    char address[ADDRESSES_LEN];
    if (!is_called(info, i, to)) {
        snprintf(why, n,
                 "[rank] and [host] give rank %u no address for it, and a "
                 "static start has no others",
                 to->facts.rank);
        return false;
    }
    for (int k = 0; k < 2 && is_network(&info->transport[i]); k++) {
        if (find_place(info, ends[k], i, address, sizeof address) == OUTSIDE) {
            snprintf(why, n,
                     "%s has %.64s for it, which is not in interface = %.100s",
                     ends[k]->host, address, find_interface(info, i));
            return false;
        }
    }
    return true;
}

/* ---- assumptions --------------------------------------------------------- */

/* Describe what an end has: an address that is given, or what is assumed. */
static void describe_place(const struct info *info, const struct info_end *end,
                           int i, char *text, size_t n)
{
    const char *interface = find_interface(info, i);
    char address[ADDRESSES_LEN];
    if (find_place(info, end, i, address, sizeof address) == THERE)
        snprintf(text, n, "%.80s (%.64s)", end->host, address);
    else if (interface == NULL || strcmp(interface, "auto") == 0)
        snprintf(text, n, "%.80s (address not given)", end->host);
    else
        snprintf(text, n, "%.80s (address in interface = %.64s not given)",
                 end->host, interface);
}

void info_deployment_assume(const struct info *info, int i,
                            const struct info_end *from,
                            const struct info_end *to, struct info_assumed *all)
{
    const struct info_transport *t = &info->transport[i];
    char here[200], there[200];
    if (t->assumed)
        info_assume(all, "%s: reaches every process; %s", t->config->name,
                    t->why);
    if (!is_network(t))
        return;
    describe_place(info, from, i, here, sizeof here);
    describe_place(info, to, i, there, sizeof there);
    if (strcmp(from->host, to->host) == 0)
        info_assume(all, "%s: %s can open it", t->config->name, here);
    else
        info_assume(all, "%s: %s and %s can open it and reach each other",
                    t->config->name, here, there);
}

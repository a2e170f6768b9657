/* Finding the plugin of a bootstrap: see bootstrap.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adi/bootstrap.h"

#include <stdio.h>
#include <string.h>

#include "adi/search.h"
#include "os/dl.h"
#include "os/trust.h"

#define BOOT_PREFIX "boot_" /* of a bootstrap's name in that of its file */

int wf_bootstrap_check(const weft_bootstrap *p, const char *name,
                       const char *from, char *err, size_t err_len)
{
    if (p->magic != WEFT_BOOT_MAGIC)
        snprintf(err, err_len, "%s: not a Weft bootstrap (magic %08x)", from,
                 p->magic);
    else if (p->abi != WEFT_BOOT_ABI)
        snprintf(err, err_len,
                 "%s: built for bootstrap ABI %u, this library has %d; rebuild "
                 "it with this weft_bootstrap.h",
                 from, p->abi, WEFT_BOOT_ABI);
    else if (p->size < offsetof(weft_bootstrap, psets))
        snprintf(err, err_len, "%s: its record is too short", from);
    else if (!p->name || strcmp(p->name, name) != 0)
        snprintf(err, err_len, "%s: is bootstrap '%s', not '%s'", from,
                 p->name ? p->name : "(unnamed)", name);
    else if (!p->open || !p->put || !p->get || !p->fence || !p->abort ||
             !p->finalize || !p->close)
        snprintf(err, err_len, "%s: a function is missing", from);
    else
        return 0;
    return WEFT_EINVAL;
}

static int check_record(const void *record, const char *name, const char *from,
                        char *err, size_t err_len)
{
    return wf_bootstrap_check(record, name + strlen(BOOT_PREFIX), from, err,
                              err_len);
}

static const weft_bootstrap *find_builtin(const char *name)
{
    for (const weft_bootstrap *const *p = weft_boot_builtin; *p; p++)
        if (strcmp((*p)->name, name) == 0)
            return *p;
    return NULL;
}

static void describe_failure(const struct wf_search *s, char *err,
                             size_t err_len)
{
    if (!&weft_dl_loader)
        snprintf(err, err_len,
                 "there is none in this program, which has no plugin loader; "
                 "link it with mpicc, and without -static");
    else if (!wf_trust_caller())
        snprintf(err, err_len,
                 "none can be loaded; a set-user-ID program does not show why");
    else
        snprintf(err, err_len, "%s%s",
                 s->there ? "the first that was found cannot be loaded"
                          : "none was found",
                 s->tried);
}

const weft_bootstrap *wf_bootstrap_find(const struct wf_config *config,
                                        const char *name, char *err,
                                        size_t err_len)
{
    struct wf_search s = {.check = check_record};
    const weft_bootstrap *p = find_builtin(name);

    if (p)
        return wf_bootstrap_check(p, name, "built in", err, err_len) ? NULL : p;
    snprintf(s.name, sizeof s.name, BOOT_PREFIX "%s", name);
    snprintf(s.symbol, sizeof s.symbol, "weft_boot_%d_%s", WEFT_BOOT_ABI, name);
    if (&weft_dl_loader)
        wf_search_run(&s, config);
    if (!s.found)
        describe_failure(&s, err, err_len);
    return s.found;
}

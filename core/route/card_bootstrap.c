/* The business cards of the own job, which its bootstrap passes on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "boot/hosted.h"
#include "config/addresses.h"
#include "process/rank.h"
#include "progress/launcher.h"
#include "report/error.h"
#include "report/state.h"
#include "report/state_page.h"
#include "route/card.h"
#include "route/location.h"

enum { CARD_KEY = 32 };

/* Write the key of a card. Each further engine has its own (engines.h). */
static void format_card_key(char key[static CARD_KEY], uint32_t rank,
                            unsigned engine)
{
    int n = snprintf(key, CARD_KEY, "weft.card.%u", rank);

    if (engine)
        snprintf(key + n, CARD_KEY - (size_t)n, ".%u", engine);
}

int wf_card_hand_out(struct wf_instance *wf, const void *card, size_t n)
{
    char key[CARD_KEY];

    format_card_key(key, wf->rank->id, wf->number);
    return wf_launcher_put(wf, key, card, n);
}

/* Take host and node from mpi.ini, because there is no key-value space. */
static int take_host_from_config(struct weft_loc *loc)
{
    struct wf_instance *wf = loc->wf;
    const char *host = wf_config_host(wf->rank->config, loc->id);

    loc->host = strdup(host ? host : "unknown");
    if (!loc->host)
        return WEFT_ENOMEM;
    loc->node = wf_card_host_node(loc->host);
    return 0;
}

static void describe_wait(const void *loc, struct wf_wait *w)
{
    w->operation = WF_STATE_ADDRESS;
    w->process = ((const struct weft_loc *)loc)->id;
}

/* Record why the launcher did not give the card. Its connection has recorded
 * the cause, except for lack of memory. */
static int fail_fetch(const struct weft_loc *loc, int rc)
{
    char why[300];

    snprintf(why, sizeof why, "%.299s",
             rc == WEFT_ENOMEM ? "no memory" : wf_error_last()->text);
    wf_fail(rc == WEFT_ENOMEM ? rc : WEFT_ESYS,
            "the launcher did not give the address of process %u: %s", loc->id,
            why);
    return rc;
}

/* Ranks of one process lend each other their cards. */
static int get_card(struct weft_loc *loc, const char *key)
{
    struct wf_boot *boot = loc->wf->rank->boot;
    void *copy = NULL;
    int r;

    loc->card_lent = wf_boot_hosted_lend(boot, key, &loc->card, &loc->card_len);
    if (loc->card_lent)
        return 0;
    r = wf_launcher_get(loc->wf, key, &copy, &loc->card_len);
    loc->card = copy;
    return r;
}

static int fetch_from_bootstrap(struct weft_loc *loc)
{
    struct wf_wait_cause cause = {describe_wait, loc};
    struct wf_boot *boot = loc->wf->rank->boot;
    struct wf_state_slot *told;
    char key[CARD_KEY];
    int rc;

    format_card_key(key, loc->index, loc->wf->number);
    told = wf_state_begin_wait(loc->wf, &cause);
    rc = get_card(loc, key);
    wf_state_end_wait(told);
    if (rc == WEFT_EUNREACH && boot->awaits &&
        !(boot->is_static && !wf_boot_hosted_has(boot, loc->id))) {
        wf_fail(WEFT_EPEER, "process %u ended before it had called MPI_Init",
                loc->id);
        return rc;
    }
    if (rc == WEFT_EUNREACH)
        return take_host_from_config(loc);
    return rc < 0 ? fail_fetch(loc, rc) : 0;
}

const struct wf_card_source wf_card_bootstrap = {fetch_from_bootstrap};

/* Sealed carriers: handshakes give them their keys.
 *
 *   handshake --wf_rank.on_authenticated--> the carrier has a session
 *   connected --wf_carrier_note_connected--> waiting containers go
 *
 * Shared memory is not sealed. A pair whose route encrypts is connected as soon
 * as a handshake with the peer is done, so that it never accepts anything
 * unencrypted.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_seal.h"

#include "config/config.h"
#include "process/rank.h"
#include "protocol/carrier.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/order.h"
#include "report/error.h"
#include "route/links.h"

int wf_carrier_add_seals(struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++) {
        struct wf_carrier *c = &o->carrier[k];
        if (!wf_endpoint_is_network(c->core))
            continue;
        c->seal = wf_seal_new();
        if (!c->seal)
            return WEFT_ENOMEM;
    }
    return 0;
}

static struct wf_carrier *find_sealed_carrier(struct weft_loc *loc,
                                              const struct weft_core *core)
{
    struct wf_ordered *o = loc->order;
    int k = o ? wf_carrier_index_of(o, core) : -1;

    return k >= 0 && o->carrier[k].seal ? &o->carrier[k] : NULL;
}

void wf_carrier_add_session(struct weft_core *core, uint32_t id,
                    const struct wf_auth_session *session)
{
    struct wf_instance *wf = core->wf;
    struct weft_loc *loc =
        wf_links_place(wf->links, id) ? wf_location(wf, id) : NULL;
    struct wf_carrier *c;

    if (!loc || loc->failed)
        return;
    if (!loc->lanes && wf_location_connect(loc) < 0) {
        wf_location_down(loc, WEFT_EUNREACH, wf_error_last()->text);
        return;
    }
    c = find_sealed_carrier(loc, core);
    if (c && wf_seal_add_session(c->seal, session) < 0)
        wf_log(wf, WF_LOG_WARN, "process %u: no memory for the keys of '%s'",
               id, core->config->name);
}

void wf_carrier_note_connected(struct weft_loc *loc, struct weft_core *core)
{
    struct wf_carrier *c = find_sealed_carrier(loc, core);

    if (!c)
        return;
    if (c->seal->sessions)
        wf_carrier_resume(loc, core);
    else
        wf_carrier_give_up(
            loc->order, wf_carrier_index_of(loc->order, core),
            "it made no handshake, which security = encrypt needs");
}

/* The verdict that a process whose host refuses calls has ended. See carrier.c.
 *
 * DESIGN  A refusal says that there is no listener, and not that there is no
 * process: a socket that was ended from outside is opened again only when its
 * process is in MPI, which may compute or wait for a CPU; a listener that lacks
 * descriptors is replaced; and a firewall between two hosts refuses as well.
 * The launcher, which has started the process, knows. It is asked repeatedly,
 * for a process may be dead before the launcher has seen it. While the launcher
 * says that the process runs, refusals mean nothing, and the route's timeout
 * counts. Without an answer the process counts as gone when it has refused
 * several calls and nothing has contradicted them for GONE_NS: the calls alone
 * are too quick, and the time alone is no proof if this process itself had no
 * CPU.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_gone.h"

#include "boot/boot.h"
#include "protocol/order.h"
#include "route/location.h"

#define GONE_NS 1000000000u
#define ASK_NS  100000000u
enum { REFUSED = 5 }; /* calls */

/* The state that the launcher has told, and a new question if one is due. Only
 * the first engine of a rank talks to the launcher. */
static enum wf_boot_state ask_launcher(struct wf_ordered *o, uint64_t now)
{
    struct wf_instance *wf = o->loc->wf;
    struct wf_boot *b = wf->boot;

    if (!b || !b->ops->ask_state || wf_home(wf) != wf)
        return WF_BOOT_UNKNOWN;
    b->ops->hear(b);
    if (now >= o->ask_at) {
        o->ask_at = now + ASK_NS;
        b->ops->ask_state(b, o->loc->id);
    }
    return b->states ? b->states[o->loc->id] : WF_BOOT_UNKNOWN;
}

static bool has_refused(const struct wf_ordered *o)
{
    for (int k = 0; k < o->carriers; k++)
        if (o->carrier[k].gone && o->carrier[k].failed_tries >= REFUSED)
            return true;
    return false;
}

bool wf_carrier_gone(struct wf_ordered *o, uint64_t now)
{
    enum wf_boot_state state = o->gone_at ? ask_launcher(o, now) : WF_BOOT_RUNS;

    if (state != WF_BOOT_UNKNOWN)
        return state == WF_BOOT_ENDED;
    return now >= o->gone_at + GONE_NS && has_refused(o);
}

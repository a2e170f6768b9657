/* The communicator of two roots: see bridge.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/bridge.h"

#include <stdlib.h>

#include "boot/auth_inside.h"
#include "crypto/vendor.h"
#include "group/comm.h"
#include "meet/port_name.h"
#include "object/error.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/location.h"

uint64_t wf_bridge_id(const unsigned char *key)
{
    static const unsigned char label[] = "weft meeting 1";
    unsigned char mac[WF_TOKEN];

    wf_vendor_crypto_auth_hmacsha256(mac, label, sizeof label, key);
    return wf_auth_get_u64(mac);
}

struct wf_comm *wf_bridge_make(struct wf_instance *home, uint32_t other,
                               const unsigned char *key)
{
    uint32_t *procs = malloc(2 * sizeof *procs);
    uint32_t context = (uint32_t)(wf_bridge_id(key) >> 40);
    bool first = wf_job_precedes(&home->rank->job, home->rank->id, other);
    struct wf_group *g = NULL;
    struct wf_comm *comm;

    if (procs && wf_location(home, other)) {
        procs[!first] = home->rank->id;
        procs[first] = other;
        g = wf_group_create(home, 2, procs);
    } else {
        free(procs);
    }
    comm = g ? wf_comm_create(home, g, NULL, context, context) : NULL;
    if (!comm)
        wf_error(MPI_ERR_NO_MEM, "no memory for a communicator");
    return comm;
}

void wf_bridge_free(struct wf_comm *comm)
{
    if (!comm)
        return;
    /* its context id was never taken from the pool */
    wf_comm_set_context(comm, WF_CONTEXT_NONE, WF_CONTEXT_NONE);
    wf_comm_put(comm);
}

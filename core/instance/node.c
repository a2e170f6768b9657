/* The node of this rank: its name, its CPUs, and the ranks that share it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "boot/boot.h"
#include "config/addresses.h"
#include "os/node.h"
#include "process/rank.h"
#include "report/error.h"
#include "route/card.h"

/* Count the ranks that share this node, as far as the launcher knows. */
static void count_local_ranks(struct wf_instance *wf)
{
    const uint32_t *node = wf->rank->boot->node_of;

    wf->rank->local_index = 0;
    wf->rank->local_count = 1;
    if (!node)
        return;
    wf->rank->local_count = 0;
    for (uint32_t i = 0; i < wf->rank->nprocs; i++) {
        if (node[i] != node[wf->rank->id])
            continue;
        wf->rank->local_count++;
        wf->rank->local_index += i < wf->rank->id;
    }
}

int wf_find_node_and_cpus(struct wf_instance *wf)
{
    const char *host = wf_config_host(wf->rank->config, wf->rank->id);

    if (!wf_node_id(&wf->rank->node)) {
        int r = errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
        return wf_fail(r, "cannot read the boot id of this machine: %s",
                       strerror(errno));
    }
    wf_node_name(wf->rank->host, sizeof wf->rank->host);
    if (host && strcmp(wf->rank->boot->ops->name, "static") == 0) {
        snprintf(wf->rank->host, sizeof wf->rank->host, "%s", host);
        wf->rank->node = wf_card_host_node(host);
    }
    count_local_ranks(wf);
    if (wf->rank->boot->one_host) { /* the nodes of `mpirun --nodes` share it */
        wf->rank->local_count = wf->rank->nprocs;
        wf->rank->local_index = wf->rank->id;
    }
    wf->rank->own_cpus = wf_node_own_cpus();
    wf->rank->cpus =
        wf->rank->local_count > 1 ? wf_node_cpus() : wf->rank->own_cpus;
    return 0;
}

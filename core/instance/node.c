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
#include "process/instance.h"
#include "report/error.h"
#include "route/card.h"

/* Count the ranks that share this node, as far as the launcher knows. */
static void count_local_ranks(struct wf_instance *wf)
{
    const uint32_t *node = wf->boot->node_of;

    wf->local_index = 0;
    wf->local_count = 1;
    if (!node)
        return;
    wf->local_count = 0;
    for (uint32_t i = 0; i < wf->nprocs; i++) {
        if (node[i] != node[wf->rank])
            continue;
        wf->local_count++;
        wf->local_index += i < wf->rank;
    }
}

int wf_find_node_and_cpus(struct wf_instance *wf)
{
    const char *host = wf_config_host(wf->config, wf->rank);

    if (!wf_node_id(&wf->node)) {
        int r = errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
        wf_error(wf_error_class(r),
                 "cannot read the boot id of this machine: %s",
                 strerror(errno));
        return r;
    }
    wf_node_name(wf->host, sizeof wf->host);
    if (host && strcmp(wf->boot->ops->name, "static") == 0) {
        snprintf(wf->host, sizeof wf->host, "%s", host);
        wf->node = wf_card_host_node(host);
    }
    count_local_ranks(wf);
    if (wf->boot->one_host) { /* the nodes of `mpirun --nodes` share it */
        wf->local_count = wf->nprocs;
        wf->local_index = wf->rank;
    }
    wf->own_cpus = wf_node_own_cpus();
    wf->cpus = wf->local_count > 1 ? wf_node_cpus() : wf->own_cpus;
    return 0;
}

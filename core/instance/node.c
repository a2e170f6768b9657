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
static void count_local_ranks(struct wf_rank *rank)
{
    const uint32_t *node = rank->boot->node_of;

    rank->local_index = 0;
    rank->local_count = 1;
    if (!node)
        return;
    rank->local_count = 0;
    for (uint32_t i = 0; i < rank->job.size; i++) {
        if (node[i] != node[rank->id])
            continue;
        rank->local_count++;
        rank->local_index += i < rank->id;
    }
}

int wf_find_node_and_cpus(struct wf_rank *rank)
{
    const char *host = wf_config_host(rank->config, rank->id);

    if (!wf_node_id(&rank->node)) {
        int r = errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
        return wf_fail(r, "cannot read the boot id of this machine: %s",
                       strerror(errno));
    }
    wf_node_name(rank->host, sizeof rank->host);
    if (host && rank->boot->is_static) {
        snprintf(rank->host, sizeof rank->host, "%s", host);
        rank->node = wf_card_host_node(host);
    }
    count_local_ranks(rank);
    if (rank->boot->one_host) { /* the nodes of `mpirun --nodes` share it */
        rank->local_count = rank->job.size;
        rank->local_index = rank->id;
    }
    rank->own_cpus = wf_node_own_cpus();
    rank->cpus = rank->local_count > 1 ? wf_node_cpus() : rank->own_cpus;
    return 0;
}

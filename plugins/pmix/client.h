/* The PMIx client, shared by its files.
 *
 *   client.c   connection, values, the fence, the end
 *   nodes.c    which process is on which node
 *   psets.c    the process sets that the server has
 *   spawn.c    starting processes as a new job
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PMIX_CLIENT_H
#define WF_PMIX_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <pmix.h>

#include "weft_bootstrap.h"

struct weft_boot {
    const weft_boot_host *host;
    pmix_proc_t me;
    uint32_t count;          /* processes of the job */
    bool connected;          /* PMIx_Init has been called, PMIx_Finalize not */
    long handler;            /* of the loss of the server; -1: none */
    bool fresh;              /* something was put since the last fence */
    pmix_info_t collect;     /* of the fence; it is read until that ends */
    _Atomic bool has_fenced; /* a fence has ended */
};

/* Set an attribute that is true or false, or the name of something. */
void wf_pmix_set_flag(pmix_info_t *, const char *key, bool value);

/* Fill in job->node_of and job->nodes, or leave both 0 if the server does not
 * say where each process is. WEFT_ENOMEM. */
int wf_pmix_find_nodes(const struct weft_boot *, weft_boot_job *job);

/* Take the port of the parent of this job, from malloc(), or NULL. WEFT_ENOMEM.
 */
int wf_pmix_take_parent(char **port);

/* weft_bootstrap.spawn. */
int wf_pmix_spawn(struct weft_boot *, const weft_boot_spawn *,
                  weft_boot_error *);

/* weft_bootstrap.psets. */
int wf_pmix_list_psets(struct weft_boot *, weft_boot_pset **);

#endif

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

enum { JOBS = 16 /* spawned jobs, the last ones, that are remembered */ };

struct weft_boot {
    const weft_boot_host *host;
    pmix_proc_t me;
    uint32_t count;          /* processes of the job */
    bool connected;          /* PMIx_Init has been called, PMIx_Finalize not */
    long handler;            /* of the loss of the server; -1: none */
    bool fresh;              /* something was put since the last fence */
    pmix_info_t collect;     /* of the fence; it is read until that ends */
    _Atomic bool has_fenced; /* a fence has ended */
    int jobs;                /* that were spawned; their numbers begin at 1 */
    char *spaces[JOBS];      /* the name of job j at j % JOBS; NULL: unknown */
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

/* weft_bootstrap.has_ended. */
int wf_pmix_has_ended(struct weft_boot *, int job);

/* Forget the jobs that were spawned. */
void wf_pmix_forget_jobs(struct weft_boot *);

/* Ask the server one question. Returns its answers, *n of them, for
 * PMIX_INFO_FREE; or NULL. */
pmix_info_t *wf_pmix_ask_query(const char *key, pmix_info_t *qualifier,
                               size_t *n);

/* Returns the answer to a question for this key, or NULL. */
const pmix_value_t *wf_pmix_find_answer(const pmix_info_t *answers, size_t n,
                                        const char *key, pmix_data_type_t);

/* weft_bootstrap.psets. */
int wf_pmix_list_psets(struct weft_boot *, weft_boot_pset **);

#endif

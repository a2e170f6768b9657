/* This file fills the key-value space of a job before its ranks start.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "job.h"
#include "kvs.h"
#include "pmi_key.h"
#include "pmi_server.h"
#include "spawn_request.h"

static int put_value(struct job *job, const char *key, const char *value)
{
    return wf_kvs_put(job->kvs, key, value, strlen(value));
}

int wf_pmi_serve(struct job *job)
{
    char text[PMI_VALLEN];
    if (!(job->kvs = wf_kvs_create()))
        return -1;
    bool apart = wf_host_elsewhere(&job->hosts);
    if (wf_pmi_make_key(job) < 0 ||
        put_value(job, "weft.hosts", apart ? "0,await" : "1,await") < 0)
        return -1;
    for (int i = 0; job->spawned && i < job->spawned->preput.count; i++)
        if (put_value(job, job->spawned->preput.list[i].key,
                      job->spawned->preput.list[i].value) < 0)
            return -1;
    /* it is a hint, which may be too long */
    return wf_node_map_text(job, text, sizeof(text))
               ? put_value(job, "PMI_process_mapping", text)
               : 0;
}

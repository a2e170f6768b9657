/* This file makes and wipes the job key: see pmi_key.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pmi_key.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "os/base64.h"
#include "job.h"
#include "os/secret.h"

int wf_pmi_make_key(struct job *job)
{
    static const char head[] = "cmd=get_result rc=0 msg=success value=";
    struct job_key *key = job->key = wf_secret_alloc(sizeof(*key));
    if (!key)
        return -1;
    if (getrandom(key->bytes, sizeof(key->bytes), 0) !=
        (ssize_t)sizeof(key->bytes)) {
        wf_job_say(job, "no random bytes for the job key: %s", strerror(errno));
        return -1;
    }
    memcpy(key->line, head, sizeof(head));
    wf_base64_encode(key->line + sizeof(head) - 1, key->bytes,
                     sizeof(key->bytes));
    explicit_bzero(key->bytes, sizeof(key->bytes));
    key->n = sizeof(head) - 1 + wf_base64_len(JOB_KEY_BYTES);
    key->line[key->n++] = '\n';
    return 0;
}

void wf_pmi_forget_key(struct job *job)
{
    wf_secret_free(job->key, sizeof(*job->key));
    job->key = NULL;
}

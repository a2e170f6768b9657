/* This file serves requests for published names: see pmi_names.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pmi_names.h"

#include <stdio.h>
#include <string.h>

#include "job.h"
#include "names.h"
#include "pmi_server.h"

enum { OWNER_MOST = 128, ANSWER_MOST = 2200 };

static void name_owner(const struct rank *r, char owner[OWNER_MOST])
{
    snprintf(owner, OWNER_MOST, "r%d", r->index);
}

void wf_pmi_name(struct job *job, struct rank *r, const char *line)
{
    char owner[OWNER_MOST], answer[ANSWER_MOST];

    name_owner(r, owner);
    wf_name_serve(&job->names, owner, line, answer, sizeof answer);
    wf_pmi_send(job, r, answer, strlen(answer));
}

void wf_pmi_forget_names(struct job *job, const struct rank *r)
{
    char owner[OWNER_MOST];

    name_owner(r, owner);
    wf_name_forget(job->names, owner);
}

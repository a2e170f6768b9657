/* This file serves requests for published names: see pmi_names.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "pmi_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child_job.h"
#include "job.h"
#include "name_client.h"
#include "names.h"
#include "pmi_server.h"
#include "spawned_job.h"

enum { ANSWER_MOST = 2200 };

static void send_up(struct job *job, enum frame_type type, const char *owner,
                    const char *line)
{
    char *text;

    if (asprintf(&text, "%s %s", owner, line) < 0)
        return;
    wf_spawned_send(job, type, text);
    free(text);
}

void wf_name_request(struct job *job, const char *owner, const char *line)
{
    char answer[ANSWER_MOST];

    if (job->parent) {
        send_up(job, FRAME_NAME, owner, line);
        return;
    }
    if (wf_name_client_ask(job, owner, line))
        return;
    wf_name_serve(&job->names, owner, line, answer, sizeof answer);
    wf_name_deliver(job, owner, answer);
}

void wf_name_drop(struct job *job, const char *owner)
{
    if (job->parent) {
        send_up(job, FRAME_FORGET, owner, "");
    } else {
        wf_name_forget(job->names, owner);
        wf_name_client_forget(job, owner);
    }
}

void wf_name_deliver(struct job *job, const char *owner, const char *answer)
{
    const char *rest = strchr(owner, '.');
    struct rank *r;
    char *text;

    if (owner[0] == 'j' && rest &&
        asprintf(&text, "%s %s", rest + 1, answer) >= 0) {
        wf_child_send_name(job, atoi(owner + 1), text);
        free(text);
    } else if (owner[0] == 'r') {
        r = wf_map_rank(job, atoi(owner + 1));
        if (r && r->pmi_open)
            wf_pmi_send(job, r, answer, strlen(answer));
    }
}

static void name_owner(const struct rank *r, char owner[NAME_OWNER_MOST])
{
    snprintf(owner, NAME_OWNER_MOST, "r%d", r->index);
}

void wf_pmi_name(struct job *job, struct rank *r, const char *line)
{
    char owner[NAME_OWNER_MOST];

    r->has_names = true;
    name_owner(r, owner);
    wf_name_request(job, owner, line);
}

void wf_pmi_forget_names(struct job *job, struct rank *r)
{
    char owner[NAME_OWNER_MOST];

    if (!r->has_names)
        return;
    r->has_names = false;
    name_owner(r, owner);
    wf_name_drop(job, owner);
}

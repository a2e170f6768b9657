/* This file handles frames about ranks on other hosts: see remote.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* ---- to them ------------------------------------------------------------- */

void wf_remote_more(struct job *job, const struct rank *r, int stream, size_t n)
{
    char data[5] = {(char)stream};

    wf_number_write(data + 1, (uint32_t)n);
    wf_link_send(job, r->host, FRAME_MORE, r->index, data, sizeof data);
}

void wf_remote_shut(struct job *job, const struct rank *r, int stream)
{
    char number = (char)stream;

    wf_link_send(job, r->host, FRAME_SHUT, r->index, &number, 1);
}

void wf_remote_input(struct job *job, const struct rank *r, const char *data,
                     size_t n)
{
    wf_link_send(job, r->host, FRAME_IN, r->index, data, n);
}

/* ---- from them ----------------------------------------------------------- */

/* Take pairs of index and pid. */
static void take_started(struct job *job, const struct host *h,
                         const struct frame *f)
{
    for (size_t at = 0; at + 8 <= f->len; at += 8) {
        struct rank *r = wf_map_rank(job, (int)wf_number_read(f->data + at));
        if (!r || r->host != h || r->ended)
            continue;
        r->pid = (pid_t)wf_number_read(f->data + at + 4);
        if (job->set.verbose)
            wf_job_say(job, "rank %d is %s on host %s, pid %d", r->id,
                       r->app->argv[0], h->name, (int)r->pid);
    }
}

/* Take four bytes of status and a sentence. */
static void take_failed(struct job *job, const struct host *h,
                        const struct frame *f)
{
    if (f->len < 4 || job->phase != PHASE_RUN)
        return;
    wf_job_say(job, "host %s: %.*s", h->name, (int)(f->len - 4), f->data + 4);
    if (job->exit_code < 0)
        job->exit_code = (int)(wf_number_read(f->data) & 0xff);
    wf_end_begin(job, SIGTERM);
}

static void take_of_rank(struct job *job, struct rank *r, const struct frame *f)
{
    if (f->type == FRAME_OUT)
        wf_io_take(job, &r->out, f->data, f->len);
    else if (f->type == FRAME_ERR)
        wf_io_take(job, &r->err, f->data, f->len);
    if (r->ended)
        return; /* processes that it has left behind still write */
    switch (f->type) {
    case FRAME_PMI:
        wf_pmi_take(job, r, f->data, f->len);
        break;
    case FRAME_MORE:
        if (f->len == 4)
            wf_stdin_add_credit(job, r, wf_number_read(f->data));
        break;
    case FRAME_STATE:
        wf_state_report_take(job, r, f->data, f->len);
        break;
    case FRAME_ENDED:
        if (f->len == 4)
            wf_end_remote_process(job, r, (int)wf_number_read(f->data));
        break;
    default:
        break;
    }
}

/* Take a count, so many nodes, and a sentence. */
static void take_lost(struct job *job, const struct link *l,
                      const struct frame *f)
{
    size_t n = f->len < 4 ? 0 : wf_number_read(f->data);
    char why[700];

    if (f->len < 4 || n > (f->len - 4) / 4)
        return;
    for (size_t i = 0; i < n; i++) {
        int node = (int)wf_number_read(f->data + 4 + 4 * i);
        struct host *h = wf_host_of_node(&job->hosts, node);
        if (h && h->link == l)
            h->lost = true;
    }
    snprintf(why, sizeof why, "%.*s", (int)(f->len - 4 - 4 * n),
             f->data + 4 + 4 * n);
    wf_end_lost(job, why);
}

void wf_remote_take(struct job *job, struct link *l, struct frame *f)
{
    struct host *h = wf_host_of_node(&job->hosts, f->node);
    struct rank *r;

    if (!h || h->link != l || h->lost)
        return; /* a frame of a host that is not behind this link */
    if (job->up) {
        wf_channel_send(job, job->up, f->type, f->node, f->rank, f->data,
                        f->len);
        return;
    }
    if (f->type == FRAME_STARTED) {
        take_started(job, h, f);
    } else if (f->type == FRAME_FAILED) {
        take_failed(job, h, f);
    } else if (f->type == FRAME_LOST) {
        take_lost(job, l, f);
    } else if (f->type == FRAME_SETTLED) {
        wf_end_settled(job);
    } else {
        r = wf_map_rank(job, f->rank);
        if (r && r->host == h)
            take_of_rank(job, r, f);
    }
}

/* ---- lost ---------------------------------------------------------------- */

/* Send the loss to the parent in the form that take_lost reads. */
static void send_lost(struct job *job, const struct link *l, const char *why)
{
    size_t size = 4 + 4 * (size_t)job->hosts.count + strlen(why), at = 4;
    char *data = malloc(size);
    uint32_t n = 0;

    if (!data)
        return;
    for (int i = 0; i < job->hosts.count; i++)
        if (job->hosts.all[i].link == l) {
            wf_number_write(data + at, (uint32_t)job->hosts.all[i].node);
            at += 4;
            n++;
        }
    wf_number_write(data, n);
    memcpy(data + at, why, strlen(why));
    wf_channel_send(job, job->up, FRAME_LOST, job->hosts.all[0].node, 0, data,
                    at + strlen(why));
    free(data);
}

void wf_remote_lost(struct job *job, struct link *l, const char *why)
{
    for (int i = 0; i < job->hosts.count; i++)
        if (job->hosts.all[i].link == l)
            job->hosts.all[i].lost = true;
    if (job->up)
        send_lost(job, l, why);
    else
        wf_end_lost(job, why);
}

/* This file writes the state of a rank as a sentence. See state_report.h.
 *
 *   MPI_Recv on 'MPI_COMM_WORLD' from rank 0, tag 7, 4096 bytes
 *   MPI_Waitall for 2 of 3 requests, the first a receive on 'ocean' from
 *   rank 1 (rank 5 of the job), any tag, 8 bytes
 *   computes (no MPI call waits)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "state_report.h"

struct text {
    char *at;
    size_t left;
};

static void put_format(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void put_format(struct text *t, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->at, t->left, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

static bool starts_with(const char *call, const char *with)
{
    return strncmp(call, with, strlen(with)) == 0;
}

/* Name the operation of a call that may be about any one. */
static void put_operation(struct text *t, const struct rank_state *w)
{
    static const char *const nouns[WF_STATE_OPERATIONS] = {
        [WF_STATE_SEND] = "a send", [WF_STATE_SSEND] = "a synchronous send",
        [WF_STATE_RECV] = "a receive",
        [WF_STATE_COLLECTIVE] = "an operation of several messages",
        [WF_STATE_GENERALIZED] = "a generalized request"};
    bool asks = starts_with(w->call, "MPI_Wait") ||
                starts_with(w->call, "MPI_Test") ||
                starts_with(w->call, "MPI_Request") ||
                starts_with(w->call, "MPI_Sendrecv");

    if (w->count)
        put_format(t,
                   w->operation == WF_STATE_REQUESTS
                       ? " for any of %llu requests"
                       : " for %llu of %llu requests",
                   (unsigned long long)w->active, (unsigned long long)w->count);
    if (asks && nouns[w->operation])
        put_format(t, "%s %s", w->count ? ", the first" : " for",
            nouns[w->operation]);
}

static void put_comm(struct text *t, const struct rank_state *w)
{
    if (w->context && w->comm[0])
        put_format(t, " on '%s'", w->comm);
    else if (w->context)
        put_format(t, " on an unnamed communicator (context %llu)",
            (unsigned long long)w->context - 1);
}

/* Name the peer in the communicator, and its rank in the job. */
static void put_peer(struct text *t, const struct job *job,
                     const struct rank_state *w, const char *before)
{
    if (w->peer == INT64_MAX)
        return;
    if (w->peer == WF_STATE_ANY)
        put_format(t, "%s any rank", before);
    else
        put_format(t, "%s rank %lld", before, (long long)w->peer);
    if (w->peer >= 0 && w->world_rank >= 0 && w->world_rank < job->size &&
        w->world_rank != w->peer)
        put_format(t, " (rank %lld of the job)", (long long)w->world_rank);
}

static void put_tag(struct text *t, const struct rank_state *w)
{
    if (w->tag == WF_STATE_ANY)
        put_format(t, ", any tag");
    else if (w->tag >= 0 && w->tag != INT64_MAX)
        put_format(t, ", tag %lld", (long long)w->tag);
    if (w->bytes != WF_STATE_NOT_KNOWN)
        put_format(t, ", %llu bytes", (unsigned long long)w->bytes);
}

static void put_details(struct text *t, const struct job *job,
                        const struct rank_state *w, bool brief)
{
    switch (w->operation) {
    case WF_STATE_SEND:
    case WF_STATE_SSEND:
        put_peer(t, job, w, " to");
        put_tag(t, w);
        break;
    case WF_STATE_RECV:
        put_peer(t, job, w, " from");
        put_tag(t, w);
        break;
    case WF_STATE_PROBE:
        put_peer(t, job, w, " for a message from");
        put_tag(t, w);
        break;
    case WF_STATE_COLLECTIVE:
        if (w->number)
            put_format(t, ", collective %llu", (unsigned long long)w->number);
        if (!brief)
            put_peer(t, job, w, ", needs");
        break;
    case WF_STATE_BUFFER:
        put_format(t, " until the buffered messages have left");
        break;
    case WF_STATE_ADDRESS:
        if (w->world_rank >= 0 && w->world_rank < job->size)
            put_format(t, " until rank %lld has entered MPI_Init",
                       (long long)w->world_rank);
        break;
    case WF_STATE_END:
        put_format(t, " until every rank has called it");
        break;
    case WF_STATE_ACCEPT:
        if (starts_with(w->call, "MPI_Comm_spawn"))
            put_format(t, " until the spawned processes have called MPI_Init");
        else
            put_format(t, " until a client connects to port '%s'", w->comm);
        break;
    case WF_STATE_CONNECT:
        put_format(t, " until the server of port '%s' accepts", w->comm);
        break;
    default:
        break;
    }
}

static void put_call(struct text *t, const struct job *job,
                     const struct rank *r, const struct rank_state *w,
                     bool brief)
{
    put_format(t, "%s%s",
               w->kind == WF_STATE_POLLS ? "asks again and again: " : "",
               w->call[0] ? w->call : "a call of MPI");
    put_operation(t, w);
    put_comm(t, w);
    put_details(t, job, w, brief);
    if (w->operation == WF_STATE_START && r->awaited_rank >= 0)
        put_format(t, " until rank %d has entered it", r->awaited_rank);
    else if (w->operation == WF_STATE_START && r->in_barrier)
        put_format(t, " until every rank has entered it");
}

/* Describe a rank of which no call waits. */
static void put_idle(struct text *t, const struct rank *r,
                     const struct rank_state *w)
{
    if (r->ended)
        put_format(t, "has ended with status %d", r->status);
    else if (!w->entered &&
             (r->pmi_init || (r->state_page < 0 && !r->remote_page)))
        put_format(t,
                   "says nothing (another version of Weft, or another MPI?)");
    else if (!w->entered || w->phase == WF_STATE_BEFORE)
        put_format(t, "has not called MPI_Init");
    else if (w->phase == WF_STATE_FINALIZED)
        put_format(t, "has called MPI_Finalize");
    else if (w->phase == WF_STATE_BETWEEN)
        put_format(t, "has finalized its last session");
    else
        put_format(t, "computes (no MPI call waits%s)",
            w->dropped ? ", or one of too many threads" : "");
}

static void put_process(struct text *t, const struct rank_state *w)
{
    static const struct {
        char state;
        bool always;
        const char *text;
    } states[] = {{'T', true, "stopped by a signal"},
                  {'t', true, "stopped by a debugger"},
                  {'D', true, "blocked in the kernel"},
                  {'Z', true, "dead"},
                  {'R', false, "running"},
                  {'S', false, "asleep"}};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (w->process == states[i].state &&
            (states[i].always || w->kind == WF_STATE_FREE))
            put_format(t, "; the process is %s", states[i].text);
}

void wf_state_report_text(const struct job *job, const struct rank *r,
                          const struct rank_state *w, bool brief, char *text,
                          size_t size)
{
    struct text t = {text, size};

    text[0] = 0;
    if (r->page_requested)
        put_format(&t, "the other host does not answer; last known: ");
    if (w->kind == WF_STATE_FREE || r->ended)
        put_idle(&t, r, w);
    else
        put_call(&t, job, r, w, brief);
    if (!r->ended)
        put_process(&t, w);
}

/* The report of unfinished operations when a program ends: receives that no
 * message came for, messages that were not received, sends that were not
 * accepted, operations of other chapters. Each is a line for core.log = info.
 * An unfinished operation is a mistake where the program could have completed
 * it (MPI-5.0 s11.2.2), and none where no process wants the message, so that it
 * is no error. Memory that an operation of another chapter holds is not freed,
 * so that a tool that looks for leaks finds it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/unfinished.h"

#include "config/config.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/queues.h"
#include "protocol/request.h"
#include "report/error.h"

enum { LINES_MAX = 8 /* lines of an engine */, POLLS = 64 };

struct tally {
    struct wf_instance *wf;
    unsigned found;
};

struct envelope {
    const char *what;
    int rank, tag;
    uint64_t bytes;
    const char *comm; /* name of the communicator, or "" */
};

static void log_line(struct tally *t, const char *what, const char *comm)
{
    if (t->found++ < LINES_MAX)
        wf_log(t->wf, WF_LOG_INFO, "unfinished at the end: a %s%s%s", what,
               *comm ? " on " : "", comm);
}

static void log_envelope(struct tally *t, const struct envelope *e)
{
    char rank[32] = "any rank", tag[32] = "any tag", text[128];

    if (e->rank >= 0)
        sprintf(rank, "rank %d", e->rank);
    if (e->tag >= 0)
        sprintf(tag, "tag %d", e->tag);
    sprintf(text, "%s %s with %s, %llu bytes", e->what, rank, tag,
            (unsigned long long)e->bytes);
    log_line(t, text, e->comm);
}

static void log_request(struct tally *t, const char *what, struct wf_p2p *p)
{
    if (p->space == WF_SPACE_P2P)
        log_envelope(t, &(struct envelope){what, p->peer, p->tag, p->bytes,
                                           p->req.comm->name});
}

static void log_posted(struct wf_posted *r, void *arg)
{
    struct wf_p2p *p = wf_container(r, struct wf_p2p, posted);

    wf_p2p_expand(p);
    log_request(arg, "receive from", p);
}

static bool log_stored(struct wf_arrived *a, void *arg)
{
    const struct wf_message *m = wf_container(a, struct wf_message, arrived);

    if (a->env0 >> 56 == WF_SPACE_P2P)
        log_envelope(arg,
                     &(struct envelope){"message from", wf_env_source(a->env1),
                                        wf_env_tag(a->env1), m->length, ""});
    return true;
}

static void log_sends(struct tally *t, const struct wf_slots *pending)
{
    for (uint32_t i = 0; i < pending->size; i++) {
        struct wf_p2p *p = pending->slots[i].object;
        if (p)
            log_request(t, "send to", p);
    }
}

/* A persistent operation that is not started counts as complete. */
static void log_others(struct tally *t, struct wf_list *all)
{
    for (struct wf_list *l = all->next; l != all; l = l->next) {
        struct wf_created_req *o = wf_container(l, struct wf_created_req, link);
        if (!wf_req_done(&o->req))
            log_line(t, o->what, o->req.comm ? o->req.comm->name : "");
    }
}

bool wf_report_unfinished(void *engine)
{
    struct tally t = {.wf = engine};
    struct wf_engine *e = t.wf->engine;

    if (t.wf->rank->options->log < WF_LOG_INFO)
        return true;
    /* Messages that others sent before they finished may take several polls:
     * the first accepts their connection. */
    for (int i = 0; i < POLLS; i++)
        wf_progress_poll(t.wf, UINT32_MAX);
    wf_match_each_posted(&e->match, log_posted, &t);
    wf_match_each_arrived(&e->match, log_stored, &t);
    log_sends(&t, &e->pending);
    log_others(&t, &e->others);
    return true;
}

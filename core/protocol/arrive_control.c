/* Control messages that arrive: answers to sends, and what has no payload.
 *
 *   APPROVE                 -> rendezvous.c
 *   SYNC, FIN, CANCELLED    -> the pending send, by id
 *   CANCEL                  -> the unexpected message, if it is still there
 *   CREDIT, GONE, UNMADE    -> credit.c, death.c
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/arrive_control.h"

#include "protocol/credit.h"
#include "protocol/death.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/rendezvous.h"
#include "protocol/send.h"
#include "protocol/unexpected.h"
#include "report/error.h"
#include "route/location.h"

/* The pending send that an answer names; NULL: it names none to this peer. */
static struct wf_p2p *find_pending_send(struct weft_loc *from, uint64_t id)
{
    struct wf_p2p *p = wf_slots_get(&from->wf->engine->pending, id);

    if (p && p->loc == from)
        return p;
    wf_log(from->wf, WF_LOG_DEBUG,
           "process %u answered a send that is not pending", from->id);
    return NULL;
}

static int arrive_sync(struct weft_loc *from, const struct wf_wire *w)
{
    struct wf_p2p *p = find_pending_send(from, wf_le64(w->d));

    if (p)
        wf_send_answered(p, 0);
    return WEFT_DONE;
}

struct cancel_search {
    struct weft_loc *from;
    uint64_t send_id;
    struct wf_message *found;
};

static bool find_cancelled(struct wf_arrived *a, void *arg)
{
    struct wf_message *m = wf_container(a, struct wf_message, arrived);
    struct cancel_search *s = arg;

    if (m->loc == s->from &&
        (m->state == WF_MSG_NOTIFIED || m->flags & WF_FLAG_SYNC) &&
        m->send_id == s->send_id)
        s->found = m;
    return s->found == NULL;
}

/* MPI-5.0 s3.8.4: a send is cancelled or received, never both. */
static int arrive_cancel(struct weft_loc *from, const struct wf_wire *w)
{
    struct cancel_search s = {from, wf_le64(w->d), NULL};
    struct wf_wire answer;

    wf_match_each_arrived(&from->wf->engine->match, find_cancelled, &s);
    wf_wire_init(&answer, WF_CANCELLED, 0);
    answer.d = w->d;
    answer.a = wf_le64(s.found ? 1 : 0);
    if (s.found) {
        uint64_t charge = wf_message_charge(s.found);
        bool eager = s.found->state == WF_MSG_COMPLETE;
        wf_unexpected_free(s.found);
        if (eager)
            wf_credit_consumed(from, charge);
    }
    wf_message_send_control(from, &answer, true);
    return WEFT_DONE;
}

static int arrive_cancelled(struct weft_loc *from, const struct wf_wire *w)
{
    struct wf_p2p *p = find_pending_send(from, wf_le64(w->d));

    if (!p || !wf_le64(w->a))
        return WEFT_DONE; /* too late: the send completes as usual */
    p->req.flags |= WF_REQ_CANCELLED;
    wf_send_answered(p, 0);
    return WEFT_DONE;
}

int wf_arrive_control(struct weft_loc *from, const struct wf_wire *w)
{
    switch (w->type) {
    case WF_APPROVE:
        wf_rendezvous_approved(from, w);
        return WEFT_DONE;
    case WF_SYNC:
    case WF_FIN:
        from->approves = false;
        return arrive_sync(from, w);
    case WF_CANCEL:
        return arrive_cancel(from, w);
    case WF_CANCELLED:
        return arrive_cancelled(from, w);
    case WF_CREDIT:
        wf_credit_received(from, wf_le64(w->c));
        return WEFT_DONE;
    case WF_GONE:
    case WF_UNMADE:
        wf_death_take_message(from, w);
        return WEFT_DONE;
    default:
        wf_log(from->wf, WF_LOG_WARN,
               "process %u sent a message of unknown type 0x%02x; skipped",
               from->id, w->type);
        return WEFT_DONE;
    }
}

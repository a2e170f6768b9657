/* The end of an operation at its origin: results, answers, requests.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/finish.h"

#include <stdlib.h>

#include "datatype/move.h"
#include "datatype/type.h"
#include "object/error.h"
#include "protocol/receive.h"
#include "report/error.h"
#include "rma/message.h"
#include "rma/op_queue.h"
#include "rma/open.h"
#include "rma/operation.h"

void wf_rma_mark_dirty(struct wf_win_peer *p)
{
    if (wf_list_empty(&p->dirty))
        wf_list_append(&p->win->dirty, &p->dirty);
}

void wf_rma_mark_clean(struct wf_win_peer *p)
{
    wf_list_remove(&p->dirty);
}

/* ---- requests ------------------------------------------------------------ */

static int explain_failure(struct wf_req *r)
{
    const struct wf_win_peer *p = r->context;
    int class = wf_error_class(r->error);

    if (class == MPI_ERR_PROC_ABORTED)
        return wf_fail_on(&p->win->object, r->error,
                          "rank %d of %s, the target of a one-sided "
                          "operation, is gone",
                          p->rank, wf_win_name(p->win).text);
    return wf_fail_on(&p->win->object, r->error,
                      "rank %d of %s refused a one-sided operation", p->rank,
                      wf_win_name(p->win).text);
}

static int refuse_cancel(struct wf_req *r)
{
    const struct wf_win_peer *p = r->context;

    return wf_error_on(&p->win->object, MPI_ERR_REQUEST,
                       "a one-sided operation cannot be cancelled");
}

static int release_window(struct wf_req *r)
{
    wf_win_put(((struct wf_win_peer *)r->context)->win);
    return MPI_SUCCESS;
}

struct wf_req *wf_rma_create_request(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;
    struct wf_req *r = wf_req_create(win->wf, WF_REQ_ONE_SIDED, win->comm,
                                     "one-sided operation");

    if (!r) {
        wf_error(MPI_ERR_NO_MEM, "no memory for a request");
        return NULL;
    }
    r->source = MPI_ANY_SOURCE; /* the empty status */
    r->tag = MPI_ANY_TAG;
    r->context = p;
    r->explain = explain_failure;
    r->cancel = refuse_cancel;
    r->destroy = release_window;
    wf_win_get(win);
    return r;
}

/* ---- completion ---------------------------------------------------------- */

/* Completes an operation of which this part ended last. */
static void complete_op(struct wf_rma_op *op, uint8_t part)
{
    struct wf_win_peer *p = op->peer;
    struct wf_win *win = p->win;

    if (op->id && wf_rma_has_result(op->call.kind))
        wf_slots_remove(&win->ops, op->id);
    WF_ASSERT(p->pending > 0);
    p->pending--;
    if (op->error && !op->req && !p->error)
        p->error = op->error;
    if (p->pending && part != WF_RMA_QUEUED)
        wf_rma_push(p); /* the next ones with a result may stand there */
    if (op->req)
        wf_req_complete(op->req, wf_error_status(op->error));
    if (op->call.origin.type)
        wf_type_put(op->call.origin.type);
    if (op->call.result.type)
        wf_type_put(op->call.result.type);
    free(op->words);
    free(op);
    wf_win_put(win);
}

void wf_rma_end_part(struct wf_rma_op *op, uint8_t part)
{
    op->parts &= (uint8_t)~part;
    if (!op->parts)
        complete_op(op, part);
}

/* ---- what comes back ----------------------------------------------------- */

/* Notes that an answer has shown that the lock is held. */
static void note_lock_held(struct wf_win_peer *p)
{
    if (p->lock_state != WF_LOCK_ASKED)
        return;
    p->lock_state = WF_LOCK_HELD;
    wf_open_publish_peer(p);
    p->lock_probed = false;
    wf_rma_pump(p);
}

static struct wf_rma_op *find_op(struct wf_win_peer *p, uint64_t id)
{
    struct wf_rma_op *op = wf_slots_get(&p->win->ops, id);

    return op && op->peer == p ? op : NULL;
}

static void skip_message(const struct wf_win_peer *p)
{
    wf_log(p->win->wf, WF_LOG_DEBUG,
           "process %u answered a one-sided operation that is not pending",
           p->loc->id);
}

void wf_rma_take_result(struct wf_win_peer *p, struct wf_rma_message *m)
{
    struct wf_rma_op *op = find_op(p, m->head->d);
    struct wf_rma_extent e;

    if (!op || !(op->parts & WF_RMA_ANSWER) || !wf_rma_read_extent(m, &e) ||
        e.offset > op->call.bytes || m->bytes > op->call.bytes - e.offset ||
        m->bytes > op->call.bytes - op->received) {
        skip_message(p);
        return;
    }
    const struct wf_rma_side *b = &op->call.result;
    if (m->bytes && wf_type_is_contiguous(b->type))
        memcpy(wf_type_data(b->type, b->buf) + e.offset, m->data, m->bytes);
    else if (m->bytes)
        wf_type_unpack(b->type, b->buf, b->count, e.offset, m->data, m->bytes);
    op->received += m->bytes;
    if (op->received == op->call.bytes)
        wf_rma_end_part(op, WF_RMA_ANSWER);
    note_lock_held(p);
}

void wf_rma_take_answer(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    uint64_t number = m->head->d;

    if (number <= p->answered || number > p->asked) {
        skip_message(p);
        return;
    }
    p->answered = number;
    if (m->head->c && m->head->c <= INT32_MAX && !p->error)
        p->error = (int)m->head->c;
    note_lock_held(p);
}

/* Ends an operation that the target has refused. A receive of its data was not
 * matched, as the target has sent none. */
static void refuse_op(struct wf_rma_op *op, int class)
{
    struct wf_req *data = op->data;

    op->error = class;
    if (op->parts & WF_RMA_ANSWER) {
        wf_rma_end_part(op, WF_RMA_ANSWER);
        return;
    }
    if (!data || data->type != WF_REQ_RECV)
        return;
    op->cancelled = true;
    if (wf_receive_withdraw(wf_p2p_of(data)))
        wf_req_complete(data, 0);
}

void wf_rma_take_failure(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    struct wf_rma_op *op = m->head->d ? find_op(p, m->head->d) : NULL;
    int class =
        m->head->c && m->head->c <= INT32_MAX ? (int)m->head->c : MPI_ERR_OTHER;

    if (op)
        refuse_op(op, class);
    else if (!p->error)
        p->error = class;
    note_lock_held(p);
}

/* The start of an operation by messages.
 *
 *   start --> may be sent, small, no answer --> messages; no memory is needed
 *         `-> wf_rma_op in the queue of its target (op_queue.h)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/start.h"

#include <stdlib.h>

#include "datatype/describe.h"
#include "datatype/type.h"
#include "object/error.h"
#include "process/instance.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/op_queue.h"

/* ---- operations in the queue --------------------------------------------- */

/* Has the target told of the type of an operation, unless it was told last. */
static int prepare_type(struct wf_rma_op *op)
{
    struct wf_win_peer *p = op->peer;
    struct wf_type *t = op->call.target.type;

    op->typed = !wf_type_is_contiguous(t);
    if (!op->typed || t == p->sent_type)
        return MPI_SUCCESS;
    op->words = wf_type_describe(t, &op->word_count);
    if (!op->words)
        return wf_error(MPI_ERR_NO_MEM, "no memory to describe a datatype");
    wf_type_get(t);
    if (p->sent_type)
        wf_type_put(p->sent_type);
    p->sent_type = t;
    return MPI_SUCCESS;
}

static void forget_type(struct wf_win_peer *p)
{
    wf_type_put(p->sent_type);
    p->sent_type = NULL;
}

static void init_op(struct wf_rma_op *op, struct wf_win_peer *p,
                    const struct wf_rma_call *c)
{
    memset(op, 0, sizeof *op);
    op->peer = p;
    op->call = *c;
    op->by_message = (c->kind == WF_RMA_PUT || c->kind == WF_RMA_GET) &&
                     c->bytes > WF_RMA_INLINE;
    op->parts = WF_RMA_QUEUED;
    if (op->by_message)
        op->parts |= WF_RMA_DATA;
    else if (wf_rma_has_result(c->kind))
        op->parts |= WF_RMA_ANSWER;
    if (c->kind != WF_RMA_CAS)
        return;
    memcpy(op->values, c->compare, c->bytes);
    memcpy(op->values + c->bytes, c->origin.buf, c->bytes);
}

/* Creates an operation that is to be in the queue. NULL: out of memory. */
static struct wf_rma_op *create_op(struct wf_win_peer *p,
                                   const struct wf_rma_call *c)
{
    struct wf_rma_op *op = malloc(sizeof *op);

    if (!op)
        return NULL;
    init_op(op, p, c);
    if (wf_rma_has_result(c->kind) &&
        wf_slots_put(&p->win->ops, op, &op->id) != 0) {
        free(op);
        return NULL;
    }
    if (c->origin.type)
        wf_type_get(c->origin.type);
    if (c->result.type)
        wf_type_get(c->result.type);
    wf_win_get(p->win);
    p->pending++;
    return op;
}

/* ---- start --------------------------------------------------------------- */

/* Returns whether an operation is one message that is not answered, of which
 * the target knows the type. */
static bool is_one_message(const struct wf_win_peer *p,
                           const struct wf_rma_call *c)
{
    return !wf_rma_has_result(c->kind) && c->bytes <= WF_RMA_INLINE &&
           (wf_type_is_contiguous(c->target.type) ||
            c->target.type == p->sent_type);
}

/* Starts an operation that may have to wait. */
static int queue_op(struct wf_win_peer *p, const struct wf_rma_call *c,
                    struct wf_req **req)
{
    struct wf_rma_op *op = create_op(p, c);
    int rc;

    if (!op)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a one-sided operation");
    rc = prepare_type(op);
    if (rc == MPI_SUCCESS && req) {
        op->req = wf_rma_create_request(p);
        if (!op->req && op->words)
            forget_type(p);
        rc = op->req ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
    if (rc) {
        op->parts = WF_RMA_QUEUED;
        wf_rma_end_part(op, WF_RMA_QUEUED);
        return rc;
    }
    if (req)
        *req = op->req;
    if (op->by_message)
        op->tag = (int)(p->win->next_tag++ & (WF_RMA_TAG_RESULT - 1));
    wf_rma_enqueue(op);
    return MPI_SUCCESS;
}

/* Returns whether an operation is one message that may be sent now. Before one
 * waits, polls once: what it waits for may have come, and a program that only
 * starts operations must not fill the queue. The poll may leave the section:
 * other threads start operations, and flush, meanwhile. */
static bool may_leave_now(struct wf_win_peer *p, const struct wf_rma_call *c)
{
    if (!is_one_message(p, c))
        return false;
    if (wf_rma_may_pass_queue(p, c))
        return true;
    wf_win_poll(p->win);
    return is_one_message(p, c) && wf_rma_may_pass_queue(p, c);
}

int wf_rma_start(struct wf_win_peer *p, const struct wf_rma_call *c,
                 struct wf_req **req)
{
    bool now;
    int rc;

    if (wf_exposed_start(p, c, req, &rc))
        return rc;
    now = may_leave_now(p, c);
    wf_rma_mark_dirty(p); /* a flush of another thread marks it clean */
    p->unconfirmed |= !wf_rma_has_result(c->kind);
    if (!now)
        return queue_op(p, c, req);
    if (req)
        *req = &p->win->wf->engine->sent;
    return wf_rma_send_whole(p, c);
}

int wf_rma_ask(struct wf_win_peer *p, enum wf_rma_kind kind)
{
    uint64_t number = ++p->asked;
    struct wf_rma_op *op;

    p->unconfirmed = false;
    if (wf_rma_ask_past_queue(p, kind, number))
        return MPI_SUCCESS;
    op = create_op(p, &(struct wf_rma_call){.kind = kind});
    if (!op)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a one-sided operation");
    op->id = number;
    wf_rma_enqueue(op);
    return MPI_SUCCESS;
}

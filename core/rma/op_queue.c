/* The queue of operations that may not be sent yet, at their origin, and the
 * messages of an operation.
 *
 * The queue waits for MPI_Win_post of the target, for the lock (WF_RMA_EARLY
 * bytes go before it is known to be held), and for the transport.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/op_queue.h"

#include "datatype/move.h"
#include "datatype/type.h"
#include "object/error.h"
#include "protocol/receive.h"
#include "protocol/send.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/message.h"
#include "rma/open.h"

enum { TYPE_WORDS = 1000 /* of a description in one message */ };

static bool is_question(enum wf_rma_kind kind)
{
    return kind == WF_RMA_FLUSH || kind == WF_RMA_UNLOCK;
}

static bool is_accumulate(const struct wf_rma_call *c)
{
    return c->kind == WF_RMA_ACC || c->kind == WF_RMA_GET_ACC;
}

/* ---- permission ---------------------------------------------------------- */

/* Returns the flag by which a message asks for the lock, if it is to. */
static uint32_t take_lock_flag(struct wf_win_peer *p)
{
    if (p->lock_state != WF_LOCK_WANTED)
        return 0;
    p->lock_state = WF_LOCK_ASKED;
    p->early = 0;
    return p->lock_type == WF_LOCK_SHARED ? WF_RMA_LOCK_SHARED
                                          : WF_RMA_LOCK_EXCLUSIVE;
}

/* Asks the target a question whose answer shows that the lock is held. */
static void probe_lock(struct wf_win_peer *p)
{
    if (p->lock_probed)
        return;
    p->lock_probed = true;
    wf_rma_send(p, &(struct wf_rma_words){WF_RMA_FLUSH | take_lock_flag(p), 0,
                                          ++p->asked});
}

static bool has_type_to_send(const struct wf_rma_op *op)
{
    return op->words_sent < op->word_count;
}

/* Returns the bytes of the next message of an operation, without the header. */
static uint64_t next_bytes(const struct wf_rma_op *op)
{
    const struct wf_rma_call *c = &op->call;
    uint64_t left = c->origin.count ? c->bytes - op->sent : 0;

    if (has_type_to_send(op))
        return 8 * (op->word_count - op->words_sent < TYPE_WORDS
                        ? op->word_count - op->words_sent
                        : TYPE_WORDS);
    if (c->kind == WF_RMA_CAS)
        return 2 * c->bytes;
    if (op->by_message || c->kind == WF_RMA_GET)
        return 0;
    if (is_accumulate(c) && left > WF_RMA_CHUNK)
        return WF_RMA_CHUNK - WF_RMA_CHUNK % (uint64_t)c->basic->size;
    return left;
}

/* Returns whether a message of this kind may be sent, with n bytes behind its
 * header. */
static bool may_send(struct wf_win_peer *p, enum wf_rma_kind kind, uint64_t n)
{
    if (p->in_start && !p->posted)
        return false;
    if (p->transfer_count && kind != WF_RMA_PUT && kind != WF_RMA_GET)
        return false; /* the transport does not order it behind them */
    if (is_question(kind))
        return true;
    if (p->lock_state != WF_LOCK_WANTED && p->lock_state != WF_LOCK_ASKED)
        return p->in_flight < WF_RMA_IN_FLIGHT;
    if ((p->lock_state == WF_LOCK_WANTED ? 0 : p->early) + WF_RMA_EXTENT + n <=
        WF_RMA_EARLY)
        return true;
    probe_lock(p);
    return p->lock_state == WF_LOCK_HELD; /* a process may be its own target */
}

/* ---- sending ------------------------------------------------------------- */

static void on_data_moved(struct wf_req *r)
{
    struct wf_rma_op *op = r->context;

    if (r->error && !op->cancelled && !op->error)
        op->error = wf_error_class(r->error);
    op->data = NULL;
    wf_req_release(r);
    wf_rma_end_part(op, WF_RMA_DATA);
}

/* Follows a send or receive of the operation's data, started with this
 * status. */
static void follow_data(struct wf_rma_op *op, int status, struct wf_req *r)
{
    if (status) {
        op->error = wf_error_class(status);
        wf_rma_end_part(op, WF_RMA_DATA);
        return;
    }
    if (wf_req_done(r)) {
        op->error = wf_error_class(r->error);
        wf_req_release(r);
        wf_rma_end_part(op, WF_RMA_DATA);
        return;
    }
    op->data = r;
    r->context = op;
    r->flags |= WF_REQ_INTERNAL;
    r->on_complete = on_data_moved;
}

static void send_data(struct wf_rma_op *op)
{
    const struct wf_rma_side *b = &op->call.origin;
    struct wf_req *r = NULL;
    int status =
        wf_isend(op->peer->win->comm, b->buf, b->count, b->type, op->peer->rank,
                 op->tag, WF_SPACE_RMA, WF_SEND_STANDARD, &r);

    follow_data(op, status, r);
}

static void receive_data(struct wf_rma_op *op)
{
    const struct wf_rma_side *b = &op->call.result;
    struct wf_req *r = NULL;
    int status =
        wf_irecv(op->peer->win->comm, b->buf, b->count, b->type, op->peer->rank,
                 op->tag | WF_RMA_TAG_RESULT, WF_SPACE_RMA, &r);

    follow_data(op, status, r);
}

static bool send_type(struct wf_rma_op *op)
{
    struct wf_win_peer *p = op->peer;
    size_t n = (size_t)next_bytes(op) / 8;
    struct wf_rma_draft d;

    if (!wf_rma_begin_plain(&d, p, 8 * n))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = wf_le64((uint64_t)op->words[op->words_sent + i]);
        memcpy(d.at + 8 * i, &word, 8);
    }
    struct wf_rma_words w = {WF_RMA_TYPE | take_lock_flag(p), op->word_count,
                             op->words_sent};
    op->words_sent += n;
    p->early += (uint32_t)(8 * n);
    wf_rma_finish(&d, p, &w, false);
    return true;
}

/* Copies n bytes of the data of a side, from `offset` on. */
static void copy_side(const struct wf_rma_side *b, uint64_t offset, uint8_t *at,
                      uint64_t n)
{
    if (wf_type_is_contiguous(b->type))
        wf_copy_short(at, wf_type_data(b->type, b->buf) + offset, n);
    else
        wf_type_pack(b->type, b->buf, b->count, offset, at, n);
}

/* Returns the first word of an operation's messages, without flags. */
static uint32_t word_of(const struct wf_rma_call *c)
{
    uint32_t basic = c->basic ? c->basic->predefined & 0x3ff : 0;

    return c->kind | c->op << 10 | basic << 18;
}

/* Returns whether the target is this process. */
static bool is_own(const struct wf_win_peer *p)
{
    return p->rank == p->win->comm->rank;
}

/* Returns true if the next message of an operation is to leave at once. Those
 * that nobody waits for share a container with others. An operation with a
 * result leaves at once if it is alone, and else with the next ones when a
 * result comes: it had better not wait for a flush. */
static bool is_urgent(const struct wf_rma_op *op)
{
    const struct wf_win_peer *p = op->peer;

    if (op->by_message || is_own(p))
        return true;
    return op->parts & WF_RMA_ANSWER && (op->req || p->pending == 1);
}

/* Sends the next piece of the data. False: out of memory. */
static bool send_piece(struct wf_rma_op *op)
{
    const struct wf_rma_call *c = &op->call;
    struct wf_win_peer *p = op->peer;
    uint64_t n = next_bytes(op);
    struct wf_rma_extent e = {op->by_message ? (uint64_t)op->tag : op->sent,
                              c->bytes, op->typed ? c->target.count : 0};
    struct wf_rma_draft d;

    if (!wf_rma_begin(&d, p, &e, n))
        return false;
    if (n && c->kind == WF_RMA_CAS)
        memcpy(d.at, op->values, n);
    else if (n)
        copy_side(&c->origin, op->sent, d.at, n);
    op->sent = is_accumulate(c) && n ? op->sent + n : c->bytes;
    uint32_t word = word_of(c) | take_lock_flag(p) |
                    (op->by_message ? WF_RMA_BY_MESSAGE : 0u) |
                    (op->typed ? WF_RMA_TYPED : 0u);
    p->early += (uint32_t)(n + WF_RMA_EXTENT);
    wf_rma_finish(&d, p,
                  &(struct wf_rma_words){
                      word, c->position,
                      op->parts & WF_RMA_ANSWER || op->by_message ? op->id : 0},
                  is_urgent(op));
    return true;
}

static void send_question(struct wf_win_peer *p, enum wf_rma_kind kind,
                          uint64_t number)
{
    wf_rma_send(p, &(struct wf_rma_words){kind | take_lock_flag(p), 0, number});
}

static bool is_sent(const struct wf_rma_op *op)
{
    return !has_type_to_send(op) &&
           (is_question(op->call.kind) ? op->sent != 0
                                       : op->sent == op->call.bytes);
}

/* Sends the next message of an operation. False: out of memory. */
static bool send_next(struct wf_rma_op *op)
{
    struct wf_win_peer *p = op->peer;

    if (is_question(op->call.kind)) {
        op->sent = 1;
        send_question(p, op->call.kind, op->id);
        return true;
    }
    if (has_type_to_send(op))
        return send_type(op);
    if (op->by_message && op->call.kind == WF_RMA_GET)
        receive_data(op);
    if (!send_piece(op))
        return false;
    if (op->by_message && op->call.kind == WF_RMA_PUT)
        send_data(op);
    return true;
}

/* ---- the queue ----------------------------------------------------------- */

static void remove_first(struct wf_win_peer *p)
{
    struct wf_rma_op *op = p->queue;

    if (!(p->queue = op->next))
        p->queue_end = &p->queue;
    wf_rma_end_part(op, WF_RMA_QUEUED);
}

static void end_queue(struct wf_win_peer *p)
{
    while (p->queue) {
        struct wf_rma_op *op = p->queue;

        op->error = MPI_ERR_PROC_ABORTED;
        if (op->by_message && !op->data && op->parts & WF_RMA_DATA &&
            op->sent < op->call.bytes)
            op->parts &= (uint8_t)~WF_RMA_DATA; /* they never began to move */
        remove_first(p);
    }
}

/* Ends an operation for which there was no memory. Without the description of
 * its type the target would misunderstand what follows. */
static void fail_for_memory(struct wf_rma_op *op)
{
    if (has_type_to_send(op))
        wf_location_down(op->peer->loc, WEFT_ENOMEM,
                         "no memory to describe a datatype to it");
    op->error = MPI_ERR_NO_MEM;
    op->words_sent = op->word_count;
    op->sent = op->call.bytes;
    if (op->parts & WF_RMA_DATA && !op->data)
        op->parts &= (uint8_t)~WF_RMA_DATA;
    op->parts &= (uint8_t)~WF_RMA_ANSWER;
}

/* A message that is sent may end in an arrival here, which comes back to this
 * queue, or in the loss of the target. */
static void pump_queue(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;

    if (p->pumping || !p->queue)
        return;
    p->pumping = true;
    wf_win_get(win);
    while (p->queue && !p->lost &&
           may_send(p, p->queue->call.kind, next_bytes(p->queue))) {
        if (!send_next(p->queue))
            fail_for_memory(p->queue);
        if (is_sent(p->queue))
            remove_first(p);
    }
    p->pumping = false;
    if (p->lost)
        end_queue(p);
    wf_win_put(win);
}

void wf_rma_enqueue(struct wf_rma_op *op)
{
    struct wf_win_peer *p = op->peer;

    op->next = NULL;
    *p->queue_end = op;
    p->queue_end = &op->next;
    pump_queue(p);
}

/* A flush may wait already for operations that were queued, so they do not wait
 * for others. */
void wf_rma_pump(struct wf_win_peer *p)
{
    pump_queue(p);
    wf_rma_push(p);
}

static void end_answers(struct wf_win_peer *p)
{
    struct wf_slots *ops = &p->win->ops;

    for (uint32_t i = 0; i < ops->size; i++) {
        struct wf_rma_op *op = ops->slots[i].object;

        if (!op || op->peer != p || !(op->parts & WF_RMA_ANSWER))
            continue;
        op->error = MPI_ERR_PROC_ABORTED;
        wf_rma_end_part(op, WF_RMA_ANSWER);
    }
}

void wf_rma_lose_target(struct wf_win_peer *p)
{
    p->lost = true;
    wf_exposed_lose(p);
    wf_open_lose_target(p);
    wf_rma_drop_list(p);
    end_answers(p);
    if (!p->pumping)
        end_queue(p);
}

/* ---- past the queue ------------------------------------------------------ */

bool wf_rma_may_pass_queue(struct wf_win_peer *p, const struct wf_rma_call *c)
{
    return !p->queue && !p->lost && may_send(p, c->kind, c->bytes);
}

int wf_rma_send_whole(struct wf_win_peer *p, const struct wf_rma_call *c)
{
    bool typed = !wf_type_is_contiguous(c->target.type);
    struct wf_rma_extent e = {0, c->bytes, typed ? c->target.count : 0};
    struct wf_rma_draft d;

    if (!wf_rma_begin(&d, p, &e, c->bytes))
        return wf_error(MPI_ERR_NO_MEM, "no memory for a one-sided operation");
    copy_side(&c->origin, 0, d.at, c->bytes);
    uint32_t word =
        word_of(c) | take_lock_flag(p) | (typed ? WF_RMA_TYPED : 0u);
    p->early += (uint32_t)(c->bytes + WF_RMA_EXTENT);
    wf_rma_finish(&d, p, &(struct wf_rma_words){word, c->position, 0},
                  is_own(p));
    return MPI_SUCCESS;
}

bool wf_rma_ask_past_queue(struct wf_win_peer *p, enum wf_rma_kind kind,
                           uint64_t number)
{
    if (p->queue || !may_send(p, kind, 0))
        return false;
    send_question(p, kind, number);
    return true;
}

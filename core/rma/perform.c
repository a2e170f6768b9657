/* The effect of a message on memory of this process: operations, types,
 * questions.
 *
 * The data of a large put are a message of their own, which ends later. A
 * question that must not be answered before that waits in the origin's list of
 * unfinished puts, in order:
 *
 *   put (moving) -> put (done) -> FLUSH 7 -> put (moving) -> UNLOCK 8
 *   `- FLUSH 7 is answered when both in front of it are done
 *
 * An operation that does not fit the window is answered with FAIL.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/perform.h"

#include "rma/target.h"

#include <stdlib.h>

#include "datatype/describe.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/error.h"
#include "protocol/location.h"
#include "protocol/receive.h"
#include "protocol/send.h"
#include "report/error.h"
#include "rma/apply.h"
#include "rma/atomic.h"
#include "rma/lock_queue.h"
#include "rma/operation.h"

void wf_rma_log_skipped(const struct wf_win_peer *p, const char *why)
{
    wf_log(p->win->wf, WF_LOG_WARN,
           "process %u sent a one-sided operation that %s; skipped", p->loc->id,
           why);
}

static void send_failure(struct wf_win_peer *p, const struct wf_rma_message *m,
                         int class)
{
    wf_rma_send(
        p, &(struct wf_rma_words){WF_RMA_FAIL, (uint64_t) class, m->head->d});
}

/* ---- questions, and puts that are unfinished ----------------------------- */

struct wf_unfinished_put {
    struct wf_unfinished_put *next;
    struct wf_win_peer *peer;
    bool done;
    struct wf_rma_words question; /* word 0: it is a put */
};

static void send_answer(struct wf_win_peer *p, uint64_t number)
{
    int class = p->inherits ? MPI_ERR_PROC_ABORTED : MPI_SUCCESS;

    p->inherits = false;
    wf_rma_send(p,
                &(struct wf_rma_words){WF_RMA_ACK, (uint64_t) class, number});
}

/* Does what a question asks for, now that all in front of it is done. */
static void settle_question(struct wf_win_peer *p, const struct wf_rma_words *q)
{
    switch (wf_rma_kind_of(q->word)) {
    case WF_RMA_COMPLETE:
        p->completes++;
        break;
    case WF_RMA_UNLOCK:
        send_answer(p, q->d);
        wf_lock_queue_release(p);
        break;
    default:
        send_answer(p, q->d);
    }
}

static void settle_questions(struct wf_win_peer *p)
{
    while (p->unfinished && p->unfinished->done) {
        struct wf_unfinished_put *u = p->unfinished;

        p->unfinished = u->next;
        if (!p->unfinished)
            p->unfinished_end = &p->unfinished;
        if (u->question.word)
            settle_question(p, &u->question);
        free(u);
    }
}

/* Appends an entry; NULL: out of memory, and the origin is given up. */
static struct wf_unfinished_put *append_unfinished(struct wf_win_peer *p)
{
    struct wf_unfinished_put *u = calloc(1, sizeof *u);

    if (!u) {
        wf_location_down(p->loc, WEFT_ENOMEM, "no memory for its operations");
        return NULL;
    }
    u->peer = p;
    *p->unfinished_end = u;
    p->unfinished_end = &u->next;
    return u;
}

static void take_question(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    struct wf_rma_words q = {m->head->word, 0, m->head->d};
    struct wf_unfinished_put *u;

    if (!p->unfinished) {
        settle_question(p, &q);
        return;
    }
    u = append_unfinished(p);
    if (!u)
        return;
    u->question = q;
    u->done = true;
}

/* ---- data that are messages of their own --------------------------------- */

static void finish_put(struct wf_unfinished_put *u)
{
    struct wf_win_peer *p = u->peer;
    struct wf_win *win = p->win;

    u->done = true;
    settle_questions(p);
    wf_win_put(win);
}

static void on_put_data(struct wf_req *r)
{
    struct wf_unfinished_put *u = r->context;

    wf_req_release(r);
    finish_put(u);
}

/* Returns a place as a buffer; NULL: one without room. */
static struct wf_rma_side describe_place(const struct wf_win_peer *p,
                                         const struct wf_rma_place *place)
{
    struct wf_type *bytes = p->win->wf->engine->bytes_type;

    if (!place)
        return (struct wf_rma_side){NULL, bytes, 0};
    return place->type
               ? (struct wf_rma_side){place->at, place->type, place->count}
               : (struct wf_rma_side){place->at, bytes, place->bytes};
}

/* Receives the data of a put. place NULL: there is none, and they are thrown
 * away. */
static void receive_put(struct wf_win_peer *p, uint64_t tag,
                        const struct wf_rma_place *place)
{
    struct wf_unfinished_put *u = append_unfinished(p);
    struct wf_rma_side to = describe_place(p, place);
    struct wf_req *r = NULL;
    int status;

    if (!u)
        return;
    wf_win_get(p->win);
    status = wf_irecv(p->win->comm, to.buf, to.count, to.type, p->rank,
                      (int)(tag & (WF_RMA_TAG_RESULT - 1)), WF_SPACE_RMA, &r);
    if (status || wf_req_done(r)) {
        if (!status)
            wf_req_release(r);
        finish_put(u);
        return;
    }
    r->flags |= WF_REQ_INTERNAL;
    r->context = u;
    r->on_complete = on_put_data;
}

static void on_result_sent(struct wf_req *r)
{
    struct wf_win *win = r->context;

    wf_req_release(r);
    wf_win_put(win);
}

static void send_result_data(struct wf_win_peer *p, uint64_t tag,
                             const struct wf_rma_place *place)
{
    struct wf_rma_side from = describe_place(p, place);
    struct wf_req *r = NULL;
    int status =
        wf_isend(p->win->comm, from.buf, from.count, from.type, p->rank,
                 (int)(tag & (WF_RMA_TAG_RESULT - 1)) | WF_RMA_TAG_RESULT,
                 WF_SPACE_RMA, WF_SEND_STANDARD, &r);

    if (status)
        return; /* the origin is gone */
    if (wf_req_done(r)) {
        wf_req_release(r);
        return;
    }
    wf_win_get(p->win);
    r->flags |= WF_REQ_INTERNAL;
    r->context = p->win;
    r->on_complete = on_result_sent;
}

/* ---- operations ---------------------------------------------------------- */

/* Begins a piece of a result, which is to be written to d->at. */
static bool begin_result(struct wf_win_peer *p, struct wf_rma_draft *d,
                         const struct wf_rma_place *place, uint64_t offset,
                         uint64_t n)
{
    struct wf_rma_extent e = {offset, place->bytes, 0};

    return wf_rma_begin(d, p, &e, n);
}

static void send_result(struct wf_win_peer *p, const struct wf_rma_message *m,
                        struct wf_rma_draft *d)
{
    wf_rma_finish(d, p, &(struct wf_rma_words){WF_RMA_RESULT, 0, m->head->d},
                  true);
}

/* Sends what lies in a place, of any length, in pieces. basic NULL: nobody
 * changes it meanwhile; else each element of this type is read atomically. */
static int send_results(struct wf_win_peer *p, const struct wf_rma_message *m,
                        const struct wf_rma_place *place, struct wf_type *basic)
{
    uint64_t most = basic ? WF_RMA_CHUNK - WF_RMA_CHUNK % (uint64_t)basic->size
                          : WF_RMA_CHUNK;
    int rc = MPI_SUCCESS;

    for (uint64_t at = 0, n; at < place->bytes && rc == MPI_SUCCESS; at += n) {
        struct wf_rma_draft d;

        n = place->bytes - at < most ? place->bytes - at : most;
        if (!begin_result(p, &d, place, at, n))
            return MPI_ERR_NO_MEM;
        if (basic)
            rc = wf_rma_accumulate_piece(
                p->win, place,
                &(struct wf_rma_piece){at, NULL, d.at, n, WF_OP_NO_OP, basic});
        else
            wf_rma_read(place, at, d.at, n);
        if (rc)
            wf_rma_abandon(&d);
        else
            send_result(p, m, &d);
    }
    return rc;
}

static int perform_put(struct wf_win_peer *p, const struct wf_rma_message *m,
                       const struct wf_rma_place *place,
                       const struct wf_rma_extent *e)
{
    if (m->head->word & WF_RMA_BY_MESSAGE) {
        receive_put(p, e->offset, place);
        return MPI_SUCCESS;
    }
    wf_rma_write(place, e->offset, m->data, m->bytes);
    return MPI_SUCCESS;
}

static int perform_get(struct wf_win_peer *p, const struct wf_rma_message *m,
                       const struct wf_rma_place *place,
                       const struct wf_rma_extent *e)
{
    if (!(m->head->word & WF_RMA_BY_MESSAGE))
        return send_results(p, m, place, NULL);
    send_result_data(p, e->offset, place);
    return MPI_SUCCESS;
}

static int perform_accumulate(struct wf_win_peer *p,
                              const struct wf_rma_message *m,
                              const struct wf_rma_place *place,
                              const struct wf_rma_extent *e)
{
    uint32_t word = m->head->word, op = wf_rma_op_of(word);
    struct wf_type *basic = wf_type_find_predefined(wf_rma_type_of(word));
    bool fetch = wf_rma_kind_of(word) == WF_RMA_GET_ACC;
    struct wf_rma_draft d;
    int rc;

    if (!wf_rma_op_is_valid(op, basic) || basic->size == 0 ||
        m->bytes % (uint64_t)basic->size || e->offset % (uint64_t)basic->size)
        return MPI_ERR_OP;
    if (fetch && op == WF_OP_NO_OP)
        return place->bytes % (uint64_t)basic->size
                   ? MPI_ERR_OP
                   : send_results(p, m, place, basic);
    if (fetch && !begin_result(p, &d, place, e->offset, m->bytes))
        return MPI_ERR_NO_MEM;
    rc = wf_rma_accumulate_piece(p->win, place,
                                 &(struct wf_rma_piece){e->offset, m->data,
                                                        fetch ? d.at : NULL,
                                                        m->bytes, op, basic});
    if (fetch && rc == MPI_SUCCESS)
        send_result(p, m, &d);
    else if (fetch)
        wf_rma_abandon(&d);
    return rc;
}

static int perform_swap(struct wf_win_peer *p, const struct wf_rma_message *m,
                        const struct wf_rma_place *place)
{
    uint64_t n = place->bytes;
    struct wf_rma_draft d;
    int rc;

    if (place->type || n > WF_RMA_BASIC_MOST || m->bytes != 2 * n)
        return MPI_ERR_SIZE;
    if (!begin_result(p, &d, place, 0, n))
        return MPI_ERR_NO_MEM;
    rc = wf_rma_swap_place(
        p->win, place,
        &(struct wf_rma_swap){(const char *)m->data + n, m->data, d.at});
    if (rc)
        wf_rma_abandon(&d);
    else
        send_result(p, m, &d);
    return rc;
}

static int perform_at_place(struct wf_win_peer *p,
                            const struct wf_rma_message *m,
                            const struct wf_rma_extent *e)
{
    uint32_t word = m->head->word;
    struct wf_rma_place place;
    bool typed = word & WF_RMA_TYPED;
    int rc = MPI_ERR_TYPE; /* its description was refused */

    if (!typed || p->type)
        rc = wf_rma_find_place(p->win, m->head->c, typed ? p->type : NULL,
                               e->count, e->bytes, &place);
    if (rc == MPI_SUCCESS && !(word & WF_RMA_BY_MESSAGE) &&
        wf_rma_kind_of(word) != WF_RMA_CAS &&
        (e->offset > e->bytes || m->bytes > e->bytes - e->offset))
        rc = MPI_ERR_RMA_RANGE;
    if (rc) {
        if (wf_rma_kind_of(word) == WF_RMA_PUT && word & WF_RMA_BY_MESSAGE)
            receive_put(p, e->offset, NULL);
        return rc;
    }
    switch (wf_rma_kind_of(word)) {
    case WF_RMA_PUT:
        return perform_put(p, m, &place, e);
    case WF_RMA_GET:
        return perform_get(p, m, &place, e);
    case WF_RMA_CAS:
        return perform_swap(p, m, &place);
    default:
        return perform_accumulate(p, m, &place, e);
    }
}

static void perform_operation(struct wf_win_peer *p,
                              const struct wf_rma_message *m)
{
    struct wf_rma_message data = *m;
    struct wf_rma_extent e;
    int rc;

    if (!wf_rma_read_extent(&data, &e)) {
        wf_rma_log_skipped(p, "is not complete");
        return;
    }
    rc = perform_at_place(p, &data, &e);
    if (rc)
        send_failure(p, m, rc);
}

/* ---- types --------------------------------------------------------------- */

enum { TYPE_WORDS_MOST = 1 << 26 };

/* Uses a description that is complete. */
static void use_description(struct wf_win_peer *p)
{
    bool no_memory;
    struct wf_type *t = wf_type_rebuild(p->words, p->word_count, &no_memory);

    free(p->words);
    p->words = NULL;
    if (p->type)
        wf_type_put(p->type);
    p->type = t;
    if (!t && no_memory)
        wf_location_down(p->loc, WEFT_ENOMEM, "no memory for its datatype");
    else if (!t)
        wf_rma_log_skipped(p, "has an invalid datatype");
}

static void take_type(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    uint64_t count = m->head->c, first = m->head->d, n = m->bytes / 8;

    if (first == 0 && count <= TYPE_WORDS_MOST) {
        free(p->words);
        p->words = malloc(8 * count + 8);
        p->word_count = count;
        p->words_here = 0;
        if (!p->words) {
            wf_location_down(p->loc, WEFT_ENOMEM, "no memory for its datatype");
            return;
        }
    }
    if (!p->words || first != p->words_here || count != p->word_count ||
        n == 0 || n > count - first) {
        wf_rma_log_skipped(p, "has an invalid datatype");
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t word;
        memcpy(&word, (const char *)m->data + 8 * i, 8);
        p->words[first + i] = (int64_t)wf_le64(word);
    }
    p->words_here += n;
    if (p->words_here == p->word_count)
        use_description(p);
}

/* ---- all ----------------------------------------------------------------- */

void wf_rma_perform(struct wf_win_peer *p, const struct wf_rma_message *m)
{
    switch (wf_rma_kind_of(m->head->word)) {
    case WF_RMA_PUT:
    case WF_RMA_ACC:
    case WF_RMA_GET:
    case WF_RMA_GET_ACC:
    case WF_RMA_CAS:
        perform_operation(p, m);
        break;
    case WF_RMA_TYPE:
        take_type(p, m);
        break;
    default:
        take_question(p, m);
    }
}

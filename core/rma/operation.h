/* Operations at their origin: put, get, the accumulates and their requests.
 *
 *   call -> wf_leg.start -> queue of the target -> messages -> complete
 *                           (mostly passed by)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_OPERATION_H
#define WF_RMA_OPERATION_H

#include "rma/elements.h"
#include "rma/wire.h"
#include "rma/win.h"

struct wf_rma_message;

/* An operation as the program asks for it, its arguments checked. */
struct wf_rma_call {
    enum wf_rma_kind kind;
    struct wf_rma_side origin; /* what is sent; count 0: nothing */
    struct wf_rma_side result; /* what is received */
    struct wf_rma_side target; /* `buf` is not used */
    uint64_t position;     /* in the target's window, in bytes from its base */
    uint64_t bytes;        /* of the target's elements */
    uint32_t op;           /* ABI value; of accumulates */
    struct wf_type *basic; /* of accumulates */
    const void *compare;   /* of compare and swap */
};

/* The reasons why an operation is not complete at its origin. */
enum wf_rma_parts {
    WF_RMA_QUEUED = 1, /* not all of it was sent */
    WF_RMA_ANSWER = 2, /* its result has not come */
    WF_RMA_DATA = 4    /* its data, a message of their own, are moving */
};

enum { WF_RMA_BASIC_MOST = 32 /* bytes of a basic element */ };

struct wf_rma_op {
    struct wf_rma_op *next; /* in the queue */
    struct wf_win_peer *peer;
    struct wf_rma_call call;
    uint8_t parts; /* enum wf_rma_parts */
    bool by_message;
    bool typed;
    bool cancelled;          /* the target has refused it */
    int error;               /* an error class */
    uint64_t sent, received; /* bytes */
    uint64_t id;             /* in win->ops, while it has WF_RMA_ANSWER; or the
                                number of a question */
    int tag;                 /* of its data */
    int64_t *words; /* the description of the target type, still to be sent */
    size_t word_count, words_sent;
    struct wf_req *req;                    /* of the program; or NULL */
    struct wf_req *data;                   /* of its data, while they move */
    uint8_t values[2 * WF_RMA_BASIC_MOST]; /* of compare and swap */
};

/* Returns true if the target answers an operation of this kind with a
 * result. */
static inline bool wf_rma_has_result(enum wf_rma_kind kind)
{
    return kind == WF_RMA_GET || kind == WF_RMA_GET_ACC || kind == WF_RMA_CAS;
}

/* Returns whether all sides are one element of one predefined type. */
static inline bool wf_rma_is_one_element(const struct wf_rma_call *c)
{
    const struct wf_type *t = c->target.type;

    return t->predefined && c->target.count == 1 &&
           (!c->origin.type || (c->origin.type == t && c->origin.count == 1)) &&
           (!c->result.type || (c->result.type == t && c->result.count == 1));
}

#endif
